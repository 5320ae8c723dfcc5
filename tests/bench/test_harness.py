"""What the benchmarks' table says is what was measured."""

import itertools
import json

import pytest

from bench import harness
from bench.harness import Bar, Row, median, percentile, report, take_turns


@pytest.mark.parametrize(
    ("bar", "ours", "peer", "met"),
    [
        (Bar(limit=5), 5, None, True),
        (Bar(limit=5), 5.1, 1, False),
        (Bar(share=1 / 8), 10, 80, True),
        (Bar(share=1 / 8), 11, 80, False),
        (Bar(limit=15, share=1 / 8), 14, 80, False),
        (Bar(share=1 / 8), 10, None, None),
        (Bar(), 10, 80, None),
    ],
)
def test_bar(bar: Bar, ours: float, peer: float | None, met: bool | None) -> None:
    """A bar is met when all that it asks for is; without a peer, a share of it says nothing."""
    assert bar.met(ours, peer) is met


def test_turns_are_taken() -> None:
    """Each is measured once a round, so that what disturbs one disturbs both; nobody always comes
    after the other."""
    order: list[str] = []

    def contestant(name: str) -> float:
        order.append(name)
        return len(order)

    found = take_turns(8, ours=lambda: contestant("ours"), peer=lambda: contestant("peer"))
    rounds = set(itertools.batched(order, 2, strict=True))
    assert rounds == {("ours", "peer"), ("peer", "ours")}
    assert found == {
        name: [at for at, who in enumerate(order, 1) if who == name] for name in ("ours", "peer")
    }


def test_figures() -> None:
    """Median and percentile are taken of all values, in any order."""
    assert median([3, 1, 2]) == 2
    assert percentile(range(100, 0, -1), 0.99) == 100
    assert percentile([7], 0.99) == 7


def test_report(tmp_path, monkeypatch, capsys) -> None:
    """The table and the file hold every row, its verdict, and the versions."""
    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    rows = [Row("work", "ms", 9, 80, Bar(share=1 / 8)), Row("more", "s", 4, None, Bar(limit=3))]
    path = report(rows, {"jenny": "1", "peer": "2"})
    printed = capsys.readouterr().out
    assert "met" in printed
    assert "missed" in printed
    assert "jenny 1, peer 2" in printed
    kept = json.loads(path.read_text())
    assert [row["verdict"] for row in kept["rows"]] == ["met", "missed"]
    assert kept["versions"] == {"jenny": "1", "peer": "2"}
