"""The table of run kinds says who sees and may do what."""

import pytest

from jenny.agent.run_kinds import BLOCKS, RUN_KINDS, USAGE_KINDS, RunKind, _table


def test_a_title_sees_nothing_and_may_do_nothing() -> None:
    """A run that names a conversation needs none of the memory and no tool."""
    title = RUN_KINDS["title"]
    assert title.blocks == {"title"}
    assert title.tools == ()
    assert not title.feeds_history


def test_a_personal_chat_sees_all_but_other_runs_orders() -> None:
    """What is new in the prompt reaches the personal chat, unless it is another run's own."""
    of_others = {"title", "project", "project_agents", "gardener", "garden"}
    assert RUN_KINDS["personal"].blocks == set(BLOCKS) - of_others
    assert RUN_KINDS["personal"].feeds_history


def test_every_kind_has_its_own_name_and_known_blocks() -> None:
    """A slip in the table is found when it is loaded."""
    assert all(kind.usage_name in USAGE_KINDS for kind in RUN_KINDS.values())
    assert all(kind.label and kind.privacy for kind in USAGE_KINDS.values())
    assert all(name == kind.name for name, kind in RUN_KINDS.items())
    with pytest.raises(ValueError, match="memroy"):
        _table(RunKind("x", blocks=frozenset({"memroy"})))
