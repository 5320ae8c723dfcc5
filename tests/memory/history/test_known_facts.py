"""What a summariser is told to be on record."""

from pathlib import Path

from jenny.agent.tokens import estimate
from jenny.workspace import seed
from jenny.workspace.files import Actor, open_workspace
from memory.history import cursors, log, prompt
from memory.history.entries import NewHistoryEntry


def test_a_new_workspace_has_nothing_on_record(tmp_path: Path) -> None:
    """Templates say nothing of anybody."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    assert prompt.known_facts_block(tmp_path) == ""


def test_default_lines_are_nobodys_facts(tmp_path: Path) -> None:
    """Of a SOUL.md that somebody added to, only what was added is on record."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    soul = tmp_path / "SOUL.md"
    soul.write_text(f"{soul.read_text()}- Never ends with a question.\n")
    assert prompt.known_facts_block(tmp_path) == "- Never ends with a question."


def test_tasks_stand_apart(root: Path) -> None:
    """So that one that is asked for again is not taken for recorded."""
    log.append(
        root, [NewHistoryEntry("- [durable] Asked for a meal plan.\n- [durable] Likes tea.")]
    )
    known, _, tasks = prompt.known_facts_block(root).partition("Asked for before.")
    assert known.strip() == "- [durable] Likes tea."
    assert "- [durable] Asked for a meal plan." in tasks


def test_bullets_and_waiting_facts_but_no_raw_text(root: Path) -> None:
    """What Dream has read is in the files, or was not worth it."""
    (root / "USER.md").write_text("# Ana\n\nProse.\n\n- has two cats\n  * one is black\n")
    log.append(root, [NewHistoryEntry("- [durable] old"), NewHistoryEntry("- [durable] new")])
    log.append(
        root,
        [NewHistoryEntry("[RAW] 1 message\nx", kind="raw"), NewHistoryEntry("note", kind="note")],
    )
    cursors.set_dream_cursor(root, 1, Actor("pipeline"))
    assert prompt.known_facts_block(root).split("\n") == [
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
    log.append(root, [NewHistoryEntry(entry) for entry in entries])
    text = prompt.known_facts_block(root)
    assert estimate(text) <= prompt.KNOWN_FACTS_TOKENS + 5
    waiting = [line for line in text.split("\n") if "waiting" in line]
    assert waiting == entries[-len(waiting) :]
    assert estimate("\n".join(waiting)) > prompt.KNOWN_FACTS_TOKENS * 0.35
    assert "- fact 0 of the file" in text


def test_a_broken_cursor_stops_no_summary(root: Path) -> None:
    """Everything counts as waiting."""
    log.append(root, [NewHistoryEntry("- [durable] a")])
    (root / "memory" / ".dream_cursor").write_text("abc")
    assert prompt.known_facts_block(root) == "- [durable] a"
