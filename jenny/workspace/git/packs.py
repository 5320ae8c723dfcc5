"""Pack files: how objects are found and read. The formats are git's (``gitformat-pack``)."""

import mmap
import os
import struct
import zlib
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from gitdb.fun import apply_delta_data, pack_object_header_info

from jenny.workspace.errors import StoreBroken
from jenny.workspace.git.objects import Kind

KINDS: dict[int, Kind] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
NUMBERS = {kind: number for number, kind in KINDS.items()}
_OFFSET_DELTA, _ID_DELTA = 6, 7
_SIGNATURE = b"\xfftOc\0\0\0\x02"
_TABLE = len(_SIGNATURE) + 1024
_TRAILER = 20
_BIG_OFFSET = 0x80000000


@dataclass(frozen=True, slots=True)
class Raw:
    """An object as it lies in a pack: its kind, or what it is a change of; bytes inflated."""

    number: int
    data: bytes
    base_offset: int = 0
    base_id: str = ""

    @property
    def kind(self) -> Kind | None:
        """The object's kind; ``None`` when it is stored as a change of another one."""
        return KINDS.get(self.number)


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """What a change makes of its base."""
    start = _varint_end(delta, _varint_end(delta, 0))
    made = bytearray()
    apply_delta_data(base, len(base), memoryview(delta)[start:], len(delta) - start, made.extend)
    return bytes(made)


def _varint_end(data: bytes, start: int) -> int:
    """Where the number that begins at *start* is over."""
    while data[start] & 0x80:
        start += 1
    return start + 1


class Pack:
    """One pack for reading. Its files are mapped, not kept open; ``close`` lets go of them.

    Raises:
        FileNotFoundError: somebody joined it with others meanwhile.
        StoreBroken: its index is none.
    """

    def __init__(self, index: Path) -> None:
        self.path = index
        self._index = _map(index)
        self._pack: mmap.mmap | None = None
        if len(self._index) < _TABLE + 2 * _TRAILER or self._index[:8] != _SIGNATURE:
            self._index.close()
            raise StoreBroken(f"The file {index.name} of the store of versions is damaged.")
        self._fanout = struct.unpack_from(">256L", self._index, len(_SIGNATURE))
        self.count: int = self._fanout[-1]
        if len(self._index) < _TABLE + self.count * 28 + 2 * _TRAILER:
            self._index.close()
            raise StoreBroken(f"The file {index.name} of the store of versions is damaged.")

    def close(self) -> None:
        """Let go of the files."""
        self._index.close()
        if self._pack is not None:
            self._pack.close()
            self._pack = None

    def position(self, sha: bytes) -> int | None:
        """The object's place in the index; ``None`` when this pack does not have it."""
        place = self._first(sha)
        return place if place < self.count and self.id_at(place) == sha else None

    def starting(self, prefix: str) -> list[str]:
        """Ids that begin with *prefix* (hex), at most 100."""
        found: list[str] = []
        place = self._first(bytes.fromhex(prefix.ljust(40, "0")))
        while place < self.count and len(found) < 100:  # noqa: PLR2004  (said above)
            sha = self.id_at(place).hex()
            if not sha.startswith(prefix):
                break
            found.append(sha)
            place += 1
        return found

    def _first(self, sha: bytes) -> int:
        """The place of the first id that is not below *sha*."""
        low = self._fanout[sha[0] - 1] if sha[0] else 0
        return bisect_left(range(self.count), sha, low, self._fanout[sha[0]], key=self.id_at)

    def id_at(self, place: int) -> bytes:
        """The id at a place in the index."""
        start = _TABLE + place * 20
        return self._index[start : start + 20]

    def crc_at(self, place: int) -> int:
        """The checksum of the object's bytes as they lie in the pack."""
        start = _TABLE + self.count * 20 + place * 4
        return int.from_bytes(self._index[start : start + 4])

    def offset_at(self, place: int) -> int:
        """Where in the pack the object begins."""
        start = _TABLE + self.count * 24 + place * 4
        offset = int.from_bytes(self._index[start : start + 4])
        if offset < _BIG_OFFSET:
            return offset
        start = _TABLE + self.count * 28 + (offset - _BIG_OFFSET) * 8
        return int.from_bytes(self._index[start : start + 8])

    def bytes_between(self, start: int, end: int) -> bytes:
        """A part of the pack as it is."""
        return self._mapped()[start:end]

    @property
    def data_end(self) -> int:
        """Where the pack's last object ends."""
        return len(self._mapped()) - _TRAILER

    def raw(self, offset: int) -> Raw:
        """The object that begins at *offset*, inflated but not yet resolved.

        Raises:
            StoreBroken: no object is there.
        """
        pack = self._mapped()
        try:
            number, size, used = pack_object_header_info(pack[offset : offset + 32])
            start = offset + used
            base_offset, base_id = 0, ""
            if number == _OFFSET_DELTA:
                back, used = _offset_before(pack[start : start + 16])
                base_offset, start = offset - back, start + used
            elif number == _ID_DELTA:
                base_id, start = pack[start : start + 20].hex(), start + 20
            end = min(start + size + size // 512 + 128, len(pack))
            data = zlib.decompressobj().decompress(pack[start:end])
        except (zlib.error, IndexError, ValueError) as error:
            raise self._damaged() from error
        known = number in KINDS or number in (_OFFSET_DELTA, _ID_DELTA)
        if len(data) != size or not known or (base_offset < 0):
            raise self._damaged()
        return Raw(number, data, base_offset, base_id)

    def _damaged(self) -> StoreBroken:
        return StoreBroken(f"The file {self.path.stem}.pack of the store of versions is damaged.")

    def _mapped(self) -> mmap.mmap:
        """The pack's bytes."""
        if self._pack is None:
            self._pack = _map(self.path.with_suffix(".pack"))
        return self._pack


def _map(path: Path) -> mmap.mmap:
    """A file's bytes, for reading; links are not followed."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    except (ValueError, OSError) as error:  # empty, or no plain file
        raise StoreBroken(f"The file {path.name} of the store of versions is damaged.") from error
    finally:
        os.close(fd)


def _offset_before(data: bytes) -> tuple[int, int]:
    """How far back a change's base lies, and how many bytes said so."""
    used, value = 1, data[0] & 0x7F
    while data[used - 1] & 0x80:
        value = ((value + 1) << 7) | (data[used] & 0x7F)
        used += 1
    return value, used


def resolve_delta(base: tuple[Kind, bytes], delta: bytes) -> tuple[Kind, bytes]:
    """An object that is stored as a change of *base*.

    Raises:
        StoreBroken: the change does not fit.
    """
    try:
        return base[0], apply_delta(base[1], delta)
    except (IndexError, ValueError, AssertionError) as error:
        raise StoreBroken("An object in the store of versions is damaged.") from error


def as_kind(name: bytes) -> Kind:
    """A kind as a loose object spells it.

    Raises:
        StoreBroken: there is no such kind.
    """
    for kind in NUMBERS:
        if kind.encode() == name:
            return kind
    raise StoreBroken("An object in the store of versions is damaged.")
