"""What is to come back: the files of a snapshot, or those of a folder."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from jenny.workspace import names
from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.snapshots import reading
from jenny.workspace.snapshots.objects import CHUNK, Objects
from jenny.workspace.snapshots.scan import Found, Scan, scan
from jenny.workspace.snapshots.values import FileRow, Snapshot, counted
from jenny.workspace.snapshots.verifying import MOST


class Source(Protocol):
    """Files and folders as they are to be."""

    def rows(self) -> Iterator[FileRow]:
        """All of them, a folder before what is in it; ``sha`` is the content's id as git has it."""

    def below(self, folder: str) -> Iterator[FileRow]:
        """All files and folders in a folder of it, whatever part of it was asked for."""

    def content(self, row: FileRow) -> Iterator[bytes]:
        """A file's content in pieces; an error at the end of them says that they are wrong."""

    def verify(self) -> None:
        """Read every byte. :raises StoreBroken: something is missing or damaged; says what."""


class SnapshotSource:
    """All of a snapshot, or what it has at *path*: a folder with everything in it, or a file."""

    def __init__(self, repo: Objects, shot: Snapshot, path: str = "") -> None:
        self._repo = repo
        self.shot = shot
        self.path = path.strip("/")

    def rows(self) -> Iterator[FileRow]:
        """See ``Source``.

        Raises:
            SnapshotUnknown: the snapshot has nothing at that path.
            StoreBroken: it is damaged.
        """
        if not self.path:
            yield from reading.every(self._repo, self.shot)
            return
        try:
            inner = list(reading.every(self._repo, self.shot, self.path))
        except SnapshotUnknown:
            yield reading.file(self._repo, self.shot, self.path)
            return
        yield self._itself()
        yield from inner

    def below(self, folder: str) -> Iterator[FileRow]:
        """See ``Source``. :raises SnapshotUnknown: there is no such folder."""
        return reading.every(self._repo, self.shot, folder)

    def content(self, row: FileRow) -> Iterator[bytes]:
        """See ``Source``."""
        return reading.content(self._repo, row)

    def verify(self) -> None:
        """See ``Source``."""
        files = (row for row in self.rows() if not row.is_folder)
        lost = [names.shown(row.path) for row in files if not self._repo.is_whole(row.sha)]
        if lost:
            raise StoreBroken(
                f"Snapshot {self.shot.id} is damaged: {counted(len(lost), 'file')} cannot be "
                f"read, such as {', '.join(lost[:MOST])}. Nothing was restored. "
                "`manage.py check_workspace --repair` saves anew what the workspace still has."
            )

    def _itself(self) -> FileRow:
        """The row of the folder that was asked for."""
        above = self.path.rpartition("/")[0]
        rows = reading.folder(self._repo, self.shot, above)
        return next(row for row in rows if row.path == self.path)


class FolderSource:
    """The files of a folder that somebody unpacked, links and odd things left out."""

    def __init__(self, folder: Path) -> None:
        """*folder*: a real folder; it stays as it is until the restore is over."""
        self._folder = folder
        self._looked: Scan | None = None

    def rows(self) -> Iterator[FileRow]:
        """See ``Source``."""
        if self._looked is None:
            self._looked = scan(self._folder)
        for folder in self._looked.top.every_folder():
            if folder.path:
                yield FileRow(folder.path, True, 0, folder.mode, 0, "")  # noqa: FBT003 - a value of the row
            for found in folder.files.values():
                sha = self._id_of(found)
                yield FileRow(found.path, False, found.size, found.mode, found.modified, sha)  # noqa: FBT003 - a value of the row

    def below(self, folder: str) -> Iterator[FileRow]:
        """See ``Source``."""
        return (row for row in self.rows() if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        """See ``Source``."""
        fd = os.open(self._folder / row.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise StoreBroken(f"{names.shown(row.path)} is no plain file any more.")
            while piece := file.read(CHUNK):
                yield piece

    def verify(self) -> None:
        """Nothing is to be verified: whoever unpacked it has."""

    def _id_of(self, found: Found) -> str:
        digest = hashlib.sha1(b"blob %d\0" % found.size, usedforsecurity=False)
        with (self._folder / found.path).open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
        return digest.hexdigest()
