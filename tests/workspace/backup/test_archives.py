"""Backups as files: what goes in comes out, what is hostile is refused, earlier states come too."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from jenny.workspace.backup import encryption, histories, validation
from jenny.workspace.backup.encryption import Encryptor, FileKey
from jenny.workspace.backup.validation import Backup
from jenny.workspace.errors import BackupRefused
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.store import Store
from jenny.workspace.versions.commits import commit_pending
from jenny.workspace.versions.history import open_history
from tests.support import hostile_backups
from tests.workspace.backup.conftest import FILE_KEY, KEY, TABLE, Make

HOSTILE = dict(hostile_backups.every())


def check(path: Path, spool: Path, key: bytes | None = None) -> None:
    """Look at everything as an import does."""
    with Backup(path, key, {TABLE}) as backup:
        backup.check_all_bytes()
        backup.check_files()
        for _ in backup.lines(TABLE):
            pass
        backup.fetch_history(spool)


@pytest.mark.parametrize("plain", [True, False])
def test_everything_comes_back(tmp_path: Path, root: Path, make: Make, plain: bool) -> None:
    """Bytes, permissions, times to the second, empty folders and odd names; snapshots and
    versions; rows; and of the encrypted file not a word can be read."""
    path = make(plain=plain, rows=({"row": "message", "text": "hällo\u2028 \ud800 \0 \\u0000"},))
    with Backup(path, None if plain else KEY, {TABLE}) as backup:
        backup.check_all_bytes()
        backup.check_files()
        rows = {row.path: row for row in backup.rows()}
        found = {name: backup.read(name) for name, row in rows.items() if not row.is_folder}
        assert found == {
            file.relative_to(root).as_posix(): file.read_bytes()
            for file in root.rglob("*")
            if file.is_file() and not {".git", ".jenny"} & set(file.parts)
        }
        assert rows["empty"].is_folder
        assert rows["run.sh"].mode == 0o755
        assert rows["USER.md"].modified == 1_700_000_001 * 10**9
        assert list(backup.lines(TABLE)) == [
            {"row": "message", "text": "hällo\u2028 ? \ufffd \\u0000"}
        ]
        manifest = backup.manifest
        assert (manifest.files, manifest.messages, manifest.snapshots) == (len(found), 1, 2)
        assert manifest.versions == 2
    assert (b"three" in path.read_bytes()) is plain


def test_however_long_the_last_chunk_is(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file is cut into chunks is no matter of the zip: its end may lie in two."""
    data = make(plain=True).read_bytes()
    sizes = [size for size in range(5_000, 60_000) if 0 < len(data) % size <= 40]
    assert len(sizes) > 10
    for number, size in enumerate(sizes[::5]):
        path = tmp_path / f"encrypted {number}"
        with path.open("wb") as file:
            monkeypatch.setattr(encryption, "CHUNK_BYTES", size)
            encryptor = Encryptor(file, FILE_KEY)
            encryptor.write(data)
            encryptor.close()
        check(path, tmp_path / f"spool {number}", KEY)


def test_the_zip_can_be_read_with_other_tools(tmp_path: Path, make: Make) -> None:
    """A plain backup is an ordinary zip, and its history an ordinary bundle of git."""
    folder = tmp_path / "out"
    with zipfile.ZipFile(make(plain=True)) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    assert (folder / "workspace/memory/MEMORY.md").read_bytes() == b"one\r\nthree\r\n"
    clone = tmp_path / "clone"
    bundle = folder / "history/versions.bundle"
    subprocess.run(["git", "clone", "-q", bundle, clone, "-b", "main"], check=True)
    assert (clone / "memory/MEMORY.md").read_bytes() == b"one\r\nthree\r\n"


def test_history_joins_what_is_there_and_nothing_is_doubled(tmp_path: Path, make: Make) -> None:
    """Snapshots and versions come into another workspace's stores beside its own; the same
    backup again adds nothing; git finds no fault with either store."""
    path, other = make(), tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    (other / "memory/MEMORY.md").write_bytes(b"mine\n")
    store = Store(tmp_path / "other.git")
    commit_pending(other)
    with Backup(path, KEY, {TABLE}) as backup:
        backup.check_files()
        history = backup.fetch_history(tmp_path)
    assert history.snapshots is not None
    assert history.versions is not None
    assert histories.new_snapshots(store, history.snapshots) == 2
    assert [histories.join_snapshots(store, history.snapshots) for _ in range(2)] == [2, 0]
    assert [histories.join_versions(other, history.versions) for _ in range(2)] == [
        "joined",
        "none",
    ]
    with store.open() as repo:
        shot = store.get(repo, store.resolve("latest"))
        row = reader.find_file(repo, shot, "memory/MEMORY.md")
        assert b"".join(reader.read_content(repo, row)) == b"one\r\nthree\r\n"
    with open_history(other) as versions:
        assert versions.file_as_of("memory/MEMORY.md", versions.tip or "") == b"one\r\nthree\r\n"
        assert len(versions.log()) == 3
    for folder in (store.path, other / "memory/.git"):
        done = subprocess.run(
            ["git", f"--git-dir={folder}", "fsck", "--strict"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "")


def test_versions_of_the_same_line_go_on(tmp_path: Path, root: Path, make: Make) -> None:
    """A backup of the workspace's own past moves nothing; a fresh workspace takes it over."""
    path, fresh = make(), tmp_path / "fresh"
    fresh.mkdir()
    with Backup(path, KEY, {TABLE}) as backup:
        backup.check_files()
        versions = backup.fetch_history(tmp_path).versions
    assert versions is not None
    assert histories.join_versions(root, versions) == "none"
    (fresh / "memory").mkdir()
    assert histories.join_versions(fresh, versions) == "taken"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_backup_is_refused(tmp_path: Path, name: str) -> None:
    """Whatever is wrong with it, a sentence says so, and nothing is unpacked outside its folder."""
    path, spool = tmp_path / "in" / "evil", tmp_path / "spool"
    path.parent.mkdir()
    spool.mkdir()
    path.write_bytes(HOSTILE[name]())
    with pytest.raises(BackupRefused) as found:
        check(path, spool)
    assert "Nothing was changed." in found.value.message
    assert {entry.name for entry in tmp_path.iterdir()} == {"in", "spool"}
    assert {entry.name for entry in spool.iterdir()} <= {"versions.git", "snapshots.git"}


def test_there_are_more_than_fifty_hostile_ones() -> None:
    """So many are tried."""
    assert len(HOSTILE) > 60


def test_a_zip_with_a_pipe_in_its_place_is_refused(tmp_path: Path, make: Make) -> None:
    """A backup is a plain file, no link to one."""
    link = tmp_path / "link"
    link.symlink_to(make())
    with pytest.raises(BackupRefused, match="no plain file"):
        Backup(link, KEY, {TABLE})


def test_no_room_is_seen_before_anything_is_written() -> None:
    """The sentence says how much is needed."""
    with pytest.raises(BackupRefused, match=r"2\.0 GB are needed and 1\.0 GB are free"):
        validation.check_space(1_000_000_000, 2_000_000_000)


def test_names_that_do_not_work_everywhere_stay_in_the_snapshot(
    tmp_path: Path, root: Path, make: Make
) -> None:
    """Such a file does not make the export fail, or one that no import takes: it is named."""
    (root / "NOTES.txt").write_bytes(b"1")
    (root / "notes.txt").write_bytes(b"2")
    (root / "odd\\name").write_bytes(b"3")
    path = make()
    with Backup(path, KEY, {TABLE}) as backup:
        backup.check_files()
        assert len(backup.manifest.left_out) == 2
        assert any("odd" in message for message in backup.manifest.left_out)


def test_header_and_key_are_of_one_file(make: Make) -> None:
    """The helper's own sanity: another key opens nothing."""
    with pytest.raises(BackupRefused):
        Backup(make(), FileKey.new("other").key, {TABLE})
