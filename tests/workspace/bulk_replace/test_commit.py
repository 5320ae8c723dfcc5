"""Very many files put in the place of others: all of them or none, whenever the process dies."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from jenny.workspace import (
    bulk_replace,
    bulk_replace_journal,
    locks,
    transaction_journal,
    transactions,
)
from jenny.workspace.bulk_replace_journal import Stage, move_signature
from jenny.workspace.errors import WriteFailed
from jenny.workspace.files import Actor, open_workspace
from tests.support.chance import seed
from tests.support.dying import in_process, told
from tests.workspace.bulk_replace import swapper


@pytest.fixture
def root(in_memory: Path) -> Path:
    """A workspace."""
    root = in_memory / "workspace"
    root.mkdir()
    swapper.start(root)
    return root


def killed(folder: Path, *how: str) -> list[dict]:
    """What was left each time the swap was killed."""
    left = told("tests.workspace.bulk_replace.swapper", folder, *how)
    assert left[-1]["through"]
    assert all(row["journals"] == [] for row in left)
    return left


def before_and_after(root: Path) -> tuple[dict, dict]:
    """The two states that there may be, made by hand."""
    before = swapper.state(root)["files"]
    for path, data in swapper.NEW.items():
        if data is None:
            (root / path).unlink()
    (root / "gone/deep").rmdir()
    (root / "gone").rmdir()
    (root / "d").unlink()
    (root / "e/f.md").unlink()
    (root / "e").rmdir()
    for path, data in swapper.NEW.items():
        if data is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
    return before, swapper.state(root)["files"]


def test_killed_at_every_step_it_is_old_or_new(root: Path) -> None:
    """SIGKILL before each fsync, rename, link, unlink and mkdir: the old or the new state, and
    links and a repository of the user's own as they were."""
    before, after = before_and_after(root)
    left = killed(root.parent)
    assert len(left) > 40
    assert all(row["files"] in (before, after) for row in left)
    assert (left[0]["files"], left[-1]["files"]) == (before, after)
    turned = [row["files"] == after for row in left]
    assert turned == sorted(turned)
    assert 10 < turned.index(True) < len(turned) - 10


def test_the_next_start_may_be_killed_as_well(root: Path) -> None:
    """Killed in the swap, and again while it is being settled (a sample that varies)."""
    before, after = before_and_after(root)
    first = str(seed() % 30 + 25)
    left = killed(root.parent, "twice", first)
    assert all(row["files"] in (before, after) for row in left), f"first kill at {first}"


@pytest.mark.soak
def test_every_start_may_be_killed_as_well(root: Path) -> None:
    """Every pair of kills, in the swap and while it is being settled."""
    before, after = before_and_after(root)
    left = killed(root.parent, "twice")
    assert len(left) > 400
    assert all(row["files"] in (before, after) for row in left)


@pytest.mark.parametrize("name", ["rename", "link", "mkdir", "fsync"])
def test_a_disk_that_refuses_leaves_everything_as_it_was(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full in the middle, at any step: all is put back, and the person is told so."""
    before = swapper.state(root)["files"]
    call, count = getattr(os, name), 0
    for refused in (1, 4, 9, 13):
        count = 0

        def refuse(*args, refused=refused, **options):
            nonlocal count
            count += 1
            if count == refused:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, name, refuse)
            try:
                swapper.swap(root)
            except (WriteFailed, OSError):
                assert swapper.state(root)["files"] == before
                assert transaction_journal.pending(root) == []
            else:
                break
    monkeypatch.undo()
    assert count


def test_what_somebody_wrote_in_between_is_kept_beside(root: Path) -> None:
    """Between the crash and the next start an editor outside saves a file: its text is kept under
    a name that tells, a file meant to go stays, and lines added to the history stay in it."""
    with Stage(root) as stage:
        one = stage.write([b"new a"], mode=0o600)
        two = stage.write([b'{"cursor": 1}\n{"cursor": 2}\n'], mode=0o600)
        three = stage.write([b"7\n"], mode=0o600)
        was = {name: move_signature((root / name).lstat()) for name in ("a.md", "b.md")}
        stage.put("a.md", one, was["a.md"])
        stage.remove("b.md", was["b.md"])
        lines = "memory/history.jsonl"
        stage.put(lines, two, move_signature((root / lines).lstat()), "grow")
        (root / "memory/.cursor").write_text("1\n")
        stage.put(
            "memory/.cursor", three, move_signature((root / "memory/.cursor").lstat()), "yield"
        )
        bulk_replace_journal.store(root, stage.ready())
        (root / "a.md").write_text("typed meanwhile")
        (root / "b.md").write_text("typed as well")
        with (root / lines).open("ab") as file:
            file.write(b'{"cursor": 3}\n')
        (root / "memory/.cursor").write_text("33\n")
        open_workspace(root, Actor("pipeline"))
    assert (root / "a.md").read_bytes() == b"new a"
    assert [path.read_text() for path in root.glob("a.kept-*.md")] == ["typed meanwhile"]
    assert (root / "b.md").read_text() == "typed as well"
    assert (root / lines).read_text() == '{"cursor": 1}\n{"cursor": 2}\n{"cursor": 3}\n'
    assert (root / "memory/.cursor").read_text() == "33\n"


def test_a_link_that_appears_in_the_way_leads_nowhere(root: Path, tmp_path: Path) -> None:
    """A folder is replaced by a link to elsewhere after it was decided about: nothing is written
    there; the link is kept beside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with Stage(root) as stage:
        one = stage.write([b"new"], mode=0o600)
        stage.put("gone/deep/new.md", one, None)
        bulk_replace_journal.store(root, stage.ready())
        (root / "gone/deep/c.md").unlink()
        (root / "gone/deep").rmdir()
        (root / "gone/deep").symlink_to(outside)
        open_workspace(root, Actor("pipeline"))
    assert list(outside.iterdir()) == []
    assert (root / "gone/deep/new.md").read_bytes() == b"new"
    assert [path.is_symlink() for path in root.glob("gone/deep.kept-*")] == [True]


def test_what_comes_has_its_permissions_and_times(root: Path) -> None:
    """A file brought back is as it was, not as new."""
    swapper.swap(root)
    status = (root / "d/inner.md").lstat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_mtime_ns == 1_000_000_000
    assert stat.S_IMODE((root / "fresh").lstat().st_mode) == 0o750


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a//b", "a/../b", ".git/config", "x/.git", ".jenny/locks", "a\0b", ""]
)
def test_a_journal_that_leads_out_is_set_aside(root: Path, path: str) -> None:
    """Nothing is ever done by a damaged or forged journal."""
    before = swapper.state(root)["files"]
    name = f"swap-{'0' * 16}.json"
    folder = root / ".jenny/journal"
    folder.mkdir(parents=True)
    row = {"path": path, "kind": "remove", "was": [0, 0, 0]}
    (folder / name).write_text(json.dumps({"undo": False, "items": [row]}))
    open_workspace(root, Actor("pipeline"))
    assert swapper.state(root)["files"] == before
    assert [found.name for found in transaction_journal.broken(root)] == [f"{name}.broken"]


def test_leftovers_go_and_what_is_under_way_stays(root: Path) -> None:
    """A stage whose process died is removed; one that is being filled is not."""
    in_process(lambda: Stage(root).__enter__() and os._exit(0))
    left = [path.name for path in (root / ".jenny").glob("swap-*")]
    with Stage(root) as stage:
        bulk_replace_journal.sweep(root)
        assert [path.name for path in (root / ".jenny").glob("swap-*")] == [stage.name]
    assert len(left) == 1
    assert list((root / ".jenny").glob("swap-*")) == []


def test_it_is_done_under_the_locks(root: Path) -> None:
    """Who settles a swap of the history holds the history's lock too, so that no line is lost."""
    held = []
    with Stage(root) as stage:
        one = stage.write([b"x"], mode=0o600)
        stage.put("memory/history.jsonl", one, None, "grow")
        bulk_replace_journal.store(root, stage.ready())
        real, bulk_replace.recover_replace = (
            bulk_replace.recover_replace,
            lambda *args: held.append(locks.holds(root, locks.Level.HISTORY)) or real(*args),
        )
        try:
            with transactions.lock_workspace(root):
                pass
        finally:
            bulk_replace.recover_replace = real
    assert held == [True]
