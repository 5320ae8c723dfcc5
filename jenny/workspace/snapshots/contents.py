"""Reading a workspace's files for a snapshot, each as it was at one moment."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from jenny.workspace import names, paths
from jenny.workspace.errors import reason_of
from jenny.workspace.snapshots.objects import CHUNK, Sink
from jenny.workspace.snapshots.scan import Found, Stamp, stamp_of
from jenny.workspace.snapshots.stamps import is_doubtful
from jenny.workspace.snapshots.values import Skipped

# Up to here a file is read at once, and packed only when it is new.
_SMALL = 4 * CHUNK
_TRIES = 3
# Larger files are named, not saved: git's own limit of what an id of this kind is good for.
LARGEST = 4 << 30
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Unreadable(Exception):
    """The file, not the store, could not be read."""


type Known = Callable[[str, Stamp], str | None]
"""The id of the content that a file had when it had this stamp, if that is known."""


def unknown(path: str, stamp: Stamp) -> None:
    """Nothing is known of any file."""


class Reader:
    """Gives each file's content to the store, and keeps what it was, by path. ``doubted``: files
    that must be read again by whoever comes next, even if their stamps stand."""

    def __init__(self, root: Path, batch: Sink, known: Known, *, trusting: bool) -> None:
        """*trusting*: what is known is in the store for certain; else it is looked for there."""
        self._root = root
        self._batch = batch
        self._known = known
        self._trusting = trusting
        self.read: dict[str, tuple[Found, str]] = {}
        self.skipped: dict[str, Skipped] = {}
        self.doubted: set[str] = set()

    def take(self, found: Found) -> None:
        """Have the content of a file stored."""
        was = self.read.get(found.path)
        if was is not None and was[0].stamp == found.stamp:
            return
        self.skipped.pop(found.path, None)
        self.read.pop(found.path, None)
        self.doubted.discard(found.path)
        if sha := self._remembered(found):
            self.read[found.path] = (found, sha)
            return
        try:
            self._read(found)
        except FileNotFoundError:
            return  # removed meanwhile, which the next look sees
        except _Unreadable as error:
            self._skip(found.path, f"is skipped, since it cannot be read: {error}.")

    def remembers(self, found: Found) -> bool:
        """Whether this file, as it is now, need not be read."""
        return self._remembered(found) is not None

    def _remembered(self, found: Found) -> str | None:
        sha = self._known(found.path, found.stamp)
        return sha if sha is not None and (self._trusting or self._batch.knows(sha)) else None

    def lacks(self, found: Found) -> bool:
        """Whether this file, as it is now, has not been read."""
        was = self.read.get(found.path)
        if was is None:
            return found.path not in self.skipped
        return was[0].stamp != found.stamp

    def _skip(self, path: str, why: str) -> None:
        self.doubted.add(path)
        self.skipped[path] = Skipped(path, f"{names.shown(path)} {why}")

    def _read(self, found: Found) -> None:
        """Read a file, again if it changes meanwhile."""
        for attempt in range(_TRIES):
            started = time.time_ns()
            fd = self._open(found.path)
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise FileNotFoundError
                if status.st_size > LARGEST:
                    return self._skip(found.path, "is skipped: it is larger than 4 GB.")
                sha = self._store(fd, status.st_size)
                is_still = stamp_of(os.fstat(fd)) == stamp_of(status)
            finally:
                os.close(fd)
            if sha is None or not (is_still or attempt == _TRIES - 1):
                continue
            now = Found(found.path, stamp_of(status))
            self.read[found.path] = (now, sha)
            if not is_still:
                self._skip(
                    found.path, "kept changing while it was read; it is saved as it was then."
                )
            elif is_doubtful(now.stamp, started):
                self.doubted.add(found.path)
            return None
        return self._skip(found.path, "is skipped: it kept shrinking while it was read.")

    def _store(self, fd: int, size: int) -> str | None:
        """Give *size* bytes to the store; the id, or ``None`` when there were fewer."""
        if size > _SMALL:
            return self._batch.add_stream(size, _pieces(fd, size))
        data = b"".join(_pieces(fd, size))
        return self._batch.add("blob", data) if len(data) == size else None

    def _open(self, path: str) -> int:
        """A descriptor of the file, opened without following any link."""
        *folders, name = path.split("/")
        try:
            with paths.open_folder(self._root, tuple(folders)) as folder:
                return os.open(name, _FLAGS, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError from error
        except OSError as error:
            raise _Unreadable(reason_of(error)) from error


def _pieces(fd: int, size: int) -> Iterator[bytes]:
    """The first *size* bytes of a file; fewer when there are not so many."""
    left = size
    while left:
        try:
            piece = os.read(fd, min(CHUNK, left))
        except OSError as error:
            raise _Unreadable(reason_of(error)) from error
        if not piece:
            return
        left -= len(piece)
        yield piece
