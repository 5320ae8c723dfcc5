"""Decryption of a backup: any part of it, each chunk checked whenever it is read."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from jenny.workspace.backup.sealing import HEADER_BYTES, MAGIC, TAG_BYTES, Header
from jenny.workspace.errors import BackupUnreadable

_KEPT_CHUNKS = 4
type Progress = Callable[[int, int], None] | None


def is_sealed(path: Path) -> bool:
    """Whether the file begins like an encrypted backup."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def header_of(path: Path) -> Header:
    """The header of an encrypted backup.

    Raises:
        BackupUnreadable, BackupRefused: as ``Header.read``.
    """
    with path.open("rb") as file:
        return Header.read(file.read(HEADER_BYTES))


class Opened(io.RawIOBase):
    """The decrypted bytes of a file, read from any place. Nothing of them lies on a disk."""

    def __init__(self, path: Path, key: bytes) -> None:
        """Open the file with its key (``Header.derive``).

        Raises:
            BackupUnreadable: it is no backup, or the key is another one.
            BackupRefused: as ``Header.read``.
        """
        super().__init__()
        self._file = path.open("rb")
        try:
            self.header = Header.read(self._file.read(HEADER_BYTES))
            self._aead = AESGCM(key)
            self._aad = self.header.data
            length = os.fstat(self._file.fileno()).st_size - HEADER_BYTES
            sealed = self.header.chunk + TAG_BYTES
            # A last chunk that is too short for its seal is not opened below.
            self._count = max(1, -(-length // sealed))
            self.size = length - self._count * TAG_BYTES
            self._kept: dict[int, bytes] = {}
            self._at = 0
            self._chunk(0)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def verify(self, progress: Progress = None) -> None:
        """Read all of it once.

        Raises:
            BackupUnreadable: a chunk is damaged, missing, moved or added.
        """
        for place in range(self._count):
            self._chunk(place)
            if progress is not None:
                progress(place + 1, self._count)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        super().close()

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place that is read next."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]  # of what may be written to, these two come
        """Read up to the end of a chunk."""
        place, start = divmod(self._at, self.header.chunk)
        if place >= self._count or not buffer:
            return 0
        piece = self._chunk(place)[start : start + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _chunk(self, place: int) -> bytes:
        """The chunk at a place, decrypted."""
        kept = self._kept.get(place)
        if kept is not None:
            return kept
        sealed = self.header.chunk + TAG_BYTES
        self._file.seek(HEADER_BYTES + place * sealed)
        data = self._file.read(sealed)
        nonce = self.header.nonce(place, is_last=place == self._count - 1)
        try:
            chunk = self._aead.decrypt(nonce, data, self._aad)
        except (InvalidTag, ValueError, OverflowError) as error:
            raise BackupUnreadable from error
        if len(self._kept) >= _KEPT_CHUNKS:
            del self._kept[next(iter(self._kept))]
        self._kept[place] = chunk
        return chunk
