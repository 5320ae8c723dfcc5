"""Validate a whole backup: decrypt, unpack and check it before anything is changed."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Self

from jenny.workspace import names, stat_signature
from jenny.workspace.backup import bundles, histories
from jenny.workspace.backup.bundles import Unbundled
from jenny.workspace.backup.encryption import DecryptedFile, is_encrypted
from jenny.workspace.backup.format import (
    FILES,
    FORMAT,
    MANIFEST,
    MOST_DIRECTORY_BYTES,
    MOST_ENTRIES,
    MOST_LINE_BYTES,
    MOST_LINES,
    MOST_MANIFEST_BYTES,
    README,
    SNAPSHOTS,
    SPARE_BYTES,
    VERSIONS,
    Manifest,
    Places,
    is_too_much,
)
from jenny.workspace.errors import BackupRefused, BackupUnreadable, StoreBroken
from jenny.workspace.snapshots.values import FileRow, sized

_END, _END64 = b"PK\5\6", b"PK\6\6"
_TAIL = 65_557
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x41


@dataclass(frozen=True)
class Directory:
    """The entries of a zip: files and folders of the workspace by path, the others by name."""

    files: dict[str, zipfile.ZipInfo]
    folders: dict[str, zipfile.ZipInfo]
    parts: dict[str, zipfile.ZipInfo]
    unpacked: int


def refused(why: str) -> BackupRefused:
    return BackupRefused(
        f"This backup {why}. Nothing was changed. Use a file as it was exported, or an older one."
    )


def check_end(file: BinaryIO) -> None:
    """Refuse a zip whose directory would take too much memory to read.

    Raises:
        BackupRefused: it would, or the file is not a zip.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    at = tail.rfind(_END)
    try:
        if at < 0:
            raise refused("holds no zip")
        count, length = struct.unpack_from("<HI", tail, at + 10)
        at64 = tail.rfind(_END64, 0, at)
        if at64 >= 0:
            count, length = struct.unpack_from("<QQ", tail, at64 + 32)
    except struct.error as error:
        raise refused("holds a damaged zip") from error
    if length > MOST_DIRECTORY_BYTES or count > MOST_ENTRIES:
        raise refused(f"has more than {MOST_ENTRIES:,} entries")


def read_directory(archive: zipfile.ZipFile, size: int, known: Collection[str]) -> Directory:
    """Check every entry of *archive* (*size* in bytes). *known*: allowed names besides files.

    Raises:
        BackupRefused: an entry is not allowed; the sentence says which.
    """
    rows = archive.infolist()
    if len(rows) > MOST_ENTRIES:
        raise refused(f"has more than {MOST_ENTRIES:,} entries")
    allowed = {MANIFEST, README, SNAPSHOTS, VERSIONS, *known}
    found = Directory({}, {}, {}, sum(row.file_size for row in rows))
    if is_too_much(found.unpacked, size) or sum(row.compress_size for row in rows) > size:
        raise refused("unpacks to far more than it is long")
    places = Places()
    for row in rows:
        if why := _odd(row):
            raise refused(f"holds {names.shown(row.orig_filename)}, which {why}")
        name = row.filename
        if name.startswith(FILES):
            _add_row(found, places, row)
        elif name not in allowed or name in found.parts:
            what = "twice" if name in found.parts else "which belongs to no backup"
            raise refused(f"holds {names.shown(name)}, {what}")
        else:
            found.parts[name] = row
    if MANIFEST not in found.parts:
        raise refused("does not say what it is: its manifest is missing")
    return found


def mode_of(row: zipfile.ZipInfo, default: int) -> int:
    """Return an entry's permissions: only read, write and execute, no setuid or setgid."""
    return ((row.external_attr >> 16) & 0o777) or default


def _add_row(found: Directory, places: Places, row: zipfile.ZipInfo) -> None:
    path = row.filename.removeprefix(FILES)
    if not path:
        return
    is_folder = path.endswith("/")
    path = path[:-1] if is_folder else path
    if is_folder and path in found.folders:
        raise refused(f"holds {names.shown(path)} twice")
    if why := places.problem(path, is_folder=is_folder):
        raise refused(f"holds {names.shown(path)}, which {why}")
    (found.folders if is_folder else found.files)[path] = row


def _odd(row: zipfile.ZipInfo) -> str:
    """Return why an entry cannot be from a backup, as the end of a sentence; empty when it can."""
    kind = stat.S_IFMT(row.external_attr >> 16)
    if row.orig_filename != row.filename:
        return "hides a part of its name"
    if row.flag_bits & _ENCRYPTED:
        return "has a password of its own"
    if row.compress_type not in _METHODS:
        return "is packed in a way that Jenny does not read"
    is_folder = row.filename.endswith("/")
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        return "is a link" if kind == stat.S_IFLNK else "is no plain file"
    if is_folder and row.file_size:
        return "is a folder with a content"
    return ""


def row_of(data: bytes, where: str) -> dict[str, Any]:
    """Parse a line of JSON: an object that a database can store."""
    if len(data) > MOST_LINE_BYTES:
        raise refused(f"is damaged at {where}")
    try:
        row = json.loads(data.decode("utf-8"), parse_constant=_no_number)
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise refused(f"is damaged at {where}") from error
    # A text may mention a NUL; none may contain one, since databases refuse it.
    if not isinstance(row, dict) or (b"\\u0000" in data and _has_nul(row)):
        raise refused(f"is damaged at {where}")
    return row


def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_nul(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\0" in value


def _no_number(text: str) -> None:
    """Refuse Infinity and NaN, which are not JSON."""
    raise ValueError(text)


_CHUNK = 1 << 20
_ZIP = b"PK"
_MOST_TEXT = 1_000
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)

type Progress = Callable[[int, int, str], None] | None


@dataclass(frozen=True)
class Histories:
    """The fetched history; ``None``: the backup has none of that kind."""

    snapshots: Unbundled | None = None
    versions: Unbundled | None = None


class Backup:
    """An open backup, encrypted or a plain zip. Use it as a context manager.

    It is a ``Source`` of a restore once ``check_files`` has read every byte.
    """

    def __init__(self, path: Path, key: bytes | None, known: Collection[str]) -> None:
        """Open the backup. *known*: names of the tables that it may hold.

        Raises:
            BackupRefused: it cannot be opened, or an entry is not allowed.
        """
        self._closing = contextlib.ExitStack()
        self._rows: list[FileRow] = []
        try:
            self._opened = self._open(path, key)
            # Decrypted reads stop at the end of a chunk; ``zipfile`` expects all the bytes it asked
            # for.
            source: BinaryIO = (
                io.BufferedReader(self._opened, _CHUNK)
                if self._opened
                else self._closing.enter_context(path.open("rb"))
            )
            size = self._opened.size if self._opened else path.stat().st_size
            with _as_refusal():
                check_end(source)
                self._zip = self._closing.enter_context(zipfile.ZipFile(source))
                self._inside = read_directory(self._zip, size, known)
            self.manifest = self._manifest()
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    @property
    def unpacked(self) -> int:
        """The size in bytes when everything is unpacked."""
        return self._inside.unpacked

    @property
    def history_size(self) -> int:
        """The size of the history in bytes, which is written before anything is changed."""
        parts = self._inside.parts
        return sum(parts[name].file_size for name in (SNAPSHOTS, VERSIONS) if name in parts)

    def has(self, name: str) -> bool:
        return name in self._inside.parts

    # Checking ------------------------------------------------------------------------------

    def check_all_bytes(self, progress: Progress = None) -> None:
        """Read every encrypted byte once. :raises BackupUnreadable: one of them is wrong."""
        if self._opened is not None:

            def report(done: int, total: int) -> None:
                if progress is not None:
                    progress(done, total, "The file is decrypted and checked.")

            self._opened.verify(report)

    def check_files(self, progress: Progress = None) -> None:
        """Unpack every file of the workspace, without writing it anywhere.

        Raises:
            BackupRefused: one is damaged.
        """
        total = sum(row.file_size for row in self._inside.files.values())
        done = 0
        rows = [
            FileRow(path, True, 0, mode_of(row, 0o755), None, "")  # noqa: FBT003 - a value of the row
            for path, row in self._inside.folders.items()
        ]
        for path, row in self._inside.files.items():
            digest = hashlib.sha1(b"blob %d\0" % row.file_size, usedforsecurity=False)
            for piece in self._pieces(row):
                digest.update(piece)
            mode = mode_of(row, 0o644)
            when, sha = stat_signature.zip_time(row), digest.hexdigest()
            rows.append(FileRow(path, False, row.file_size, mode, when, sha))  # noqa: FBT003 - a value of the row
            done += row.file_size
            if progress is not None:
                progress(done, total, f"{sized(done)} of {sized(total)} of files are checked.")
        self._rows = sorted(rows, key=lambda row: row.path.split("/"))

    def fetch_history(self, folder: Path) -> Histories:
        """Fetch the history into new repositories in *folder*.

        Raises:
            BackupRefused: it is damaged, or not Jenny's.
        """
        found: dict[str, Unbundled | None] = {SNAPSHOTS: None, VERSIONS: None}
        validators = {
            SNAPSHOTS: histories.validate_snapshots,
            VERSIONS: histories.validate_versions,
        }
        for name, validate in validators.items():
            if not self.has(name):
                continue
            path = folder / f"{Path(name).stem}.git"
            with _as_refusal(), self._zip.open(self._inside.parts[name]) as stream:
                found[name] = fetched = bundles.unbundle(stream.read, path)
            validate(fetched)
        return Histories(found[SNAPSHOTS], found[VERSIONS])

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Read the rows of a table; none when it does not exist.

        Raises:
            BackupRefused: a line is invalid.
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

    # For a restore ------------------------------------------------------------------------

    def rows(self) -> Iterator[FileRow]:
        """List files and folders, a folder before its contents.

        ``check_files`` must have been called.
        """
        yield from self._rows

    def below(self, folder: str) -> Iterator[FileRow]:
        """List all files and folders below a folder of the workspace."""
        return (row for row in self._rows if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        try:
            yield from self._pieces(self._inside.files[row.path])
        except (BackupRefused, KeyError) as error:
            message = f"{names.shown(row.path)} cannot be read from the backup any more."
            raise StoreBroken(message) from error

    def verify(self) -> None:
        """Do nothing: ``check_files`` read every byte, and reading a file checks it again."""

    def read(self, path: str) -> bytes:
        """Read a whole file of the workspace; for the few small ones that are merged."""
        return b"".join(self._pieces(self._inside.files[path]))

    # ---------------------------------------------------------------------------------------

    def _open(self, path: Path, key: bytes | None) -> DecryptedFile | None:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise refused("is no plain file")
        if is_encrypted(path):
            if key is None:
                raise BackupRefused("This backup is encrypted: its passphrase is needed.")
            return self._closing.enter_context(contextlib.closing(DecryptedFile(path, key)))
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
    """Refuse to continue without enough free space. :raises BackupRefused: there is not enough."""
    if free < needed + SPARE_BYTES:
        raise BackupRefused(
            f"There is not enough room on the disk: {sized(needed)} are needed and {sized(free)} "
            "are free. Nothing was changed. Make room, then try again."
        )


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@contextlib.contextmanager
def _as_refusal() -> Iterator[None]:
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
