"""Find and read objects in pack files, write packs and join them (``gitformat-pack``).

Every batch writes one pack, so that it costs two syncs however many objects it has. Packs of one
size are joined when there are many, so that a repository has few files and each object is copied
only a handful of times.
"""

import hashlib
import mmap
import os
import secrets
import struct
import threading
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path

from gitdb.fun import apply_delta_data, create_pack_object_header, pack_object_header_info
from gitdb.pack import IndexWriter

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
    """A pack's entry: its kind or its delta base, and the inflated bytes."""

    number: int
    data: bytes
    base_offset: int = 0
    base_id: str = ""

    @property
    def kind(self) -> Kind | None:
        """The object's kind; ``None`` for a delta."""
        return KINDS.get(self.number)


def apply_delta(base: bytes, delta: bytes) -> bytes:
    start = _varint_end(delta, _varint_end(delta, 0))
    made = bytearray()
    apply_delta_data(base, len(base), memoryview(delta)[start:], len(delta) - start, made.extend)
    return bytes(made)


def _varint_end(data: bytes, start: int) -> int:
    while data[start] & 0x80:
        start += 1
    return start + 1


class Pack:
    """One pack for reading. Its files are mapped, not kept open; ``close`` unmaps them.

    Raises:
        FileNotFoundError: another process joined it with others meanwhile.
        StoreBroken: its index is invalid.
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
        self._index.close()
        if self._pack is not None:
            self._pack.close()
            self._pack = None

    def position(self, sha: bytes) -> int | None:
        """Return the object's position in the index; ``None`` when this pack does not have it."""
        place = self._first(sha)
        return place if place < self.count and self.id_at(place) == sha else None

    def starting(self, prefix: str) -> list[str]:
        """Return ids that begin with *prefix* (hex), at most 100."""
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
        """Return the position of the first id that is not below *sha*."""
        low = self._fanout[sha[0] - 1] if sha[0] else 0
        return bisect_left(range(self.count), sha, low, self._fanout[sha[0]], key=self.id_at)

    def id_at(self, place: int) -> bytes:
        """Return the id at a position in the index."""
        start = _TABLE + place * 20
        return self._index[start : start + 20]

    def crc_at(self, place: int) -> int:
        """Return the checksum of the object's packed bytes."""
        start = _TABLE + self.count * 20 + place * 4
        return int.from_bytes(self._index[start : start + 4])

    def offset_at(self, place: int) -> int:
        start = _TABLE + self.count * 24 + place * 4
        offset = int.from_bytes(self._index[start : start + 4])
        if offset < _BIG_OFFSET:
            return offset
        start = _TABLE + self.count * 28 + (offset - _BIG_OFFSET) * 8
        return int.from_bytes(self._index[start : start + 8])

    def bytes_between(self, start: int, end: int) -> bytes:
        return self._mapped()[start:end]

    @property
    def data_end(self) -> int:
        return len(self._mapped()) - _TRAILER

    def raw(self, offset: int) -> Raw:
        """Inflate the entry at *offset* without resolving its delta.

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
        if self._pack is None:
            self._pack = _map(self.path.with_suffix(".pack"))
        return self._pack


def _map(path: Path) -> mmap.mmap:
    """Map a file for reading; links are not followed."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    except (ValueError, OSError) as error:  # empty, or not a plain file
        raise StoreBroken(f"The file {path.name} of the store of versions is damaged.") from error
    finally:
        os.close(fd)


def _offset_before(data: bytes) -> tuple[int, int]:
    """Return how far back a delta's base is, and the length of that number in bytes."""
    used, value = 1, data[0] & 0x7F
    while data[used - 1] & 0x80:
        value = ((value + 1) << 7) | (data[used] & 0x7F)
        used += 1
    return value, used


def resolve_delta(base: tuple[Kind, bytes], delta: bytes) -> tuple[Kind, bytes]:
    """Apply a delta to *base*.

    Raises:
        StoreBroken: the delta does not fit.
    """
    try:
        return base[0], apply_delta(base[1], delta)
    except (IndexError, ValueError, AssertionError) as error:
        raise StoreBroken("An object in the store of versions is damaged.") from error


def as_kind(name: bytes) -> Kind:
    """Return the kind that a loose object names.

    Raises:
        StoreBroken: there is no such kind.
    """
    for kind in NUMBERS:
        if kind.encode() == name:
            return kind
    raise StoreBroken("An object in the store of versions is damaged.")


FAN_IN = 8
LARGE_BYTES = 64_000_000
TEMP_PREFIX = "tmp_"

_HEADER = struct.Struct(">4sLL")
_CHUNK = 1 << 20


class PackWriter:
    """One new pack, written as objects come; it is visible only after ``finish``.

    ``finish`` or ``discard`` must follow.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temp = folder / f"{TEMP_PREFIX}pack_{secrets.token_hex(8)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file: BufferedRandom = os.fdopen(os.open(self._temp, flags, 0o444), "w+b")
        self._file.write(_HEADER.pack(b"PACK", 2, 0))
        self._end = _HEADER.size
        self._rows = IndexWriter()
        self.count = 0

    def add(self, sha: str, kind: Kind, data: bytes) -> None:
        head = bytes(create_pack_object_header(NUMBERS[kind], len(data)))
        self.add_raw(bytes.fromhex(sha), head + zlib.compress(data))

    def add_raw(self, sha: bytes, raw: bytes) -> None:
        """Copy an object as it is packed in another pack; it must not be a delta."""
        self._file.write(raw)
        self._rows.append(sha, zlib.crc32(raw), self._end)
        self._end += len(raw)
        self.count += 1

    def finish(self) -> Path:
        """Make the pack durable and visible, and return its index."""
        trailer = self._seal()
        stem = self._folder / f"pack-{trailer.hex()}"
        temp_index = self._temp.with_name(self._temp.name.replace("_pack_", "_idx_"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(temp_index, flags, 0o444), "wb") as index:
                self._rows.write(trailer, index.write)
                index.flush()
                _sync_both(self._file.fileno(), index.fileno())
            self._file.close()
            os.rename(self._temp, stem.with_suffix(".pack"))  # noqa: PTH104  (one call to watch)
            os.rename(temp_index, stem.with_suffix(".idx"))  # noqa: PTH104 - as above
        except BaseException:
            temp_index.unlink(missing_ok=True)
            raise
        sync_folder(self._folder)
        return stem.with_suffix(".idx")

    def _seal(self) -> bytes:
        """Write the object count and the checksum over everything, and return the checksum."""
        file = self._file
        file.seek(0)
        file.write(_HEADER.pack(b"PACK", 2, self.count))
        file.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        file.write(digest.digest())
        file.flush()
        return digest.digest()

    def discard(self) -> None:
        # The buffered bytes are not needed, and a full disk would refuse them.
        self._file.raw.close()
        self._temp.unlink(missing_ok=True)


def _sync_both(first: int, second: int) -> None:
    """Sync two files in parallel, so that the disk's journal commits both at once."""
    problems: list[OSError] = []

    def sync() -> None:
        try:
            os.fsync(second)
        except OSError as error:
            problems.append(error)

    helper = threading.Thread(target=sync)
    helper.start()
    try:
        os.fsync(first)
    finally:
        helper.join()
    if problems:
        raise problems[0]


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def packs_to_join(packs: list[Pack]) -> list[Pack]:
    """Return the packs that should become one: ``FAN_IN`` of about the same number of objects.

    So each object is copied once for every power of eight that the repository grows by. Large packs
    stay, and so do those of another git.
    """
    if len(packs) < FAN_IN:
        return []
    levels: dict[int, list[Pack]] = {}
    for pack in packs:
        if pack.path.with_suffix(".pack").stat().st_size <= LARGE_BYTES:
            levels.setdefault(max(pack.count.bit_length() - 1, 0) // 3, []).append(pack)
    full = [level for level, found in levels.items() if len(found) >= FAN_IN]
    if not full:
        return []
    # The joined pack moves a level up; the packs of lower levels are joined too, since copying them
    # costs less.
    below = [pack for level in range(max(full) + 1) for pack in levels.get(level, ())]
    plain = [pack for pack in below if _is_plain(pack)]
    return plain if len(plain) >= FAN_IN else []


def _is_plain(pack: Pack) -> bool:
    """True when it has no deltas (ours never have)."""
    return not pack.count or all(
        (pack.bytes_between(offset, offset + 1)[0] >> 4) & 7 in KINDS
        for offset in map(pack.offset_at, range(pack.count))
    )


def join_packs(folder: Path, packs: list[Pack]) -> None:
    """Write the objects of *packs* into one, then remove them.

    Raises:
        StoreBroken: an object's checksum is wrong; nothing was changed.
    """
    writer = PackWriter(folder)
    try:
        seen: set[bytes] = set()
        for pack in packs:
            for sha, raw in _objects(pack):
                if sha not in seen:
                    seen.add(sha)
                    writer.add_raw(sha, raw)
        made = writer.finish()
    except BaseException:
        writer.discard()
        raise
    for pack in packs:
        if pack.path != made:
            pack.path.unlink(missing_ok=True)
            pack.path.with_suffix(".pack").unlink(missing_ok=True)


def _objects(pack: Pack) -> Iterator[tuple[bytes, bytes]]:
    """Yield every object's id and packed bytes."""
    rows = sorted((pack.offset_at(place), place) for place in range(pack.count))
    ends = [offset for offset, _ in rows[1:]] + [pack.data_end]
    for (offset, place), end in zip(rows, ends, strict=True):
        raw = pack.bytes_between(offset, end)
        if zlib.crc32(raw) != pack.crc_at(place):
            raise StoreBroken(f"The file {pack.path.stem}.pack of the store is damaged.")
        yield pack.id_at(place), raw
