"""Encrypted backups: a plain zip inside an age file (age-encryption.org/v1) with a passphrase.

A file is written as a stream and decrypted with random access, as a zip needs. The nonce of each
chunk holds its index and a flag for the last chunk, so a chunk that is missing, moved, added or
from another file is detected. Files of the format before age are still opened.
"""

import base64
import hmac
import io
import os
import re
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from jenny.workspace.errors import BackupRefused, BackupUnreadable

CHUNK_BYTES = 64 * 1024
TAG_BYTES = 16
# scrypt with 128 · r · 2ⁿ bytes of memory: 64 MB and a fifth of a second for files of Jenny; the
# age command takes 256 MB. More would be a denial of service.
LOG_N, MOST_LOG_N = 16, 18
_VERSION = b"age-encryption.org/v1\n"
_LABEL = b"age-encryption.org/v1/scrypt"
_HEADER = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt (?P<salt>[A-Za-z0-9+/]{22}) (?P<log_n>[1-9][0-9]?)\n"
    rb"(?P<wrapped>[A-Za-z0-9+/]{43})\n--- (?P<mac>[A-Za-z0-9+/]{43})\n"
)
_MAC_BYTES = 45  # with the space before it and the end of the line
_HEADER_BYTES = 256
_RANDOM_BYTES = 16  # of the key of a file, of a salt, of the nonce before the chunks
# Files before age: this, a salt (32 bytes), a prefix of the nonces (7), chunks of AES-256-GCM.
_OLD_MAGIC, _OLD_CHUNK_BYTES = b"JENNYBAK", 256 * 1024
_OLD_START = struct.pack(">8sBBBBBxII", _OLD_MAGIC, 1, 1, 16, 8, 1, 0, _OLD_CHUNK_BYTES)
_OLD_SALT, _OLD_PREFIX = slice(22, 54), slice(54, 61)
_OLD_BYTES = 61


@dataclass(frozen=True)
class Header:
    """The beginning of an encrypted file. *wrapped* is its key, encrypted; empty before age."""

    data: bytes
    salt: bytes
    log_n: int
    wrapped: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Parse the header in the first bytes of a file, without deriving its key.

        Raises:
            BackupUnreadable: there is none.
            BackupRefused: its key derivation is too expensive, or it has no passphrase.
        """
        if data.startswith(_OLD_MAGIC):
            return cls._parse_old(data)
        found = _HEADER.match(data)
        if found is None:
            if not data.startswith(_VERSION + b"-> ") or b"-> scrypt " in data:
                raise BackupUnreadable
            raise BackupRefused(
                "This file is encrypted for a key and not with a passphrase. Nothing was changed. "
                "Decrypt it with the age command, then import the zip."
            )
        salt, log_n, wrapped = found["salt"], int(found["log_n"]), found["wrapped"]
        if log_n > MOST_LOG_N:
            raise BackupRefused(
                "To try a passphrase on this backup would take more than 256 MB of memory; it was "
                "not opened. Nothing was changed. Use the file as it was exported, or decrypt it "
                "with the age command and import the zip."
            )
        return cls(found[0], _LABEL + _unbase64(salt), log_n, _unbase64(wrapped))

    @classmethod
    def _parse_old(cls, data: bytes) -> Self:
        if len(data) < _OLD_BYTES:
            raise BackupUnreadable
        if not data.startswith(_OLD_START):
            raise BackupRefused(
                "The backup's header differs from those that Jenny wrote; it was not opened. "
                "Nothing was changed. Use the file as it was exported."
            )
        return cls(data[:_OLD_BYTES], data[_OLD_SALT], LOG_N)

    def derive(self, passphrase: str) -> bytes:
        """Derive the file's key; the memory that this takes is 2ⁿ kilobytes.

        Raises:
            BackupUnreadable: the passphrase is wrong. Before age, only ``DecryptedFile`` can tell.
        """
        stretched = _stretch(passphrase, self.salt, self.log_n)
        if not self.wrapped:
            return stretched
        try:
            return ChaCha20Poly1305(stretched).decrypt(bytes(12), self.wrapped, None)
        except InvalidTag as error:
            raise BackupUnreadable from error


@dataclass(frozen=True)
class FileKey:
    """The header and the key of a new file."""

    header: bytes
    key: bytes

    @classmethod
    def new(cls, passphrase: str) -> Self:
        """Make a key for one file. This takes about a fifth of a second and 64 MB of memory."""
        key, salt = os.urandom(_RANDOM_BYTES), os.urandom(_RANDOM_BYTES)
        wrapping = ChaCha20Poly1305(_stretch(passphrase, _LABEL + salt, LOG_N))
        wrapped = _base64(wrapping.encrypt(bytes(12), key, None))
        start = b"%s-> scrypt %s %d\n%s\n---" % (_VERSION, _base64(salt), LOG_N, wrapped)
        return cls(b"%s %s\n" % (start, _base64(_mac(key, start))), key)


def _stretch(passphrase: str, salt: bytes, log_n: int) -> bytes:
    # Keyboards compose the same letters differently.
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=salt, length=32, n=1 << log_n, r=8, p=1).derive(secret)


def _mac(key: bytes, start: bytes) -> bytes:
    return hmac.digest(HKDF(SHA256(), 32, None, b"header").derive(key), start, "sha256")


def _check_mac(header: bytes, key: bytes) -> None:
    start, mac = header[:-_MAC_BYTES], header[-_MAC_BYTES:]
    if not hmac.compare_digest(b" %s\n" % _base64(_mac(key, start)), mac):
        raise BackupUnreadable


def _payload_cipher(key: bytes, nonce: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(HKDF(SHA256(), 32, nonce, b"payload").derive(key))


def _nonce(index: int, *, is_last: bool) -> bytes:
    return index.to_bytes(11, "big") + bytes([is_last])


def _base64(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _unbase64(data: bytes) -> bytes:
    return base64.b64decode(data + b"=" * (-len(data) % 4))


class Encryptor:
    """A writer that encrypts to *file*; ``close`` writes the last chunk.

    Without ``close`` the output cannot be decrypted. *file* stays open.
    """

    def __init__(self, file: BinaryIO, file_key: FileKey) -> None:
        self._file = file
        nonce = os.urandom(_RANDOM_BYTES)
        self._cipher = _payload_cipher(file_key.key, nonce)
        self._held = bytearray()
        self._index = 0
        file.write(file_key.header + nonce)

    def write(self, data: bytes | memoryview) -> int:
        """Buffer bytes; a chunk is written once there are more bytes than fit in it."""
        self._held += data
        while len(self._held) > CHUNK_BYTES:
            self._encrypt(bytes(self._held[:CHUNK_BYTES]), is_last=False)
            del self._held[:CHUNK_BYTES]
        return len(data)

    def flush(self) -> None:
        """Do nothing: only full chunks are written."""

    def close(self) -> None:
        """Write the last chunk, marked as the last."""
        self._encrypt(bytes(self._held), is_last=True)
        self._held.clear()

    def _encrypt(self, chunk: bytes, *, is_last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._index, is_last=is_last), chunk, None))
        self._index += 1


_KEPT_CHUNKS = 4
type Progress = Callable[[int, int], None] | None


def is_encrypted(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_VERSION)).startswith((_VERSION, _OLD_MAGIC))


def read_header(path: Path) -> Header:
    """Read the header of an encrypted backup.

    Raises:
        BackupUnreadable, BackupRefused: as ``Header.parse``.
    """
    with path.open("rb") as file:
        return Header.parse(file.read(_HEADER_BYTES))


class DecryptedFile(io.RawIOBase):
    """The decrypted bytes of a file, with random access. They are never written to disk."""

    def __init__(self, path: Path, key: bytes) -> None:
        """Open the file with its key (``Header.derive``).

        Raises:
            BackupUnreadable: it is not a backup, or the key is wrong.
            BackupRefused: as ``Header.parse``.
        """
        super().__init__()
        self._file = path.open("rb")
        try:
            head = self._file.read(_HEADER_BYTES)
            self._header = header = Header.parse(head).data
            self._start, self._chunk_bytes = len(header), _OLD_CHUNK_BYTES
            self._is_old = header.startswith(_OLD_MAGIC)
            if self._is_old:
                self._cipher: AESGCM | ChaCha20Poly1305 = AESGCM(key)
            else:
                _check_mac(header, key)
                self._start, self._chunk_bytes = len(header) + _RANDOM_BYTES, CHUNK_BYTES
                self._cipher = _payload_cipher(key, head[len(header) : self._start])
            length = os.fstat(self._file.fileno()).st_size - self._start
            # A last chunk that is too short for its tag fails to decrypt below.
            self._count = max(1, -(-length // (self._chunk_bytes + TAG_BYTES)))
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
        for index in range(self._count):
            self._chunk(index)
            if progress is not None:
                progress(index + 1, self._count)

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
        index, start = divmod(self._at, self._chunk_bytes)
        if index >= self._count or not buffer:
            return 0
        piece = self._chunk(index)[start : start + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _chunk(self, index: int) -> bytes:
        kept = self._kept.get(index)
        if kept is not None:
            return kept
        length = self._chunk_bytes + TAG_BYTES
        self._file.seek(self._start + index * length)
        data = self._file.read(length)
        nonce, associated = _nonce(index, is_last=index == self._count - 1), None
        if self._is_old:
            nonce, associated = self._header[_OLD_PREFIX] + nonce[-5:], self._header
        try:
            chunk = self._cipher.decrypt(nonce, data, associated)
        except (InvalidTag, ValueError, OverflowError) as error:
            raise BackupUnreadable from error
        if len(self._kept) >= _KEPT_CHUNKS:
            del self._kept[next(iter(self._kept))]
        self._kept[index] = chunk
        return chunk
