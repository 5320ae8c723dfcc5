"""Looking at a backup as a whole: decrypted, unpacked and judged before anything is changed."""

import contextlib
import hashlib
import io
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Self

from jenny.workspace import names
from jenny.workspace.backup import directory, histories, unbundling
from jenny.workspace.backup.archive import modified
from jenny.workspace.backup.directory import refused
from jenny.workspace.backup.lines import row_of
from jenny.workspace.backup.opening import Opened, is_sealed
from jenny.workspace.backup.unbundling import Unbundled
from jenny.workspace.backup.values import (
    FORMAT,
    MANIFEST,
    MOST_LINE_BYTES,
    MOST_LINES,
    MOST_MANIFEST_BYTES,
    SNAPSHOTS,
    SPARE_BYTES,
    VERSIONS,
    Manifest,
)
from jenny.workspace.errors import BackupRefused, BackupUnreadable, StoreBroken
from jenny.workspace.snapshots.values import FileRow, sized

_CHUNK = 1 << 20
_ZIP = b"PK"
_MOST_TEXT = 1_000
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)

type Progress = Callable[[int, int, str], None] | None


@dataclass(frozen=True)
class Histories:
    """The history that came along; ``None``: there is none of that kind."""

    snapshots: Unbundled | None = None
    versions: Unbundled | None = None


class Backup:
    """A backup that is open: encrypted with its key, or a plain zip. Use it as a context manager.

    It is a ``Source`` of a restore once ``check_files`` has looked at every byte.
    """

    def __init__(self, path: Path, key: bytes | None, known: Collection[str]) -> None:
        """Open it. *known*: names of the tables that it may hold.

        Raises:
            BackupRefused: it cannot be opened, or holds what it may not.
        """
        self._closing = contextlib.ExitStack()
        self._rows: list[FileRow] = []
        try:
            self._opened = self._open(path, key)
            # Decrypted bytes come up to a chunk's end; who reads a zip wants all it asked for.
            source: BinaryIO = (
                io.BufferedReader(self._opened, _CHUNK)
                if self._opened
                else self._closing.enter_context(path.open("rb"))
            )
            size = self._opened.size if self._opened else path.stat().st_size
            with _as_refusal():
                directory.check_end(source)
                self._zip = self._closing.enter_context(zipfile.ZipFile(source))
                self._inside = directory.look(self._zip, size, known)
            self.manifest = self._manifest()
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._closing.close()

    @property
    def unpacked(self) -> int:
        """Bytes of all that is in it."""
        return self._inside.unpacked

    @property
    def history_size(self) -> int:
        """Bytes of the history, which are written before anything is changed."""
        parts = self._inside.parts
        return sum(parts[name].file_size for name in (SNAPSHOTS, VERSIONS) if name in parts)

    def has(self, name: str) -> bool:
        """Whether it has a part of that name."""
        return name in self._inside.parts

    # Checking ------------------------------------------------------------------------------

    def check_all_bytes(self, progress: Progress = None) -> None:
        """Read every encrypted byte once. :raises BackupUnreadable: one of them is wrong."""
        if self._opened is not None:

            def tell(done: int, total: int) -> None:
                if progress is not None:
                    progress(done, total, "The file is decrypted and checked.")

            self._opened.verify(tell)

    def check_files(self, progress: Progress = None) -> None:
        """Unpack every file of the workspace, without writing it anywhere.

        Raises:
            BackupRefused: one is damaged.
        """
        total = sum(row.file_size for row in self._inside.files.values())
        done = 0
        rows = [
            FileRow(path, True, 0, directory.mode_of(row, 0o755), 0, "")  # noqa: FBT003 - a value of the row
            for path, row in self._inside.folders.items()
        ]
        for path, row in self._inside.files.items():
            digest = hashlib.sha1(b"blob %d\0" % row.file_size, usedforsecurity=False)
            for piece in self._pieces(row):
                digest.update(piece)
            mode = directory.mode_of(row, 0o644)
            rows.append(
                FileRow(path, False, row.file_size, mode, modified(row), digest.hexdigest())  # noqa: FBT003 - a value of the row
            )
            done += row.file_size
            if progress is not None:
                progress(done, total, f"{sized(done)} of {sized(total)} of files are checked.")
        self._rows = sorted(rows, key=lambda row: row.path.split("/"))

    def fetch_history(self, folder: Path) -> Histories:
        """Fetch the history into new repositories in *folder*.

        Raises:
            BackupRefused: it is damaged, or none of ours.
        """
        found: dict[str, Unbundled | None] = {SNAPSHOTS: None, VERSIONS: None}
        judges = {SNAPSHOTS: histories.judge_snapshots, VERSIONS: histories.judge_versions}
        for name, judge in judges.items():
            if not self.has(name):
                continue
            path = folder / f"{Path(name).stem}.git"
            with _as_refusal(), self._zip.open(self._inside.parts[name]) as stream:
                found[name] = fetched = unbundling.unbundle(stream.read, path)
            judge(fetched)
        return Histories(found[SNAPSHOTS], found[VERSIONS])

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a table; none when it is not there.

        Raises:
            BackupRefused: a line is no row.
        """
        if not self.has(name):
            return
        with _as_refusal(), self._zip.open(self._inside.parts[name]) as stream:
            for count in range(MOST_LINES + 1):
                data = stream.readline(MOST_LINE_BYTES + 1)
                if not data:
                    return
                yield row_of(data, f"{name}, line {count + 1}")
        raise refused(f"holds more than {MOST_LINES:,} lines in {name}")

    # A source of a restore -----------------------------------------------------------------

    def rows(self) -> Iterator[FileRow]:
        """Files and folders, a folder before what is in it (``check_files`` was called)."""
        yield from self._rows

    def below(self, folder: str) -> Iterator[FileRow]:
        """All files and folders in a folder of the workspace."""
        return (row for row in self._rows if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        """A file's content in pieces."""
        try:
            yield from self._pieces(self._inside.files[row.path])
        except (BackupRefused, KeyError) as error:
            message = f"{names.shown(row.path)} cannot be read from the backup any more."
            raise StoreBroken(message) from error

    def verify(self) -> None:
        """Every byte was read by ``check_files``; each is checked again when it is used."""

    def read(self, path: str) -> bytes:
        """A file of the workspace, whole; for the few small ones that are put together."""
        return b"".join(self._pieces(self._inside.files[path]))

    # ---------------------------------------------------------------------------------------

    def _open(self, path: Path, key: bytes | None) -> Opened | None:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise refused("is no plain file")
        if is_sealed(path):
            if key is None:
                raise BackupRefused("This backup is encrypted: its passphrase is needed.")
            return self._closing.enter_context(contextlib.closing(Opened(path, key)))
        with path.open("rb") as file:
            if file.read(len(_ZIP)) != _ZIP:
                raise BackupUnreadable
        return None

    def _pieces(self, row: zipfile.ZipInfo) -> Iterator[bytes]:
        with _as_refusal(), self._zip.open(row) as stream:
            given = 0
            while piece := stream.read(_CHUNK):
                given += len(piece)
                yield piece
            if given != row.file_size:
                raise refused(f"holds {names.shown(row.filename)} cut short")

    def _manifest(self) -> Manifest:
        row = self._inside.parts[MANIFEST]
        if row.file_size > MOST_MANIFEST_BYTES:
            raise refused("has a manifest that is too large")
        data = row_of(b"".join(self._pieces(row)), MANIFEST)
        number = data.pop("jenny backup", None)
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise refused("does not say what it is")
        if number > FORMAT:
            raise BackupRefused(
                f"This backup has format {number}; this version of Jenny reads format {FORMAT}. "
                "Nothing was changed. Update Jenny, then import it again."
            )
        return _manifest_of(data)


def check_space(free: int, needed: int) -> None:
    """Refuse what the disk has no room for. :raises BackupRefused: it has not."""
    if free < needed + SPARE_BYTES:
        raise BackupRefused(
            f"There is not enough room on the disk: {sized(needed)} are needed and {sized(free)} "
            "are free. Nothing was changed. Make room, then try again."
        )


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written to the disk of *folder*."""
    return shutil.disk_usage(folder).free


@contextlib.contextmanager
def _as_refusal() -> Iterator[None]:
    """What a damaged zip raises, as a refusal."""
    try:
        yield
    except _BROKEN as error:
        raise refused("holds a damaged zip") from error


def _manifest_of(data: dict[str, Any]) -> Manifest:
    left_out = data.pop("left_out", [])
    wanted = {row.name: row.type for row in fields(Manifest) if row.name != "left_out"}
    is_whole = data.keys() == wanted.keys() and isinstance(left_out, list)
    for name, value in data.items():
        if wanted.get(name) is int:
            is_whole = is_whole and type(value) is int and 0 <= value < 1 << 53
        else:
            is_whole = is_whole and isinstance(value, str) and len(value) <= _MOST_TEXT
    if not is_whole or not all(isinstance(row, str) for row in left_out):
        raise refused("has a damaged manifest")
    return Manifest(**data, left_out=tuple(row[:_MOST_TEXT] for row in left_out[:_MOST_TEXT]))
