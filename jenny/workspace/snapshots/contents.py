"""Reading a workspace's files for a snapshot, each as it was at one moment."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import names, paths
from jenny.workspace.errors import reason_of
from jenny.workspace.snapshots.objects import CHUNK, Sink
from jenny.workspace.snapshots.scan import Found, stamp_of
from jenny.workspace.snapshots.stamps import Stamps
from jenny.workspace.snapshots.values import Skipped

# Up to here a file is read at once, and packed only when it is new.
_SMALL = 4 * CHUNK
_TRIES = 3
# Larger files are named, not saved: git's own limit of what an id of this kind is good for.
LARGEST = 4 << 30
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Unreadable(Exception):
    """The file, not the store, could not be read."""


class Reader:
    """Gives each file's content to the store, and keeps what it was, by path."""

    def __init__(
        self, root: Path, batch: Sink, stamps: Stamps, *, trusting: bool, reread: bool
    ) -> None:
        """*trusting*: what the stamps remember is in the store for certain; else it is looked
        for there. *reread*: nothing that they remember is used."""
        self._root = root
        self._batch = batch
        self._stamps = stamps
        self._trusting = trusting
        self._reread = reread
        self.read: dict[str, tuple[Found, str]] = {}
        self.skipped: dict[str, Skipped] = {}

    def take(self, found: Found) -> None:
        """Have the content of a file stored."""
        was = self.read.get(found.path)
        if was is not None and was[0].stamp == found.stamp:
            return
        self.skipped.pop(found.path, None)
        self.read.pop(found.path, None)
        sha = None if self._reread else self._stamps.content_of(found.path, found.stamp)
        if sha is not None and (self._trusting or self._batch.knows(sha)):
            self.read[found.path] = (found, sha)
            self._stamps.carry(found.path, found.stamp, sha)
            return
        try:
            self._read(found)
        except FileNotFoundError:
            return  # removed meanwhile, which the next look sees
        except _Unreadable as error:
            self._skip(found.path, f"is skipped, since it cannot be read: {error}.")

    def remembers(self, found: Found) -> bool:
        """Whether this file, as it is now, need not be read."""
        sha = None if self._reread else self._stamps.content_of(found.path, found.stamp)
        return sha is not None and (self._trusting or self._batch.knows(sha))

    def lacks(self, found: Found) -> bool:
        """Whether this file, as it is now, has not been read."""
        was = self.read.get(found.path)
        if was is None:
            return found.path not in self.skipped
        return was[0].stamp != found.stamp

    def _skip(self, path: str, why: str) -> None:
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
            if is_still:
                self._stamps.keep(found.path, now.stamp, sha, started)
            else:
                self._skip(
                    found.path, "kept changing while it was read; it is saved as it was then."
                )
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
