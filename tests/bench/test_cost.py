"""Prompts and runs cost no more tokens and requests than they did."""

from bench import cost


def test_no_prompt_and_no_run_costs_more_than_it_did() -> None:
    """A change that lets one grow raises its bar in ``bench/cost.py`` and says why."""
    rows = cost.rows()
    assert {row.work for row in rows} == cost.BARS.keys()
    assert [f"{row.work}: {row.ours:g}" for row in rows if row.verdict != "met"] == []
