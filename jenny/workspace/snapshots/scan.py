"""Which files of a workspace a snapshot covers, found without following a link.

Everything is covered but git's own folders, the workspace layer's own files (locks, journals,
temporary files), links, and what is no plain file. What a person could miss is named.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from jenny.workspace import locks, names
from jenny.workspace.errors import FileMissing, SnapshotFailed, reason_of
from jenny.workspace.snapshots.values import Skipped
from jenny.workspace.stamped import Kept

# Deeper folders are no one's doing.
DEEPEST = 200
# Longer paths are looked at from a folder on their way.
_FAR = 1_000
# On a disk whose clock ticks slowly, two changes within this time may bear the same stamp.
_DOUBT_NS = 2_000_000_000
_LOCKS = frozenset(locks.LOCK_FILES.values())
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

type Stamp = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A plain file: its path from the workspace, and what changes when it changes."""

    path: str
    stamp: Stamp

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.stamp[0]

    @property
    def modified(self) -> int:
        """When it was written, in nanoseconds since 1970 (UTC)."""
        return self.stamp[1]

    @property
    def mode(self) -> int:
        """Its permission bits."""
        return stat.S_IMODE(self.stamp[3])


@dataclass(slots=True)
class Folder:
    """A folder with what is in it, by name.

    ``names``: of all that was looked at. ``stamp``: of the folder itself; ``None`` when another
    name could still come or go without its showing.
    """

    path: str
    mode: int
    files: dict[str, Found] = field(default_factory=dict)
    folders: dict[str, "Folder"] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    stamp: Stamp | None = None
    _digest: bytes = b""

    def every_file(self) -> Iterator[Found]:
        """All files in it and below."""
        yield from self.files.values()
        for folder in self.folders.values():
            yield from folder.every_file()

    def every_folder(self) -> Iterator["Folder"]:
        """It, and all folders below."""
        yield self
        for folder in self.folders.values():
            yield from folder.every_folder()

    @property
    def digest(self) -> bytes:
        """What changes when anything in it or below does; worked out once."""
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
    """A look at a workspace."""

    top: Folder
    skipped: tuple[Skipped, ...]

    @property
    def fingerprint(self) -> str:
        """What changes when any covered file, its permissions or any folder changes."""
        return self.top.digest.hex()


stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_size", "st_mtime_ns", "st_ctime_ns", "st_mode", "st_ino", "st_dev"
)
"""What changes when a file changes: size, times of writing and of change, mode, number."""


_seen: Kept[Folder] = Kept(32)


def scan(root: Path, *, anew: bool = False) -> Scan:
    """Look at the workspace at *root*.

    What this process saw the last time helps, unless it is to be looked at *anew*: every file is
    looked at all the same, but folders are not listed again whose stamp says that no name came or
    went, and a folder in which nothing changed is the very object that it was.

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
    """An open folder, and how many characters of paths lead to it."""

    fd: int
    cut: int


class _Look:
    """One look. A link put in the way meanwhile is no way out: what is seen behind it is read
    nowhere, since files are opened without following any."""

    def __init__(self) -> None:
        self.skipped: list[Skipped] = []
        self._sure = time.time_ns() - _DOUBT_NS

    def folder(self, at: _At, path: str, status: os.stat_result, was: Folder | None) -> Folder:
        """The folder *path*, which has this *status*; what vanishes meanwhile is left out."""
        stamp = stamp_of(status)
        old = _NOTHING if was is None else was
        is_same = old.stamp == stamp
        if is_same and len(old.files) == len(old.names) and _are_as_they_were(at, old):
            return old
        found = Folder(path, stat.S_IMODE(status.st_mode))
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
                sentence = (
                    f"{names.shown(inner)} is skipped, since it cannot be read: {reason_of(error)}."
                )
                self.skipped.append(Skipped(inner, sentence))
        return old if is_same and _as_many(found, old) else found

    def _below(self, at: _At, path: str, status: os.stat_result, was: Folder | None) -> Folder:
        """A folder within. Far down, paths grow too long for the system: one is opened there."""
        if len(path) - at.cut < _FAR:
            return self.folder(at, path, status, was)
        fd = os.open(path[at.cut :], _FOLDER, dir_fd=at.fd)
        try:
            return self.folder(_At(fd, len(path) + 1), path, status, was)
        finally:
            os.close(fd)


_NOTHING = Folder("", 0)


def _are_as_they_were(at: _At, folder: Folder) -> bool:
    """Whether each file of the folder has the stamp that it had."""
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
    """What is in a folder, without the layer's own."""
    fd = os.open(path[at.cut :] or ".", _FOLDER, dir_fd=at.fd)
    try:
        if not os.path.samestat(os.fstat(fd), status):
            raise FileNotFoundError  # another one stands there since
        with os.scandir(fd) as entries:
            found = sorted(entry.name for entry in entries)
    finally:
        os.close(fd)
    above = f"{path}/" if path else ""
    return tuple(name for name in found if not _is_own(name, above + name))


def _is_own(name: str, path: str) -> bool:
    return (_is_odd(name) and names.is_own(name)) or path in _LOCKS or path == "memory/.git"


def _is_odd(name: str) -> bool:
    """Whether the name may be git's or the layer's own, in whatever disguise. Most names cannot,
    and looking for disguises takes longer than everything else here."""
    return name[0] in ".gG" or not (name.isascii() and name.isprintable())


def _why_not(mode: int, name: str, path: str) -> str:
    """Why this is not covered, as the end of a sentence; empty when it is."""
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
