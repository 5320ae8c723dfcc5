"""Encrypt a backup with AES-256-GCM in chunks, and decrypt it with random access.

A header holds the parameters of the key derivation. The nonce of each chunk holds its index and a
flag for the last chunk, and the header is associated data; so a chunk that is missing, moved, added
or from another file is detected, and so is a changed header.
"""

import io
import os
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from jenny.workspace.errors import BackupRefused, BackupUnreadable

MAGIC = b"JENNYBAK"
VERSION = 1
SCRYPT, PBKDF2 = 1, 2
TAG_BYTES = 16
KEY_BYTES = 32
CHUNK_BYTES = 256 * 1024
# Bounds of the cost of key derivation: below, guessing is cheap; above, opening a file would be a
# denial of service.
LEAST_LOG_N, MOST_LOG_N = 15, 18
MOST_P = 4
# N · r · p: the memory is 128 bytes of N · r (256 MB), the time about a second of one core.
MOST_WORK = 1 << 21
LEAST_ITERATIONS, MOST_ITERATIONS = 600_000, 10_000_000
LEAST_CHUNK, MOST_CHUNK = 4_096, 4 * 1024 * 1024
MOST_CHUNKS = (1 << 32) - 1
_HEADER = struct.Struct(">8sBBBBBxII32s7s")
HEADER_BYTES = _HEADER.size
_NONCE = struct.Struct(">7sIB")
# 64 MB and a fifth of a second.
_LOG_N, _R, _P = 16, 8, 1


@dataclass(frozen=True)
class Header:
    """The parameters of a file's key, and the length of its chunks (bytes, before encryption)."""

    kdf: int
    log_n: int
    r: int
    p: int
    iterations: int
    chunk: int
    salt: bytes
    prefix: bytes

    @classmethod
    def new(cls) -> Self:
        """Make the header of a new file, with a random salt."""
        return cls(SCRYPT, _LOG_N, _R, _P, 0, CHUNK_BYTES, os.urandom(32), os.urandom(7))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Parse the header at the beginning of a file, without deriving the key.

        Raises:
            BackupUnreadable: there is none.
            BackupRefused: it is of a newer format, or its key derivation is too expensive.
        """
        if len(data) < HEADER_BYTES or not data.startswith(MAGIC):
            raise BackupUnreadable
        _, version, *fields = _HEADER.unpack(data[:HEADER_BYTES])
        if version > VERSION:
            raise BackupRefused(
                f"This backup has format {version}; this version of Jenny reads format {VERSION}. "
                "Nothing was changed. Update Jenny, then import it again."
            )
        header = cls(*fields)
        if version != VERSION or data[13] or not header._is_sound():
            raise BackupRefused(
                "The backup's header asks for more work, or for less, than a backup of Jenny "
                "takes; it was not opened. Nothing was changed. Use the file as it was exported."
            )
        return header

    @property
    def data(self) -> bytes:
        return _HEADER.pack(
            MAGIC,
            VERSION,
            self.kdf,
            self.log_n,
            self.r,
            self.p,
            self.iterations,
            self.chunk,
            self.salt,
            self.prefix,
        )

    def derive(self, passphrase: str) -> bytes:
        """Derive the file's key. This takes about a fifth of a second and 64 MB of memory."""
        # Keyboards compose the same letters differently.
        secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
        if self.kdf == SCRYPT:
            scrypt = Scrypt(salt=self.salt, length=KEY_BYTES, n=1 << self.log_n, r=self.r, p=self.p)
            return scrypt.derive(secret)
        kdf = PBKDF2HMAC(SHA256(), KEY_BYTES, self.salt, self.iterations)
        return kdf.derive(secret)

    def nonce(self, place: int, *, is_last: bool) -> bytes:
        """Return the nonce of the chunk at an index.

        It need not be random: each file has its own key.
        """
        return _NONCE.pack(self.prefix, place, is_last)

    def _is_sound(self) -> bool:
        if not LEAST_CHUNK <= self.chunk <= MOST_CHUNK:
            return False
        if self.kdf == SCRYPT:
            costs = LEAST_LOG_N <= self.log_n <= MOST_LOG_N and 1 <= self.p <= MOST_P
            work = (1 << self.log_n) * self.r * self.p if costs else 0
            return costs and self.r == _R and work <= MOST_WORK and self.iterations == 0
        plain = (self.log_n, self.r, self.p) == (0, 0, 0)
        is_dear = LEAST_ITERATIONS <= self.iterations <= MOST_ITERATIONS
        return self.kdf == PBKDF2 and plain and is_dear


class Sealer:
    """A writer that encrypts to *file*; ``close`` writes the last chunk.

    Without ``close`` the output cannot be decrypted. *file* stays open.
    """

    def __init__(self, file: BinaryIO, header: Header, key: bytes) -> None:
        self._file = file
        self._header = header
        self._aead = AESGCM(key)
        self._aad = header.data
        self._held = bytearray()
        self._place = 0
        file.write(self._aad)

    def write(self, data: bytes | memoryview) -> int:
        """Buffer bytes; a chunk is written once there are more bytes than fit in it."""
        self._held += data
        size = self._header.chunk
        while len(self._held) > size:
            self._seal(bytes(self._held[:size]), is_last=False)
            del self._held[:size]
        return len(data)

    def flush(self) -> None:
        """Do nothing: only full chunks are written."""

    def close(self) -> None:
        """Write the last chunk, marked as the last."""
        self._seal(bytes(self._held), is_last=True)
        self._held.clear()

    def _seal(self, chunk: bytes, *, is_last: bool) -> None:
        if self._place >= MOST_CHUNKS:
            raise BackupRefused("The backup would be too large for its format. None was made.")
        nonce = self._header.nonce(self._place, is_last=is_last)
        self._file.write(self._aead.encrypt(nonce, chunk, self._aad))
        self._place += 1


_KEPT_CHUNKS = 4
type Progress = Callable[[int, int], None] | None


def is_sealed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def header_of(path: Path) -> Header:
    """Read the header of an encrypted backup.

    Raises:
        BackupUnreadable, BackupRefused: as ``Header.read``.
    """
    with path.open("rb") as file:
        return Header.read(file.read(HEADER_BYTES))


class Opened(io.RawIOBase):
    """The decrypted bytes of a file, with random access. They are never written to disk."""

    def __init__(self, path: Path, key: bytes) -> None:
        """Open the file with its key (``Header.derive``).

        Raises:
            BackupUnreadable: it is not a backup, or the key is wrong.
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
            # A last chunk that is too short for its tag fails to decrypt below.
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
        self._file.close()
        super().close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]  # of what may be written to, these two come
        """Read at most up to the end of a chunk."""
        place, start = divmod(self._at, self.header.chunk)
        if place >= self._count or not buffer:
            return 0
        piece = self._chunk(place)[start : start + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _chunk(self, place: int) -> bytes:
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
