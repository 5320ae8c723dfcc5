"""Which files of a workspace a snapshot covers, found without following a link.

Everything is covered but git's own folders, the workspace layer's own files (locks, journals,
temporary files), links, and what is no plain file. What a person could miss is named.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jenny.workspace import locks, names
from jenny.workspace.errors import FileMissing, SnapshotFailed, reason_of
from jenny.workspace.snapshots.values import Skipped

# Each level keeps a folder open; deeper ones are no one's doing.
DEEPEST = 200
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
    """A folder with what is in it, by name."""

    path: str
    mode: int
    files: dict[str, Found] = field(default_factory=dict)
    folders: dict[str, "Folder"] = field(default_factory=dict)

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


@dataclass(frozen=True)
class Scan:
    """A look at a workspace."""

    top: Folder
    skipped: tuple[Skipped, ...]

    @property
    def fingerprint(self) -> str:
        """What changes when any covered file, its permissions or any folder changes."""
        digest = hashlib.sha256()
        for folder in self.top.every_folder():
            digest.update(b"/%s\0%o\0" % (os.fsencode(folder.path), folder.mode))
            for found in folder.files.values():
                digest.update(b"%s\0%r\0" % (os.fsencode(found.path), found.stamp))
        return digest.hexdigest()


def stamp_of(status: os.stat_result) -> Stamp:
    """What changes when a file changes: size, times of writing and of change, mode, number."""
    return (
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
        status.st_ino,
        status.st_dev,
    )


def scan(root: Path) -> Scan:
    """Look at the workspace at *root*.

    Raises:
        FileMissing: there is no such folder.
        SnapshotFailed: it may not be read.
    """
    skipped: list[Skipped] = []
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        message = f"There is no workspace folder at {root}."
        raise FileMissing(message) from error
    except OSError as error:
        message = f"The workspace folder cannot be read: {reason_of(error)}. No snapshot was taken."
        raise SnapshotFailed(message) from error
    try:
        top = Folder("", stat.S_IMODE(os.fstat(fd).st_mode))
        try:
            _look(fd, top, skipped, 0)
        except OSError as error:
            message = f"The workspace cannot be read: {reason_of(error)}. No snapshot was taken."
            raise SnapshotFailed(message) from error
    finally:
        os.close(fd)
    return Scan(top, tuple(skipped))


def _look(fd: int, folder: Folder, skipped: list[Skipped], depth: int) -> None:
    """Fill in the *folder* that *fd* is open on; what vanishes meanwhile is left out."""
    with os.scandir(fd) as entries:
        found = sorted(entry.name for entry in entries)
    for name in found:
        path = f"{folder.path}/{name}" if folder.path else name
        is_odd = _is_odd(name)
        if (is_odd and names.is_own(name)) or path in _LOCKS or path == "memory/.git":
            continue
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            why = _why_not(status.st_mode, depth, is_git=is_odd and names.is_git(name))
            if why:
                skipped.append(Skipped(path, f"{names.shown(path)} {why}"))
            elif stat.S_ISREG(status.st_mode):
                folder.files[name] = Found(path, stamp_of(status))
            else:
                inner = Folder(path, stat.S_IMODE(status.st_mode))
                _open_and_look(fd, name, inner, skipped, depth + 1)
                folder.folders[name] = inner
        except FileNotFoundError:
            continue
        except OSError as error:
            sentence = (
                f"{names.shown(path)} is skipped, since it cannot be read: {reason_of(error)}."
            )
            skipped.append(Skipped(path, sentence))


def _open_and_look(
    above: int, name: str, folder: Folder, skipped: list[Skipped], depth: int
) -> None:
    """Look into the folder *name* of the one that *above* is open on."""
    fd = os.open(name, _FOLDER, dir_fd=above)
    try:
        _look(fd, folder, skipped, depth)
    finally:
        os.close(fd)


def _is_odd(name: str) -> bool:
    """Whether the name may be git's or the layer's own, in whatever disguise. Most names cannot,
    and looking for disguises takes longer than everything else here."""
    return name[0] in ".gG" or not (name.isascii() and name.isprintable())


def _why_not(mode: int, depth: int, *, is_git: bool) -> str:
    """Why this is not covered, as the end of a sentence; empty when it is."""
    if is_git:
        return "belongs to a git repository of its own; it is neither saved nor touched."
    if stat.S_ISLNK(mode):
        return "is a link, which is skipped; put a copy in its place to have it saved."
    if stat.S_ISDIR(mode):
        return f"is skipped: it lies more than {DEEPEST} folders deep." if depth >= DEEPEST else ""
    return "" if stat.S_ISREG(mode) else "is a device, pipe or socket, which is skipped."
