"""Lines that may not come back when a version is undone: left out, named, and nothing else."""

import pytest

from jenny.workspace.errors import UndoRefused
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.undo import (
    FilteredLines,
    LeftOut,
    plan_undo,
    register_restore_filter,
    undo,
)

GONE = LeftOut("- gone", "abc")


@pytest.fixture
def away():
    """What stays away: the line "- gone", as long as it is in this set."""
    words = {b"- gone\r\n"}

    def sift(_root, path, data):
        if path != "USER.md" or not any(word in data for word in words):
            return FilteredLines(data)
        return FilteredLines(data.replace(b"- gone\r\n", b""), (GONE,))

    register_restore_filter(sift)
    return words


def test_what_stays_away_is_left_out_and_the_rest_comes_back(root, dream, git, away):
    """The plan says it before anything is written; the version holds what the file holds; the
    undoing can be undone, and done once more when nothing stays away any more."""
    old = b"\xff one\r\n- gone\r\n- two"
    dream.run({"USER.md": old, "SOUL.md": b"- gone\r\n"})
    b = dream.run({"USER.md": b"new\n- gone\r\n", "SOUL.md": b"new\n"})
    plan = plan_undo(root, b)
    assert plan.left_out == {"USER.md": (GONE,)}
    assert {step.label for step in plan.steps} == {"clean"}
    assert (root / "USER.md").read_bytes() == b"new\n- gone\r\n"
    done = undo(root, b, expect=plan.token)
    assert done.left_out == {"USER.md": (GONE,)}
    assert (root / "USER.md").read_bytes() == b"\xff one\r\n- two"
    assert (root / "SOUL.md").read_bytes() == b"- gone\r\n"
    with open_history(root) as history:
        assert history.file_as_of("USER.md", done.version.sha) == b"\xff one\r\n- two"

    again = undo(root, b)
    assert (again.written, again.version, again.left_out) == ((), None, {"USER.md": (GONE,)})

    back = undo(root, done.version.sha)
    assert {step.label for step in back.written} == {"clean"}
    assert (root / "USER.md").read_bytes() == b"new\n"
    assert back.left_out == {"USER.md": (GONE,)}

    away.clear()
    last = undo(root, b)
    assert (root / "USER.md").read_bytes() == old
    assert last.left_out == {}


def test_a_file_that_is_as_it_was_is_not_touched(root, dream, away):
    """What stays away still stands in it: undoing writes nothing there."""
    dream.run({"USER.md": b"- gone\r\n", "SOUL.md": b"A\n"})
    b = dream.run({"USER.md": b"new\n", "SOUL.md": b"B\n"})
    (root / "USER.md").write_bytes(b"- gone\r\n")
    plan = plan_undo(root, b)
    assert {step.path: step.label for step in plan.steps} == {
        "SOUL.md": "clean",
        "USER.md": "already there",
    }
    assert undo(root, b).left_out == {}
    assert (root / "USER.md").read_bytes() == b"- gone\r\n"


def test_what_the_version_added_is_told_apart_from_what_is_left_out(root, dream, away):
    """A line that stood there before the version was not added by it."""
    dream.run({"USER.md": b"- one\n- gone\r\n"})
    b = dream.run({"USER.md": b"- one\n- gone\r\n- two\n"})
    done = undo(root, b)
    assert done.dropped == {"USER.md": ["- two"]}
    assert (root / "USER.md").read_bytes() == b"- one\n"


def test_a_plan_that_leaves_out_more_by_now_is_not_carried_out(root, dream, away):
    """Somebody agreed to another one."""
    away.clear()
    dream.run({"USER.md": b"- one\n- gone\r\n- two\n"})
    b = dream.run({"USER.md": b"- one\n"})
    agreed = plan_undo(root, b)
    away.add(b"- gone\r\n")
    with pytest.raises(UndoRefused, match="Something changed"):
        undo(root, b, expect=agreed.token)
    assert (root / "USER.md").read_bytes() == b"- one\n"
