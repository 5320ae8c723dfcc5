"""Bringing a workspace back: to the byte, with nothing said lost, and undone again.

What must be is written down here by hand; nothing of it is computed by what is tested.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jenny.workspace.errors import RestoreRefused, SnapshotUnknown, StoreBroken, WriteRefused
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.snapshots import reader, restore_plan
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.restore_plan import FolderSource, SnapshotSource
from jenny.workspace.snapshots.store import Store
from jenny.workspace.versions.history import open_history
from memory import prompt_files, suppression
from memory.restore import engine
from memory.restore.plan import RestoreRequest, RestoreServices, prepare, restored_text
from tests.memory.restore import restorer
from tests.memory.restore.restorer import NOW, entry, restore, state, write


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Store, str]:
    """The workspace, its snapshots, and the one from before."""
    return restorer.make(tmp_path / "all")


def wanted(root: Path) -> dict[str, str]:
    """Every file as it must be after everything was restored."""
    files = {path: data.decode("latin-1") for path, data in restorer.THEN.items()}
    files["USER.md"] = "# User\n\n- Lives in Bern\n"  # the cats are forgotten
    for path in ("HEAD", "objects/aa"):
        files[f"wikis/mine/.git/{path}"] = restorer.NOW_FILES[f"wikis/mine/.git/{path}"].decode()
    for path in ("wikis/mine/notes.md", "wikis/mine/later.md"):
        files[path] = restorer.NOW_FILES[path].decode()
    files |= {"link": "link /etc/hostname", "wikis/sea/link.md": "link ../../USER.md"}
    files["memory/.forgotten.jsonl"] = restorer.FORGOTTEN.decode()
    files |= {"memory/.cursor": "7\n", "memory/.dream_cursor": "6\n"}
    files["memory/history.jsonl"] = b"".join(map(entry, range(3, 8))).decode()
    files["memory/archive/history-2026-02.jsonl"] = (entry(1) + entry(2)).decode()
    return files


def files_of(root: Path) -> dict[str, str]:
    """The files that are there, folders apart."""
    return {path: data for path, data in state(root)["files"].items() if data != "folder"}


def test_everything_is_as_it_was_then_and_nothing_said_is_lost(made: Any) -> None:
    """Files come back, those made since go, links and the user's own repository stay; the history
    is never rewound, what was forgotten stays away and is named, and Dream sees again what it had
    read since."""
    root, store, shot = made
    done = restore(root, store, shot)
    assert files_of(root) == wanted(root)
    assert not (root / "later").exists()
    assert not (root / "skills/new").exists()
    assert (root / "same.md").stat().st_mode & 0o777 == 0o640
    assert [line.text for line in done.prepared.left_out["USER.md"]] == ["Has two cats at home"]
    assert state(root)["offered"] == [3, 4, 5, 6]
    archived = "".join(state(root)["archived"])
    assert all(text in archived for text in ("Likes trains", "Everything else is gone"))
    assert any("wikis/mine" in row.message for row in done.prepared.plan.left)
    assert done.version is not None
    assert done.version.kind == "restore"
    with open_history(root) as history:
        kinds = [row.kind for row in history.walk()]
    assert kinds.count("restore") == 1


def test_undoing_a_restore_brings_back_the_state_before(made: Any) -> None:
    """The snapshot before a restore holds all that went, so that restoring it is the way back; the
    undo can be undone as well."""
    root, store, shot = made
    before = files_of(root)
    first = restore(root, store, shot)
    after = files_of(root)
    second = restore(root, store, first.before.id)
    assert files_of(root) == before
    restore(root, store, second.before.id)
    assert files_of(root) == after


def test_one_file_and_one_folder(made: Any) -> None:
    """What was not asked for stays as it is."""
    root, store, shot = made
    before = files_of(root)
    restore(root, store, shot, path="uploads/big.bin")
    then = restorer.THEN["uploads/big.bin"].decode("latin-1")
    assert files_of(root) == before | {"uploads/big.bin": then}
    assert state(root)["offered"] == []
    restore(root, store, shot, path="skills")
    now = files_of(root)
    assert "skills/new/SKILL.md" not in now
    assert now["skills/tea/SKILL.md"] == restorer.THEN["skills/tea/SKILL.md"].decode()
    assert now["USER.md"] == restorer.NOW_FILES["USER.md"].decode()
    assert state(root)["offered"] == [3, 4, 5, 6]
    with pytest.raises(SnapshotUnknown):
        restore(root, store, shot, path="never/was")


def test_one_ledger_is_put_together_too(made: Any) -> None:
    """Asked for by itself, the history is not rewound either."""
    root, store, shot = made
    write(root, {"memory/history.jsonl": entry(5) + entry(6) + entry(7)})
    restore(root, store, shot, path="memory/history.jsonl")
    lines = (root / "memory/history.jsonl").read_bytes()
    assert lines == b"".join(map(entry, range(3, 8)))
    assert (root / "memory/.cursor").read_text() == "7\n"


def test_the_plan_says_what_happens_and_writes_nothing(made: Any) -> None:
    """A person is shown every file before; when others would change by then, nothing does."""
    root, store, shot = made
    before = state(root)
    with store.open() as repo:
        source = SnapshotSource(repo, store.get(repo, shot))
        found = prepare(root, store, repo, source)
    assert state(root) == before
    plan = found.plan
    assert [row.path for row in plan.changed] == ["USER.md", "memory/MEMORY.md", "uploads/big.bin"]
    assert [row.path for row in plan.added] == [
        "gone/deep/old.md", "skills/tea/SKILL.md", "was-file", "was-folder/x.md",
    ]  # fmt: skip
    assert [row.path for row in plan.removed] == [
        "later/one.md", "skills/new/SKILL.md", "was-file/inner.md", "was-folder",
    ]  # fmt: skip
    assert found.reoffer == (3, 4, 5, 6)
    write(root, {"another.md": b"made after the look"})
    with pytest.raises(RestoreRefused):
        restore(root, store, shot, expect=plan.token)
    assert files_of(root)["another.md"] == "made after the look"
    assert files_of(root)["USER.md"] == restorer.NOW_FILES["USER.md"].decode()


def test_a_damaged_snapshot_changes_nothing(made: Any) -> None:
    """Every object is read first; one that is lost stops all of it, and is named."""
    root, store, shot = made
    with store.open() as repo:
        row = reader.find_file(repo, store.get(repo, shot), "uploads/big.bin")
        pack = next(repo.database.pack_folder.glob("*.pack"))
        place = next(pack for pack in repo.database.packs()).position(bytes.fromhex(row.sha))
        assert place is not None
        start = next(pack for pack in repo.database.packs()).offset_at(place)
    data = bytearray(pack.read_bytes())
    data[start + 40 : start + 60] = b"\0" * 20
    pack.chmod(0o600)
    pack.write_bytes(data)
    before = files_of(root)
    with pytest.raises(StoreBroken, match=r"big\.bin"):
        restore(root, store, shot)
    assert files_of(root) == before


def test_what_lies_behind_a_link_stays_away_and_is_named(made: Any, tmp_path: Path) -> None:
    """A folder that is a link now: nothing is written through it."""
    root, store, shot = made
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "gone").symlink_to(outside)
    done = restore(root, store, shot)
    assert list(outside.iterdir()) == []
    assert (root / "gone").is_symlink()
    assert any("gone/deep/old.md" in row.message for row in done.prepared.plan.left)


def test_a_snapshot_that_covers_all_is_nothing_to_be_done(made: Any) -> None:
    """Restoring what is there already writes nothing and says so."""
    root, store, _ = made
    shot = create(store, root, "manual", now=NOW).snapshot.id
    before = state(root)
    assert restore(root, store, shot).prepared.is_nothing
    assert state(root) == before


def test_restoring_the_same_twice_is_nothing_the_second_time(made: Any) -> None:
    """Also though a forgotten line keeps a file from being as it was."""
    root, store, shot = made
    restore(root, store, shot)
    assert restore(root, store, shot).prepared.plan.is_nothing


def test_a_run_of_dream_is_ended_and_the_lost_holder_stops(made: Any) -> None:
    """What there is to say of a run is told; who was given up meanwhile changes nothing."""
    root, store, shot = made

    def gone() -> None:
        raise RuntimeError("given up")

    before = files_of(root)
    services = RestoreServices(
        stop=lambda: "Stopped.", requeue=lambda _: None, invalidate=lambda: 3, check=gone
    )
    asked = RestoreRequest(name="snapshot")

    def source(repo: Any) -> SnapshotSource:
        return SnapshotSource(repo, store.get(repo, shot))

    with pytest.raises(RuntimeError):
        engine.restore(root, store, source, asked, services=services, now=NOW)
    assert files_of(root) == before
    services = RestoreServices(
        stop=lambda: "Stopped.", requeue=lambda _: None, invalidate=lambda: 3, check=lambda: None
    )
    done = engine.restore(root, store, source, asked, services=services, now=NOW)
    assert (done.notes, done.voided) == (("Stopped.",), 3)


def test_a_folder_that_was_unpacked_is_restored_alike(made: Any, tmp_path: Path) -> None:
    """An import goes the same way; its history joins the one that is here."""
    root, store, _ = made
    folder = tmp_path / "unpacked"
    write(folder, {"USER.md": b"# User\n\n- From elsewhere\n", "wikis/a/wiki/b.md": b"b"})
    other = {"cursor": 3, "timestamp": "2025-01-01 10:00", "content": "said elsewhere"}
    write(folder, {"memory/history.jsonl": json.dumps(other).encode() + b"\n"})
    services = RestoreServices(
        stop=str, requeue=lambda _: None, invalidate=lambda: 0, check=lambda: None
    )
    asked = RestoreRequest(name="a backup", trigger="import", is_same=False)
    done = engine.restore(
        root, store, lambda _repo: FolderSource(folder), asked, services=services, now=NOW
    )
    lines = (root / "memory/history.jsonl").read_text().splitlines()
    assert [json.loads(line)["cursor"] for line in lines] == [3, 4, 5, 6, 7, 8]
    assert json.loads(lines[-1])["content"] == "said elsewhere"
    assert (root / "USER.md").read_bytes() == b"# User\n\n- From elsewhere\n"
    assert not (root / "SOUL.md").exists()
    assert done.before.trigger == "import"
    restore(root, store, done.before.id)
    assert (root / "SOUL.md").read_bytes() == restorer.THEN["SOUL.md"]


def test_the_plan_of_two_odd_trees() -> None:
    """Locks, git's own and Jenny's own are never named by a plan, whatever the source says."""
    rows = [
        restore_plan.FileRow(path, False, 1, 0o600, 0, "a" * 40)
        for path in ("memory/.git/config", "memory/.history.lock", ".jenny/x", "fine.md")
    ]
    empty = restore_plan.CurrentState({}, {}, {}, ())
    assert [row.path for row in restore_plan.plan_restore(empty, rows).added] == ["fine.md"]


def test_odd_names_come_back_to_the_byte(tmp_path: Path) -> None:
    """Names that are no UTF-8, hold a line's end, look like git's, or are as long as can be."""
    root, store = tmp_path / "workspace", Store(tmp_path / "one.git")
    odd = [b"\xff\xfe.md", b"a\nb.md", b".gitmodules", b"GIT~2", b"x" * 255, b"\xe2\x80\xae.md"]
    files = [root / "odd" / os.fsdecode(name) for name in odd]
    for folder in ("memory", "odd/empty"):
        (root / folder).mkdir(parents=True)
    for number, path in enumerate(files):
        path.write_text(str(number))
    shot = create(store, root, "manual", now=NOW).snapshot.id
    for number, path in enumerate(files):
        path.write_text("changed") if number % 2 else path.unlink()
    (root / "odd/empty").rmdir()
    (root / "odd/new").mkdir()
    (root / "odd/new" / os.fsdecode(b"\xff")).write_text("made since")
    restore(root, store, shot)
    assert [path.read_text() for path in files] == ["0", "1", "2", "3", "4", "5"]
    there = sorted((root / "odd").iterdir())
    assert there == sorted([*files, root / "odd/empty"])


def test_writers_wait_and_go_on_afterwards(made: Any) -> None:
    """What another writes while it is restored lands after it."""
    root, store, shot = made
    restore(root, store, shot)
    open_workspace(root, Actor("chat")).write("after.md", b"x")
    assert (root / "after.md").exists()


def test_a_line_that_was_edited_by_hand_comes_back(tmp_path: Path) -> None:
    """A person puts another value in a line's place and restores the file: the old line is back,
    stands in the prompt, and may be written again. Until then Dream is refused the old value."""
    root, store, shot = restorer.make(tmp_path / "all")
    person = open_workspace(root, Actor("browser"))
    person.write("USER.md", restorer.THEN["USER.md"])
    person.edit("USER.md", lambda old: (old or b"").replace(b"Lives in Bern", b"Lives in Basel"))
    with pytest.raises(WriteRefused) as refused:
        open_workspace(root, Actor("dream")).edit(
            "USER.md", lambda old: (old or b"") + b"- Lives in Bern\n"
        )
    assert refused.value.rule == "forgotten"
    done = restore(root, store, shot, path="USER.md")
    assert "- Lives in Bern\n" in (root / "USER.md").read_text()
    assert "Basel" not in (root / "USER.md").read_text()
    assert "Lives in Bern" in prompt_files.block("user", root).text
    assert not done.prepared.left_out


@pytest.mark.parametrize("kept", ["- Lives in Bern\n", ""])
def test_what_stays_away_is_named_with_the_way_to_have_it(tmp_path: Path, kept: str) -> None:
    """The answer never says that a file is as it was when a forgotten line is not in it, also when
    nothing had to be written; what it names can be lifted, and comes back then."""
    root, store, shot = restorer.make(tmp_path / "all")
    write(root, {"USER.md": f"# User\n\n{kept}".encode()})
    done = restore(root, store, shot, path="USER.md")
    said = restored_text("snapshot x", "USER.md", done)
    assert "as it was in snapshot x, but for what you had forgotten" in said
    assert "“Has two cats at home” (aaaaaaaaaaaa)" in said
    assert "forget --lift" in said
    suppression.lift_tombstone(root, "aaaaaaaaaaaa", Actor("browser"))
    done = restore(root, store, shot, path="USER.md")
    assert (root / "USER.md").read_bytes() == restorer.THEN["USER.md"]
    assert "but for" not in restored_text("snapshot x", "USER.md", done)
