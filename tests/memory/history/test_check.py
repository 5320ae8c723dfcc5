"""What ``check_workspace`` says of the history, and what it repairs."""

from pathlib import Path

import django
import pytest

from jenny.workspace import seed
from jenny.workspace.check import Finding, check_workspace
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits
from jenny.workspace.versions.write_log import RunNote
from memory.history import cursors, log, reader
from memory.history.entries import NewHistoryEntry
from tests.memory.history.conftest import line

LOG, CUT = "memory/history.jsonl", "memory/.history.cut"


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """The apps are loaded, as in every process of the product."""
    django.setup()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A new workspace in which something was said."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    log.append(tmp_path, [NewHistoryEntry("a"), NewHistoryEntry("b")])
    return tmp_path


def found(root: Path, *, repair: bool = False) -> dict[str, Finding]:
    """The findings by path, through the whole check."""
    return {row.path: row for row in check_workspace(root, repair=repair)}


def test_a_history_in_order_is_not_spoken_of(root: Path) -> None:
    """Entries that wait for Dream are no fault."""
    assert found(root) == {}


def test_skipped_lines_are_counted_and_can_be_moved_aside(root: Path) -> None:
    """Nothing is thrown away: the lines are kept in a file of their own."""
    bad = b"by hand\n\n" + line("x")
    (root / LOG).write_bytes(bad + (root / LOG).read_bytes())
    row = found(root)[LOG]
    assert row.is_open
    assert row.message == "3 lines hold no note and are skipped: 1, 2, 3."
    assert found(root, repair=True)[LOG].repaired
    assert [entry.content for entry in reader.read_pending(root).entries] == ["a", "b"]
    assert (root / CUT).read_bytes() == bad
    after = found(root)
    assert list(after) == [CUT]
    assert after[CUT].level == "note"


def test_an_end_that_was_never_finished(root: Path) -> None:
    """The next entry puts it right, and so does repair."""
    with (root / LOG).open("ab") as file:
        file.write(b'{"cursor": 3, "cont')
    row = found(root)[LOG]
    assert not row.is_open
    assert "never finished" in row.message
    found(root, repair=True)
    assert list(found(root)) == [CUT]
    assert (root / LOG).read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("bad", [b"abc\n", b"-1", b"\xff\xfe1\x002\x00", b"12\n13\n"])
def test_dreams_cursor_is_repaired_from_its_versions(root: Path, bad: bytes) -> None:
    """The newest version that has a number gives it; without one Dream begins anew."""
    path = root / "memory" / ".dream_cursor"
    path.write_bytes(bad)
    row = found(root)["memory/.dream_cursor"]
    assert row.is_open
    assert "Memory updates wait" in row.message
    assert found(root, repair=True)["memory/.dream_cursor"].repaired
    assert cursors.dream_cursor(root) == 0
    run = RunNote("dream:1", "dream: scheduled run", (0, None))
    commits.begin_run(root, run)
    open_workspace(root, Actor("dream", run=run.run)).write("USER.md", b"Ana\n")
    cursors.set_dream_cursor(root, 2, Actor("pipeline", run=run.run))
    assert commits.commit_run(root, run).versions
    path.write_bytes(bad)
    assert found(root, repair=True)["memory/.dream_cursor"].repaired
    assert cursors.dream_cursor(root) == 2


def test_a_lost_counter_is_written_anew(root: Path) -> None:
    """It follows from the history."""
    (root / "memory" / ".cursor").write_bytes(b"many")
    row = found(root)["memory/.cursor"]
    assert row.level == "note"
    found(root, repair=True)
    assert (root / "memory" / ".cursor").read_bytes() == b"2\n"
    assert found(root) == {}


def test_a_backlog_is_a_problem_until_dream_has_read_it(root: Path) -> None:
    """It is kept all the same."""
    (root / LOG).write_bytes(b"".join(line(number) for number in range(1, 1_200)))
    row = found(root)[LOG]
    assert row.is_open
    assert "1,199 notes of the history wait for Dream" in row.message
    assert found(root, repair=True)[LOG].is_open
    assert reader.read_all(root).waiting == 1_199


def test_a_history_that_cannot_be_read_is_named(root: Path) -> None:
    """The rest of the check goes on."""
    (root / LOG).unlink()
    (root / LOG).mkdir()
    assert any("history.jsonl" in row.message for row in check_workspace(root) if row.is_open)
