"""The directory of a zip, looked at before any of it is unpacked."""

import os
import stat
import struct
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from typing import BinaryIO

from jenny.workspace import names
from jenny.workspace.backup.places import Places
from jenny.workspace.backup.values import (
    FILES,
    MANIFEST,
    MOST_DIRECTORY_BYTES,
    MOST_ENTRIES,
    README,
    SNAPSHOTS,
    VERSIONS,
    is_too_much,
)
from jenny.workspace.errors import BackupRefused

_END, _END64 = b"PK\5\6", b"PK\6\6"
_TAIL = 65_557
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x41


@dataclass(frozen=True)
class Directory:
    """What a zip holds: files and folders of the workspace by their paths, the rest by name."""

    files: dict[str, zipfile.ZipInfo]
    folders: dict[str, zipfile.ZipInfo]
    parts: dict[str, zipfile.ZipInfo]
    unpacked: int


def refused(why: str) -> BackupRefused:
    """The refusal of a backup."""
    return BackupRefused(
        f"This backup {why}. Nothing was changed. Use a file as it was exported, or an older one."
    )


def check_end(file: BinaryIO) -> None:
    """Refuse a zip whose directory would take too much memory to be looked at.

    Raises:
        BackupRefused: it would, or this is no zip.
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


def look(archive: zipfile.ZipFile, size: int, known: Collection[str]) -> Directory:
    """Look at every entry of *archive*, which is *size* bytes long. *known*: names that parts
    beside the workspace's files may have.

    Raises:
        BackupRefused: something in it may not be; says what.
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
            _place(found, places, row)
        elif name not in allowed or name in found.parts:
            what = "twice" if name in found.parts else "which belongs to no backup"
            raise refused(f"holds {names.shown(name)}, {what}")
        else:
            found.parts[name] = row
    if MANIFEST not in found.parts:
        raise refused("does not say what it is: its manifest is missing")
    return found


def mode_of(row: zipfile.ZipInfo, default: int) -> int:
    """An entry's permissions: read, write and execute; nothing that makes a program powerful."""
    return ((row.external_attr >> 16) & 0o777) or default


def _place(found: Directory, places: Places, row: zipfile.ZipInfo) -> None:
    """Put a workspace's entry where it belongs."""
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
    """Why an entry cannot be one of ours, as the end of a sentence; empty when it can."""
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
