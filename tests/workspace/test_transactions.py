"""Acts on several files: what becomes of them when disk, crash or somebody else interferes."""

import json
import os
import stat
from pathlib import Path

import pytest

from jenny.workspace import atomic, transaction_journal, transactions
from jenny.workspace.errors import WriteFailed
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.transaction_journal import Step

pytestmark = pytest.mark.usefixtures("workspace")


def names_in(root: Path) -> list[str]:
    """What lies in the folder itself."""
    return sorted(path.name for path in root.iterdir())


def cut_short(root: Path, *steps: Step, landed: int = 0) -> None:
    """Leave behind what a process leaves that dies when *landed* of the steps have happened."""
    for step in steps:
        target = root.joinpath(*step.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        if step.old is not None:
            target.write_bytes(step.old)
    staged = [transactions._stage(root, step) for step in steps]
    transaction_journal.store(root, transaction_journal.Journal("1-a.json", tuple(staged)))
    transactions._land_all(root, staged[:landed])


STEPS = (
    Step(("memory", "MEMORY.md"), b"m", b"m and a line"),
    Step(("USER.md",), b"u and a line", b"u"),
)


@pytest.mark.parametrize("landed", [0, 1, 2])
def test_the_next_opening_finishes_the_act(root: Path, landed: int) -> None:
    """However far it got, it is whole when the workspace is open."""
    cut_short(root, *STEPS, landed=landed)
    workspace = open_workspace(root, Actor("chat"))
    assert workspace.read("memory/MEMORY.md").data == b"m and a line"
    assert workspace.read("USER.md").data == b"u"
    assert transaction_journal.pending(root) == []


def test_a_writer_that_was_open_settles_it_first(root: Path, workspace: Workspace) -> None:
    """A process that was running all along sees the act finished before it writes itself."""
    cut_short(root, *STEPS)
    workspace.edit("USER.md", lambda old: (old or b"") + b", edited")
    assert workspace.read("USER.md").data == b"u, edited"
    assert workspace.read("memory/MEMORY.md").data == b"m and a line"


def test_an_edit_from_outside_wins_and_nothing_is_lost(root: Path) -> None:
    """A file somebody changed after the crash stays as they made it; what was to land, and what
    came after it, is kept beside."""
    cut_short(root, *STEPS)
    (root / "memory" / "MEMORY.md").write_bytes(b"by hand")
    open_workspace(root, Actor("chat"))
    texts = {path.name: path.read_bytes() for path in root.rglob("*.md")}
    assert texts["MEMORY.md"] == b"by hand"
    assert texts["USER.md"] == b"u and a line"
    kept = {name.split(".")[0]: text for name, text in texts.items() if "unfinished" in name}
    assert kept == {"MEMORY": b"m and a line", "USER": b"u"}
    assert transaction_journal.pending(root) == []


def test_an_act_undone_half_way_is_undone_to_the_end(root: Path) -> None:
    """A crash while an act is taken back leaves the old state at the next start."""
    cut_short(root, *STEPS, landed=1)
    path = root.joinpath(*transaction_journal.FOLDER, "1-a.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"undo": True}))
    workspace = open_workspace(root, Actor("chat"))
    assert workspace.read("memory/MEMORY.md").data == b"m"
    assert workspace.read("USER.md").data == b"u and a line"
    assert not [name for name in names_in(root) if atomic.is_temp(name)]


def test_a_disk_that_refuses_in_the_middle_undoes_the_act(root: Path) -> None:
    """What had landed is taken back; the sentence says that nothing changed."""
    (root / "a.md").write_bytes(b"old")
    (root / "folder").mkdir()
    steps = [
        Step(("a.md",), b"old", b"new"),
        Step(("b.md",), None, b"new"),
        Step(("folder",), None, b"cannot land on a folder"),
    ]
    with (
        transactions.lock_workspace(root),
        pytest.raises(WriteFailed, match="None of them was changed"),
    ):
        transactions.commit_transaction(root, steps)
    assert (root / "a.md").read_bytes() == b"old"
    assert names_in(root) == [".jenny", "a.md", "folder"]
    assert transaction_journal.pending(root) == []


def test_very_many_files_wait_for_the_disk_once_a_folder(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are on the disk before the act counts as happened, and each folder is waited
    for once, however many files in it change."""
    log: list[str] = []
    fsync, rename, unlink = os.fsync, os.rename, os.unlink

    def said(fd: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"
        log.append(f"{kind} {fd}")
        fsync(fd)

    def renamed(old: str, new: str, **more: int) -> None:
        log.append(f"rename {new}")
        rename(old, new, **more)

    def unlinked(name: str, **more: int) -> None:
        log.append(f"unlink {name}")
        unlink(name, **more)

    files = {f"{folder}/{number}.md": b"new" for number in range(50) for folder in "ab"}
    workspace = open_workspace(root, Actor("browser"))
    workspace.write_many(dict.fromkeys(files, b"old"))
    for name, call in (("fsync", said), ("rename", renamed), ("unlink", unlinked)):
        monkeypatch.setattr(os, name, call)
    workspace.write_many(files)
    decided = next(at for at, line in enumerate(log) if line.endswith(".json"))
    over = next(at for at, line in enumerate(log) if "unlink" in line)
    assert sum(line.startswith("file") for line in log[:decided]) == len(files) + 1
    assert sum(line.startswith("rename") for line in log[decided:over]) == len(files) + 1
    folders = [at for at, line in enumerate(log) if decided < at < over and "folder" in line]
    assert len(folders) == 3
    assert folders[1:] == [over - 2, over - 1]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"undo": false}',
        '{"undo": false, "steps": [{"parts": ["..", "workspace_evil", "x.md"], "temp": null}]}',
        '{"undo": true, "steps": [{"parts": ["a.md"], "temp": "../x", "old": "%", "new": null}]}',
    ],
)
def test_a_damaged_journal_does_nothing_and_blocks_nobody(root: Path, content: str) -> None:
    """Whatever stands in a journal, it leads nowhere outside and stops no work."""
    folder = root.joinpath(*transaction_journal.FOLDER)
    folder.mkdir(parents=True)
    (folder / "1-a.json").write_text(content)
    workspace = open_workspace(root, Actor("chat"))
    workspace.write("a.md", b"a")
    assert workspace.read("a.md").data == b"a"
    assert (root.parent / "workspace_evil" / "secret.md").read_text() == "secret"
    assert transaction_journal.pending(root) == []
    assert [path.read_text() for path in transaction_journal.broken(root)] == [content]


def test_a_journal_whose_file_became_a_link_follows_it_nowhere(root: Path) -> None:
    """A link put in the place of a target or its folder is not written through."""
    cut_short(root, *STEPS)
    secret = root.parent / "workspace_evil" / "secret.md"
    (root / "memory" / "MEMORY.md").unlink()
    (root / "memory" / "MEMORY.md").symlink_to(secret)
    open_workspace(root, Actor("chat"))
    assert secret.read_text() == "secret"
    assert transaction_journal.pending(root) == []


def test_a_folder_that_became_a_link_wedges_nothing(root: Path) -> None:
    """Where an act cannot be settled any more, writing goes on, and its texts are kept."""
    cut_short(root, *STEPS)
    (root / "memory").rename(root.parent / "moved")
    (root / "memory").symlink_to(root.parent / "moved")
    workspace = open_workspace(root, Actor("chat"))
    workspace.write("a.md", b"a")
    assert (root.parent / "moved" / "MEMORY.md").read_bytes() == b"m"
    assert (root / "USER.md").read_bytes() == b"u and a line"
    assert len(transaction_journal.broken(root)) == 1
    staged = [
        path.read_bytes() for path in (root.parent / "moved").iterdir() if path.name[0] == "."
    ]
    assert staged == [b"m and a line"]
