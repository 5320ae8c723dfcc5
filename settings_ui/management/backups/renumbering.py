"""A backup whose history speaks of conversations and messages by their numbers here."""

import hashlib
from collections.abc import Iterator

from jenny.chat.backup import anchors
from jenny.chat.models.importing import Merged
from jenny.workspace.backup.checking import Backup
from jenny.workspace.snapshots.values import FileRow
from memory.merging import is_history


class Renumbered:
    """A backup whose history speaks of conversations and messages by our numbers."""

    def __init__(self, backup: Backup, merged: Merged) -> None:
        self._backup = backup
        self._data: dict[str, bytes] = {}
        self._rows: list[FileRow] = []
        for row in backup.rows():
            self._rows.append(self._changed(row, merged) if is_history(row.path) else row)

    def rows(self) -> Iterator[FileRow]:
        """Files and folders, a folder before what is in it."""
        yield from self._rows

    def below(self, folder: str) -> Iterator[FileRow]:
        """All of them in a folder."""
        return (row for row in self._rows if row.path.startswith(f"{folder}/"))

    def content(self, row: FileRow) -> Iterator[bytes]:
        """A file's content in pieces."""
        if row.path in self._data:
            yield self._data[row.path]
        else:
            yield from self._backup.content(row)

    def verify(self) -> None:
        """Every byte was read when it was checked."""

    def _changed(self, row: FileRow, merged: Merged) -> FileRow:
        if row.is_folder or not row.path.endswith(".jsonl"):
            return row
        data = self._backup.read(row.path)
        own = anchors.rewritten(data, merged.chats, merged.numbers)
        if own == data:
            return row
        self._data[row.path] = own
        digest = hashlib.sha1(b"blob %d\0" % len(own), usedforsecurity=False)
        digest.update(own)
        return FileRow(row.path, False, len(own), row.mode, row.modified, digest.hexdigest())  # noqa: FBT003 - a value of the row
