"""Reading a bundle that somebody gives us: into a repository that is made anew for it.

Of the stream only references with names of ours and whole objects are taken. Each object is
unpacked within limits and gets the id that its own content has, so nothing can stand for what it
is not; then everything behind each reference must be there. The pack is kept as it came, under an
index of ours: nothing else of the stranger's comes along, no configuration, no hook.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitdb.pack import IndexWriter

from jenny.workspace.backup import bundles
from jenny.workspace.backup.values import (
    MOST_OBJECT_BYTES,
    MOST_OBJECTS,
    MOST_REFS,
    is_too_much,
)
from jenny.workspace.errors import BackupRefused
from jenny.workspace.git.objects import is_id
from jenny.workspace.git.packs import KINDS
from jenny.workspace.git.store import Repository

_CHUNK = 1 << 18
_MOST_HEAD = 16_000_000
_SUM_BYTES = 20

type Read = Callable[[int], bytes]


@dataclass(frozen=True)
class Unbundled:
    """What came: references of ours with the commits they stand for, in the repository *path*;
    *unpacked*: bytes of all objects."""

    path: Path
    refs: dict[str, str]
    unpacked: int


def unbundle(read: Read, path: Path) -> Unbundled:
    """Fetch a bundle, that *read* gives, into a new bare repository at *path*.

    What its commits and folders say is not judged yet (``histories``).

    Raises:
        BackupRefused: it is no bundle of ours.
        OSError: the disk refused.
    """
    source = _Source(read)
    refs = _refs(source)
    Repository.create(path).close()
    unpacked = _index(source, path / "objects" / "pack") if refs else 0
    return Unbundled(path, refs, unpacked)


def refused(why: str) -> BackupRefused:
    """The refusal of a history."""
    return BackupRefused(f"The history in this backup {why}. Nothing was changed.")


class _Source:
    """A stream that can be read by line, by number of bytes, and piece by piece."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._held = b""
        self.digest = hashlib.sha1(usedforsecurity=False)
        self.taken = 0

    def line(self, most: int) -> bytes:
        """A line without its end."""
        while (end := self._held.find(b"\n")) < 0:
            more = self._read(_CHUNK)
            if not more or len(self._held) > most:
                raise refused("is cut short, or no history at all")
            self._held += more
        found, self._held = self._held[:end], self._held[end + 1 :]
        return found

    def piece(self) -> bytes:
        """Some bytes; none at the end. They are not taken yet."""
        if not self._held:
            self._held = self._read(_CHUNK)
        return self._held

    def exactly(self, count: int, *, hashed: bool = True) -> bytes:
        """So many bytes."""
        while len(self._held) < count:
            more = self._read(_CHUNK)
            if not more:
                raise refused("is cut short")
            self._held += more
        return self.take(count, hashed=hashed)

    def take(self, count: int, *, hashed: bool = True) -> bytes:
        """The next *count* bytes of those that were looked at."""
        found, self._held = self._held[:count], self._held[count:]
        if hashed:
            self.digest.update(found)
        self.taken += count
        return found


def _refs(source: _Source) -> dict[str, str]:
    """The references, all of them with names that we give ourselves."""
    if source.line(64) + b"\n" != bundles.SIGNATURE:
        raise refused("is of a kind that Jenny does not read")
    refs: dict[str, str] = {}
    size = 0
    while line := source.line(4_096):
        size += len(line)
        sha, _, name = line.decode("utf-8", "replace").partition(" ")
        if not is_id(sha) or not bundles.REF.fullmatch(name) or name in refs:
            raise refused("has references that no workspace has")
        refs[name] = sha
        if len(refs) > MOST_REFS or size > _MOST_HEAD:
            raise refused("has more references than any workspace")
    return refs


def _index(source: _Source, folder: Path) -> int:
    """Copy the pack into *folder* and write its index; the bytes of all its objects unpacked."""
    head = source.exactly(12)
    count = int.from_bytes(head[8:12])
    if head[:8] != b"PACK\0\0\0\2" or count > MOST_OBJECTS:
        raise refused("holds no pack, or one with too many objects")
    rows, seen, unpacked = IndexWriter(), set[bytes](), 0
    temp = folder / "tmp_pack_new"
    with temp.open("xb") as file:
        file.write(head)
        end = len(head)
        for _ in range(count):
            one = _Object(source, file.write)
            unpacked += one.size
            if is_too_much(unpacked, source.taken):
                raise refused("unpacks to far more than it is long")
            if one.sha not in seen:
                seen.add(one.sha)
                rows.append(one.sha, one.crc, end)
            end += one.length
        total = source.digest.digest()
        if source.exactly(_SUM_BYTES, hashed=False) != total or source.piece():
            raise refused("is damaged at its end")
        if len(seen) != count:
            raise refused("holds an object twice")
        file.write(total)
        file.flush()
        os.fsync(file.fileno())
    stem = folder / f"pack-{total.hex()}"
    with stem.with_suffix(".idx").open("xb") as file:
        rows.write(total, file.write)
        file.flush()
        os.fsync(file.fileno())
    temp.rename(stem.with_suffix(".pack"))
    return unpacked


class _Object:
    """One object, copied as it lies in the stream while it is unpacked to learn its id."""

    def __init__(self, source: _Source, write: Callable[[bytes], object]) -> None:
        self._source = source
        self._write = write
        self.crc = self.length = 0
        number, self.size = self._head()
        kind = KINDS.get(number)
        if kind is None or kind == "tag":
            raise refused("holds objects that are none of Jenny's")
        if kind != "blob" and self.size > MOST_OBJECT_BYTES:
            raise refused("holds a folder or version that is too large")
        digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), self.size), usedforsecurity=False)
        for piece in self._content():
            digest.update(piece)
        self.sha = digest.digest()

    def _head(self) -> tuple[int, int]:
        """The kind's number and the size."""
        byte = self._copy(1)[0]
        number, size, shift = (byte >> 4) & 7, byte & 15, 4
        while byte & 0x80:
            byte = self._copy(1)[0]
            size |= (byte & 0x7F) << shift
            shift += 7
            if shift > 60:  # noqa: PLR2004  (beyond any file)
                raise refused("is damaged")
        return number, size

    def _content(self) -> Iterator[bytes]:
        machine, given = zlib.decompressobj(), 0
        try:
            while not machine.eof:
                raw = self._source.piece()
                if not raw:
                    raise refused("is cut short")
                made = machine.decompress(raw, _CHUNK)
                # At the end, what follows may stand in both of them.
                left = machine.unused_data or machine.unconsumed_tail
                self._copy(len(raw) - len(left))
                given += len(made)
                if given > self.size:
                    raise refused("holds an object that is larger than it says")
                yield made
        except zlib.error as error:
            raise refused("is damaged") from error
        if given != self.size:
            raise refused("holds an object that is smaller than it says")

    def _copy(self, count: int) -> bytes:
        data = self._source.exactly(count)
        self.crc = zlib.crc32(data, self.crc)
        self.length += len(data)
        self._write(data)
        return data


def every(parts: Iterable[bytes]) -> Read:
    """A ``read`` over pieces, for those who have no file."""
    waiting = iter(parts)

    def read(count: int) -> bytes:
        del count
        return next(waiting, b"")

    return read
