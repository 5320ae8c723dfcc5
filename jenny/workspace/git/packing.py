"""Pack files: how objects are written. Every act writes one pack, so that it costs two syncs
however many objects it has; packs of a size are joined when there are many, so that a
repository has few files and each object is copied a handful of times in its life.
"""

import hashlib
import os
import secrets
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gitdb.fun import create_pack_object_header
from gitdb.pack import IndexWriter

from jenny.workspace.errors import StoreBroken
from jenny.workspace.git.objects import Kind
from jenny.workspace.git.packs import KINDS, NUMBERS, Pack

FAN_IN = 8
LARGE_BYTES = 64_000_000
TEMP_PREFIX = "tmp_"

_HEADER = struct.Struct(">4sLL")
_CHUNK = 1 << 20


class PackWriter:
    """One new pack, written as objects come; it exists for others only after ``finish``.

    ``finish`` or ``discard`` must follow.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temp = folder / f"{TEMP_PREFIX}pack_{secrets.token_hex(8)}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file: BinaryIO = os.fdopen(os.open(self._temp, flags, 0o444), "w+b")
        self._file.write(_HEADER.pack(b"PACK", 2, 0))
        self._end = _HEADER.size
        self._rows = IndexWriter()
        self.count = 0

    def add(self, sha: str, kind: Kind, data: bytes) -> None:
        """Write an object."""
        head = bytes(create_pack_object_header(NUMBERS[kind], len(data)))
        self.add_raw(bytes.fromhex(sha), head + zlib.compress(data))

    def add_raw(self, sha: bytes, raw: bytes) -> None:
        """Write an object as it lies in another pack; not one that is a change of another."""
        self._file.write(raw)
        self._rows.append(sha, zlib.crc32(raw), self._end)
        self._end += len(raw)
        self.count += 1

    def finish(self) -> Path:
        """Make the pack durable and let it be found; its index."""
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
        """Write the count and the checksum over everything; the checksum."""
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
        """Leave nothing behind."""
        self._file.close()
        self._temp.unlink(missing_ok=True)


def _sync_both(first: int, second: int) -> None:
    """Sync two files at the same time: a disk's journal takes both in one go, where one after
    the other would wait for it twice."""
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
    """Make renames and removals in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def to_join(packs: list[Pack]) -> list[Pack]:
    """The packs that should become one: ``FAN_IN`` of about the same number of objects.

    So each object is copied once for every power of eight that the repository grows by. Large
    packs stay, and so do those that another git made.
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
    # What is joined moves up; the levels below come along, since they are copied for less.
    below = [pack for level in range(max(full) + 1) for pack in levels.get(level, ())]
    plain = [pack for pack in below if _is_plain(pack)]
    return plain if len(plain) >= FAN_IN else []


def _is_plain(pack: Pack) -> bool:
    """Whether no object in it is stored as a change of another (ours never are)."""
    return not pack.count or all(
        (pack.bytes_between(offset, offset + 1)[0] >> 4) & 7 in KINDS
        for offset in map(pack.offset_at, range(pack.count))
    )


def join(folder: Path, packs: list[Pack]) -> None:
    """Write the objects of *packs* into one, then remove them.

    Raises:
        StoreBroken: an object's checksum is wrong; all is left as it was.
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
    """Every object's id and bytes as they lie in the pack."""
    rows = sorted((pack.offset_at(place), place) for place in range(pack.count))
    ends = [offset for offset, _ in rows[1:]] + [pack.data_end]
    for (offset, place), end in zip(rows, ends, strict=True):
        raw = pack.bytes_between(offset, end)
        if zlib.crc32(raw) != pack.crc_at(place):
            raise StoreBroken(f"The file {pack.path.stem}.pack of the store is damaged.")
        yield pack.id_at(place), raw
