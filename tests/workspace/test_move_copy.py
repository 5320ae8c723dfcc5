"""Whole files and folders: moved, copied, uploaded, thrown away and brought back."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jenny.workspace import move_copy, trash, uploads, write_rules
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    PathRefused,
    WorkspaceError,
    WriteFailed,
    WriteRefused,
)
from jenny.workspace.files import Actor, Change, Workspace, open_workspace

NOW = 1_800_000_000


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A workspace with a folder of notes."""
    root = tmp_path / "space"
    (root / "notes" / "deep").mkdir(parents=True)
    (root / "notes" / "a.md").write_text("first\n")
    (root / "notes" / "deep" / "b.md").write_text("second\n")
    return open_workspace(root, Actor("browser", account=7))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where the trash is."""
    return tmp_path / "trash" / "1"


@pytest.fixture
def seen() -> Iterator[list[Change]]:
    """What an acting rule saw; one that checks refuses everything whose content says so."""
    changes: list[Change] = []

    def note(change: Change) -> None:
        changes.append(change)

    def refuse(change: Change) -> None:
        if b"never" in (change.old or b"") + (change.new or b""):
            raise WriteRefused("Not this one.", "test")

    write_rules.register_rule(note, acts=True)
    write_rules.register_rule(refuse)
    yield changes
    for table, rule in ((write_rules._acting, note), (write_rules._checking, refuse)):
        table.pop(f"{rule.__module__}.{rule.__qualname__}")


def test_a_folder_moves_with_all_that_is_in_it(space: Workspace, seen: list[Change]) -> None:
    """Its files keep their bytes; the rules see each of them leave and come."""
    assert move_copy.move(space, "notes", "old/papers") == "old/papers"
    assert (space.root / "old/papers/deep/b.md").read_text() == "second\n"
    assert not (space.root / "notes").exists()
    ways = [(change.path, change.old is None) for change in seen]
    assert ("notes/deep/b.md", False) in ways
    assert ("old/papers/deep/b.md", True) in ways


def test_one_refused_file_keeps_the_whole_folder_where_it_is(
    space: Workspace, store: Path, seen: list[Change]
) -> None:
    """No rule acts, nothing moves, and the trash stays empty."""
    (space.root / "notes" / "z.md").write_text("never\n")
    with pytest.raises(WriteRefused):
        move_copy.move(space, "notes", "elsewhere")
    with pytest.raises(WriteRefused):
        trash.move_to_trash(space, store, "notes", now=NOW)
    assert seen == []
    assert (space.root / "notes/a.md").exists()
    assert trash.listing(store) == ()
    assert not list(store.iterdir())


@pytest.mark.parametrize(
    "target",
    [
        "notes/inner",  # into itself
        "taken",  # exists
        "../out",
        "/etc/x",
        "a/../../out",
        ".git/x",
        "sub/.GIT/x",
        ".jenny/x",
        "config.json",
        "CONFIG.JSON",
        "con.txt",
        "x\0y",
        "x" * 300,
        "a\\b",
        "%2e%2e/x",
        "gpj\u202e.exe",
        "Taken",  # differs only in case
        "",
        ".",
    ],
)
def test_a_target_that_cannot_be_is_refused(space: Workspace, target: str) -> None:
    """And the folder is where it was."""
    (space.root / "taken").mkdir()
    with pytest.raises(WorkspaceError) as caught:
        move_copy.move(space, "notes", target)
    assert caught.value.message
    assert (space.root / "notes/deep/b.md").read_text() == "second\n"


def test_a_rename_may_change_only_the_case(space: Workspace) -> None:
    """A file does not stand in its own way."""
    move_copy.move(space, "notes/a.md", "notes/A.md")
    assert [path.name for path in (space.root / "notes").iterdir() if path.is_file()] == ["A.md"]


def test_a_link_is_moved_and_thrown_away_as_itself(space: Workspace, store: Path) -> None:
    """Never what it leads to, be it inside or out."""
    outside = space.root.parent / "outside.txt"
    outside.write_text("mine\n")
    (space.root / "out").symlink_to(outside)
    (space.root / "in").symlink_to("notes")
    move_copy.move(space, "out", "notes/out")
    assert str((space.root / "notes/out").readlink()) == str(outside)
    thrown = trash.move_to_trash(space, store, "in", now=NOW)
    assert thrown.kind == "link"
    trash.move_to_trash(space, store, "notes/out", now=NOW)
    assert (space.root / "notes/a.md").exists()
    assert outside.read_text() == "mine\n"
    trash.put_back(space, store, thrown.id)
    assert str((space.root / "in").readlink()) == "notes"


def test_what_was_thrown_away_comes_back_as_it_was(space: Workspace, store: Path) -> None:
    """Into its place, which is made again; when that is taken it can go elsewhere."""
    item = trash.move_to_trash(space, store, "notes/deep", now=NOW)
    trash.move_to_trash(space, store, "notes", now=NOW + 5)
    assert [row.path for row in trash.listing(store)] == ["notes", "notes/deep"]
    assert trash.put_back(space, store, item.id) == "notes/deep"
    assert (space.root / "notes/deep/b.md").read_text() == "second\n"
    (whole,) = trash.listing(store)
    with pytest.raises(PathRefused, match="exists already"):
        trash.put_back(space, store, whole.id)
    assert trash.put_back(space, store, whole.id, "notes (2)") == "notes (2)"
    assert (space.root / "notes (2)/a.md").read_text() == "first\n"
    assert trash.listing(store) == ()
    with pytest.raises(FileMissing):
        trash.put_back(space, store, whole.id)


def test_the_trash_lets_go_of_what_is_old(space: Workspace, store: Path) -> None:
    """What is younger stays; leftovers of a deletion that was cut short go too."""
    old = trash.move_to_trash(space, store, "notes/a.md", now=NOW)
    young = trash.move_to_trash(space, store, "notes/deep", now=NOW + 40 * 86_400)
    (store / ".going-1").mkdir()
    assert trash.purge(store, before=old.purge_at) == 1
    assert [row.id for row in trash.listing(store)] == [young.id]
    assert not (store / ".going-1").exists()


@pytest.mark.parametrize(
    "note", ["", "{", "[]", '{"id": 3}', '{"id": "0123456789abcdef", "path": "../../x"}']
)
def test_a_damaged_note_hides_only_its_own_item(space: Workspace, store: Path, note: str) -> None:
    """And can bring nothing back to where it must not go."""
    item = trash.move_to_trash(space, store, "notes/a.md", now=NOW)
    other = store / "0123456789abcdef"
    other.mkdir()
    (other / "content").write_text("x")
    (other / "about.json").write_text(note)
    assert [row.id for row in trash.listing(store)] == [item.id]
    with pytest.raises(FileMissing):
        trash.put_back(space, store, other.name)


@pytest.mark.parametrize("item_id", ["", "..", "../../etc", "0123456789ABCDEF", "x" * 16])
def test_only_ids_lead_into_the_trash(space: Workspace, store: Path, item_id: str) -> None:
    """No id is a path."""
    with pytest.raises(FileMissing):
        trash.put_back(space, store, item_id)
    trash.delete(store, item_id)
    assert (space.root / "notes").exists()


def test_an_upload_is_stored_whole_or_not_at_all(space: Workspace, seen: list[Change]) -> None:
    """Its size is bounded, it replaces nothing, and what breaks in the middle leaves nothing."""

    class Breaks(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 1_500_000:
                raise OSError(5, "the line broke")
            return super().read(size)

    data = os.urandom(3_000_000)
    assert uploads.upload(space, "up/x.bin", io.BytesIO(data), limit=4_000_000) == "up/x.bin"
    assert (space.root / "up/x.bin").read_bytes() == data
    assert [change.path for change in seen] == ["up/x.bin"]
    with pytest.raises(PathRefused, match="exists already"):
        uploads.upload(space, "up/x.bin", io.BytesIO(b"y"), limit=10)
    with pytest.raises(FileTooLarge):
        uploads.upload(space, "up/y.bin", io.BytesIO(data), limit=100)
    with pytest.raises(WriteFailed):
        uploads.upload(space, "up/z.bin", Breaks(data), limit=4_000_000)
    assert [path.name for path in (space.root / "up").iterdir()] == ["x.bin"]


def test_a_copy_is_another_file(space: Workspace) -> None:
    """A folder is copied without git's own, without devices, and never into itself."""
    (space.root / "notes/.git").mkdir()
    (space.root / "notes/.git/config").write_text("[core]")
    os.mkfifo(space.root / "notes/pipe")
    (space.root / "notes/out").symlink_to("/etc/hostname")
    move_copy.copy(space, "notes", "twin")
    assert sorted(path.name for path in (space.root / "twin").iterdir()) == ["a.md", "deep", "out"]
    assert str((space.root / "twin/out").readlink()) == "/etc/hostname"
    (space.root / "twin/a.md").write_text("changed")
    assert (space.root / "notes/a.md").read_text() == "first\n"
    with pytest.raises(PathRefused, match="into itself"):
        move_copy.copy(space, "notes", "notes/twin")
    with pytest.raises(PathRefused):
        move_copy.copy(space, "notes/out", "stolen")


def test_a_free_name_is_found(space: Workspace) -> None:
    """Numbered like every file manager does it; a twin in other case counts as taken."""
    assert move_copy.free_name(space.root, "notes/new.md") == "notes/new.md"
    assert move_copy.free_name(space.root, "notes/a.md") == "notes/a (2).md"
    assert move_copy.free_name(space.root, "notes/A.MD") == "notes/A (2).MD"
    assert move_copy.free_name(space.root, "notes/deep") == "notes/deep (2)"


LONG_NAMES = (
    "a" * 255,
    "a" * 251 + ".txt",
    "é" * 125 + ".html",
    "🙂" * 62 + ".md",
    "e\u0301" * 84 + ".md",
    "x." + "b" * 253,
    "日" * 85,
    ".hidden" + "c" * 248,
)


@pytest.mark.parametrize("name", LONG_NAMES, ids=lambda name: ascii(name[-12:]))
def test_a_name_as_long_as_can_be_is_copied_and_brought_back(
    space: Workspace, store: Path, name: str
) -> None:
    """Its copies have shorter stems, cut between characters, under the same suffix; so have a
    second upload, and what comes back from the trash beside a new file of that name."""
    (space.root / name).write_text("first")
    names = {name}
    for _ in range(12):
        free = move_copy.free_name(space.root, name)
        assert move_copy.copy(space, name, free) == free
        names.add(free)
    free = move_copy.free_name(space.root, name)
    names.add(uploads.upload(space, free, io.BytesIO(b"again"), limit=100))
    thrown = trash.move_to_trash(space, store, name, now=NOW)
    (space.root / name).write_text("new")
    back = move_copy.free_name(space.root, thrown.path)
    names.add(trash.put_back(space, store, thrown.id, back))
    assert names <= {path.name for path in space.root.iterdir()}
    assert len(names) == 15
    for one in names:
        assert len(one.encode()) <= 255
        stem, dot, suffix = name.rpartition(".")
        if stem and len(suffix) < 10:
            assert one.endswith(f"{dot}{suffix}")


def test_a_path_as_long_as_can_be_is_copied(space: Workspace) -> None:
    """The name of a copy is shortened for the whole path's sake as well."""
    folder = "/".join(["d" * 200] * 4)
    move_copy.make_folder(space, folder)
    path = f"{folder}/{'n' * (1024 - len(folder) - 1)}"
    space.write(path, b"x", expect=None)
    assert move_copy.copy(space, path, move_copy.free_name(space.root, path)).startswith(folder)
