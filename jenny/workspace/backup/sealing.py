"""Encryption of a backup: AES-256-GCM in chunks, under a key derived from a passphrase.

A header says how the key is derived. Each chunk is sealed under a nonce that holds its place and
whether it is the last one, with the header as associated data; so a chunk that is missing, moved,
added or another file's is seen, and so is a header that somebody changed.
"""

import os
import struct
import unicodedata
from dataclasses import dataclass
from typing import BinaryIO, Self

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
# What deriving a key may cost: below, guessing is cheap; above, opening a file would be an attack.
LEAST_LOG_N, MOST_LOG_N = 15, 18
MOST_P = 4
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
    """How a file's key is derived, and how long its chunks are (bytes, before sealing)."""

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
        """A header for a new file; no two are alike."""
        return cls(SCRYPT, _LOG_N, _R, _P, 0, CHUNK_BYTES, os.urandom(32), os.urandom(7))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """The header that a file begins with; nothing is derived yet.

        Raises:
            BackupUnreadable: there is none.
            BackupRefused: it is of a newer format, or asks for absurd work.
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
        """Its bytes."""
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
        """The file's key. It takes about a fifth of a second, and 64 MB of memory."""
        # The same letters, however a keyboard puts them together.
        secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
        if self.kdf == SCRYPT:
            scrypt = Scrypt(salt=self.salt, length=KEY_BYTES, n=1 << self.log_n, r=self.r, p=self.p)
            return scrypt.derive(secret)
        kdf = PBKDF2HMAC(SHA256(), KEY_BYTES, self.salt, self.iterations)
        return kdf.derive(secret)

    def nonce(self, place: int, *, is_last: bool) -> bytes:
        """The nonce of the chunk at a place; the key is this file's alone."""
        return _NONCE.pack(self.prefix, place, is_last)

    def _is_sound(self) -> bool:
        if not LEAST_CHUNK <= self.chunk <= MOST_CHUNK:
            return False
        if self.kdf == SCRYPT:
            costs = LEAST_LOG_N <= self.log_n <= MOST_LOG_N and 1 <= self.p <= MOST_P
            return costs and self.r == _R and self.iterations == 0
        plain = (self.log_n, self.r, self.p) == (0, 0, 0)
        is_dear = LEAST_ITERATIONS <= self.iterations <= MOST_ITERATIONS
        return self.kdf == PBKDF2 and plain and is_dear


class Sealer:
    """Takes bytes, writes them encrypted to *file*; ``close`` writes the last chunk.

    Without ``close`` what was written cannot be opened. *file* stays open.
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
        """Take bytes; a chunk is written when more than one is there."""
        self._held += data
        size = self._header.chunk
        while len(self._held) > size:
            self._seal(bytes(self._held[:size]), is_last=False)
            del self._held[:size]
        return len(data)

    def flush(self) -> None:
        """Nothing is written before a chunk is full."""

    def close(self) -> None:
        """Write the last chunk, which says that it is."""
        self._seal(bytes(self._held), is_last=True)
        self._held.clear()

    def _seal(self, chunk: bytes, *, is_last: bool) -> None:
        if self._place >= MOST_CHUNKS:
            raise BackupRefused("The backup would be too large for its format. None was made.")
        nonce = self._header.nonce(self._place, is_last=is_last)
        self._file.write(self._aead.encrypt(nonce, chunk, self._aad))
        self._place += 1
