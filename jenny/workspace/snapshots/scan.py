"""Scan the files that a snapshot covers, and cache their content ids by stat signature.

Everything is covered except git's own folders, the workspace layer's own files (locks, journals,
temporary files), links, and special files. Skipped files that a person could miss are listed.

The cache is beside the store: when it is lost or damaged, every file is read again. A file that was
written within the last seconds before it was read is not cached, since on a disk with a coarse
clock it could change again with the same signature.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from jenny.workspace import locks, names
from jenny.workspace.errors import FileMissing, SnapshotFailed, reason_of
from jenny.workspace.file_cache import Kept
from jenny.workspace.git.objects import is_id
from jenny.workspace.snapshots.values import Skipped

# Nobody makes deeper folders.
DEEPEST = 200
# Longer paths are opened from a parent folder's descriptor.
_FAR = 1_000
# On a disk with a coarse clock, two changes within this time may have the same signature.
_DOUBT_NS = 2_000_000_000
_LOCKS = frozenset(locks.LOCK_FILES.values())
# A folder may be setgid; no restored file may be setuid or setgid.
FILE_MODES, FOLDER_MODES = 0o1777, 0o3777
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

type FileStatus = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A plain file: its path from the workspace, and its stat signature."""

    path: str
    stamp: FileStatus

    @property
    def size(self) -> int:
        return self.stamp[0]

    @property
    def modified(self) -> int:
        """The modification time in nanoseconds since 1970 (UTC)."""
        return self.stamp[1]

    @property
    def mode(self) -> int:
        return self.stamp[3] & FILE_MODES


@dataclass(slots=True)
class Folder:
    """A folder with its contents, by name.

    ``names``: of all entries. ``stamp``: the folder's own signature; ``None`` when an entry could
    still be added or removed without changing it.
    """

    path: str
    mode: int
    files: dict[str, Found] = field(default_factory=dict)
    folders: dict[str, "Folder"] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    stamp: FileStatus | None = None
    _digest: bytes = b""

    def every_file(self) -> Iterator[Found]:
        yield from self.files.values()
        for folder in self.folders.values():
            yield from folder.every_file()

    def every_folder(self) -> Iterator["Folder"]:
        yield self
        for folder in self.folders.values():
            yield from folder.every_folder()

    @property
    def digest(self) -> bytes:
        """A value that changes when anything in it or below changes; computed once."""
        if not self._digest:
            digest = hashlib.sha256(b"%o\0" % self.mode)
            for name, found in self.files.items():
                digest.update(b"%s\0%r\0" % (os.fsencode(name), found.stamp))
            for name, folder in self.folders.items():
                digest.update(b"/%s\0%s" % (os.fsencode(name), folder.digest))
            self._digest = digest.digest()
        return self._digest


@dataclass(frozen=True)
class Scan:
    top: Folder
    skipped: tuple[Skipped, ...]

    @property
    def fingerprint(self) -> str:
        """A value that changes when any covered file, its permissions or any folder changes."""
        return self.top.digest.hex()


stamp_of: Callable[[os.stat_result], FileStatus] = attrgetter(
    "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode", "st_ino", "st_dev"
)
"""Returns a file's signature: size, modification and change times, mode, inode."""


_seen: Kept[Folder] = Kept(32)


def scan(root: Path, *, anew: bool = False) -> Scan:
    """Scan the workspace at *root*.

    The previous scan of this process is reused, unless *anew*: every file's status is still read,
    but folders whose signature shows no added or removed name are not listed again, and an
    unchanged folder is the very same object.

    Raises:
        FileMissing: there is no such folder.
        SnapshotFailed: it may not be read.
    """
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        message = f"There is no workspace folder at {root}."
        raise FileMissing(message) from error
    except OSError as error:
        message = f"The workspace folder cannot be read: {reason_of(error)}. No snapshot was taken."
        raise SnapshotFailed(message) from error
    look = _Look()
    try:
        earlier = None if anew else _seen.get(str(root))
        top = look.folder(_At(fd, 0), "", os.fstat(fd), earlier)
    except OSError as error:
        message = f"The workspace cannot be read: {reason_of(error)}. No snapshot was taken."
        raise SnapshotFailed(message) from error
    finally:
        os.close(fd)
    _seen.put(str(root), top)
    return Scan(top, tuple(look.skipped))


class _At(NamedTuple):
    """An open folder, and the length of its path from the root."""

    fd: int
    cut: int


class _Look:
    """One scan.

    A link created meanwhile gives no access to anything outside: files are opened without following
    links.
    """

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self._sure = time.time_ns() - _DOUBT_NS

    def folder(self, at: _At, path: str, status: os.stat_result, was: Folder | None) -> Folder:
        """Scan the folder *path* with this *status*; entries that vanish meanwhile are left out."""
        stamp = stamp_of(status)
        old = _NOTHING if was is None else was
        is_same = old.stamp == stamp
        if is_same and len(old.files) == len(old.names) and _are_as_they_were(at, old):
            return old
        found = Folder(path, status.st_mode & FOLDER_MODES)
        found.names = old.names if is_same else _names(at, path, status)
        found.stamp = stamp if max(stamp[1], stamp[2]) < self._sure else None
        for name in found.names:
            inner = f"{path}/{name}" if path else name
            try:
                status = os.lstat(inner[at.cut :], dir_fd=at.fd)
                stamp, there = stamp_of(status), old.files.get(name)
                if there is not None and there.stamp == stamp:
                    found.files[name] = there
                elif why := _why_not(status.st_mode, name, inner):
                    self.skipped.append(Skipped(inner, f"{names.shown(inner)} {why}"))
                elif stat.S_ISREG(status.st_mode):
                    found.files[name], is_same = Found(inner, stamp), False
                else:
                    before = old.folders.get(name)
                    found.folders[name] = self._below(at, inner, status, before)
                    is_same = is_same and found.folders[name] is before
            except FileNotFoundError:
                continue
            except OSError as error:
                message = (
                    f"{names.shown(inner)} is skipped, since it cannot be read: {reason_of(error)}."
                )
                self.skipped.append(Skipped(inner, message))
        return old if is_same and _as_many(found, old) else found

    def _below(self, at: _At, path: str, status: os.stat_result, was: Folder | None) -> Folder:
        """Scan a subfolder.

        Very deep paths are too long for the system, so a folder is opened there.
        """
        if len(path) - at.cut < _FAR:
            return self.folder(at, path, status, was)
        fd = os.open(path[at.cut :], _FOLDER, dir_fd=at.fd)
        try:
            return self.folder(_At(fd, len(path) + 1), path, status, was)
        finally:
            os.close(fd)


_NOTHING = Folder("", 0)


def _are_as_they_were(at: _At, folder: Folder) -> bool:
    """True when each file of the folder has its earlier signature."""
    stamp, look, fd, cut = stamp_of, os.lstat, at.fd, at.cut
    try:
        for found in folder.files.values():
            if stamp(look(found.path[cut:], dir_fd=fd)) != found.stamp:
                return False
    except OSError:
        return False
    return True


def _as_many(one: Folder, other: Folder) -> bool:
    return len(one.files) == len(other.files) and len(one.folders) == len(other.folders)


def _names(at: _At, path: str, status: os.stat_result) -> tuple[str, ...]:
    fd = os.open(path[at.cut :] or ".", _FOLDER, dir_fd=at.fd)
    try:
        if not os.path.samestat(os.fstat(fd), status):
            raise FileNotFoundError  # it was replaced meanwhile
        with os.scandir(fd) as entries:
            found = sorted(entry.name for entry in entries)
    finally:
        os.close(fd)
    above = f"{path}/" if path else ""
    return tuple(name for name in found if not _is_own(name, above + name))


def _is_own(name: str, path: str) -> bool:
    return (_is_odd(name) and names.is_own(name)) or path in _LOCKS or path == "memory/.git"


def _is_odd(name: str) -> bool:
    """True when the name may be git's or the layer's own, in any disguise.

    A fast first test: the full one would take longer than the rest of the scan.
    """
    return name[0] in ".gG" or not (name.isascii() and name.isprintable())


def _why_not(mode: int, name: str, path: str) -> str:
    """Return why the entry is not covered, as the end of a sentence; empty when it is."""
    if _is_odd(name) and names.is_git(name):
        return "belongs to a git repository of its own; it is neither saved nor touched."
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "is a link, which is skipped; put a copy in its place to have it saved."
    if not stat.S_ISDIR(mode):
        return "is a device, pipe or socket, which is skipped."
    is_deep = path.count("/") >= DEEPEST
    return f"is skipped: it lies more than {DEEPEST} folders deep." if is_deep else ""


STAT_CACHE = "stamps.json"
_FORM = 1


class StatCache:
    """Paths with their signatures and content ids.

    ``tree``: the files of the snapshot that was saved with them, which has all these contents.
    """

    def __init__(self, path: Path) -> None:
        """Read the cache file *path*; on any error the cache is empty."""
        self._rows: dict[str, tuple[FileStatus, str]] = {}
        self.tree = ""
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            kept = json.loads(path.read_bytes())
            if kept["form"] == _FORM:
                self._rows = {
                    name: (tuple(row[:6]), row[6])
                    for name, row in kept["files"].items()
                    if is_id(row[6])
                }
                self.tree = str(kept["tree"])

    def content_of(self, path: str, stamp: FileStatus) -> str | None:
        """Return the content id of a file with this signature; ``None``: it must be read."""
        row = self._rows.get(path)
        return row[1] if row is not None and row[0] == stamp else None


def is_racy(stamp: FileStatus, read_at: int) -> bool:
    """True when a file read at *read_at* (ns since 1970) may change with the same signature."""
    return max(stamp[1], stamp[2]) + _DOUBT_NS >= read_at


def save_stat_cache(path: Path, tree: str, rows: Iterable[tuple[str, FileStatus, str]]) -> None:
    """Write the contents of files to the cache file *path*; errors are ignored.

    *tree*: the id of the snapshot's files.
    """
    files = {name: [*stamp, sha] for name, stamp, sha in rows}
    temp = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temp.write_text(json.dumps({"form": _FORM, "tree": tree, "files": files}), encoding="ascii")
        os.rename(temp, path)  # noqa: PTH104  (one call to watch)
    except OSError:
        with contextlib.suppress(OSError):
            temp.unlink()
