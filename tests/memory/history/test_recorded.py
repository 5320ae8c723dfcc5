"""What a summariser is told to be on record."""

from pathlib import Path

from jenny.agent.tokens import estimate
from jenny.workspace import seed
from jenny.workspace.files import Actor, open_workspace
from memory.history import cursors, log, recorded
from memory.history.entries import NewEntry


def test_a_new_workspace_has_nothing_on_record(tmp_path: Path) -> None:
    """Templates say nothing of anybody."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    assert recorded.block(tmp_path) == ""


def test_bullets_and_waiting_facts_but_no_raw_text(root: Path) -> None:
    """What Dream has read is in the files, or was not worth it."""
    (root / "USER.md").write_text("# Ana\n\nProse.\n\n- has two cats\n  * one is black\n")
    log.append(root, [NewEntry("- [durable] old"), NewEntry("- [durable] new")])
    log.append(root, [NewEntry("[RAW] 1 message\nx", kind="raw"), NewEntry("note", kind="note")])
    cursors.set_dream_cursor(root, 1, Actor("pipeline"))
    assert recorded.block(root).split("\n") == [
        "- has two cats",
        "* one is black",
        "- [durable] new",
        "note",
    ]


def test_what_waits_has_its_share_and_stays_whole(root: Path) -> None:
    """Also beside large files; the newest entries first, none of them cut."""
    (root / "memory/MEMORY.md").write_text(
        "".join(f"- fact {number} of the file that is long enough\n" for number in range(900))
    )
    entries = [f"- [durable] waiting {number} {'word ' * 20}end" for number in range(60)]
    log.append(root, [NewEntry(entry) for entry in entries])
    text = recorded.block(root)
    assert estimate(text) <= recorded.MAX_TOKENS + 5
    waiting = [line for line in text.split("\n") if "waiting" in line]
    assert waiting == entries[-len(waiting) :]
    assert estimate("\n".join(waiting)) > recorded.MAX_TOKENS * 0.35
    assert "- fact 0 of the file" in text


def test_a_broken_cursor_stops_no_summary(root: Path) -> None:
    """Everything counts as waiting."""
    log.append(root, [NewEntry("- [durable] a")])
    (root / "memory" / ".dream_cursor").write_text("abc")
    assert recorded.block(root) == "- [durable] a"
