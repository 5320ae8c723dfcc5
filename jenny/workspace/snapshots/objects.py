"""Read and write objects of a store in pieces, since they may be too large for memory."""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from gitdb.fun import create_pack_object_header, pack_object_header_info

from jenny.workspace.errors import StoreBroken, reason_of
from jenny.workspace.git.objects import Kind, TreeEntry, decode_tree, id_of, is_id
from jenny.workspace.git.packs import KINDS, NUMBERS, Pack, PackWriter
from jenny.workspace.git.store import Repository

CHUNK = 1 << 20
# A sample that shows whether compressing a large file is worth the time.
_TRY_BYTES = 1 << 16
_WORTH = 0.9


class Objects(Repository):
    """A repository that reads large contents in pieces, and from whichever pack is undamaged."""

    def size(self, sha: str) -> int:
        """Return the size of an object in bytes.

        Raises:
            StoreBroken: it is missing or damaged.
        """
        for pack, place in self._places(sha):
            with contextlib.suppress(OSError, IndexError):
                start = pack.offset_at(place)
                return int(pack_object_header_info(pack.bytes_between(start, start + 32))[1])
        return len(self.read(sha)[1])

    def kind(self, sha: str) -> Kind:
        """Return the kind of an object without checking its content.

        Raises:
            StoreBroken: it is missing.
        """
        where = next(iter(self._places(sha)), None)
        return (where and _kind(*where)) or self.read(sha)[0]

    def stream(self, sha: str) -> Iterator[bytes]:
        """Yield a file's content in pieces; its id is checked after the last one.

        Raises:
            StoreBroken: it is missing or damaged. The pieces so far must not be used then.
        """
        where = next(iter(self._places(sha)), None)
        kind = None if where is None else _kind(*where)
        if where is None or kind is None:  # a loose object or a delta
            yield self.blob(sha)
            return
        size = self.size(sha)
        digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
        for piece in _inflated(*where):
            digest.update(piece)
            yield piece
        if kind != "blob" or digest.hexdigest() != sha:
            raise StoreBroken(f"Object {sha[:8]} of the store of snapshots is damaged.")

    def is_whole(self, sha: str) -> bool:
        """True when the object exists and its content matches its id."""
        try:
            for _ in self.stream(sha):
                pass
        except (StoreBroken, OSError):
            with contextlib.suppress(StoreBroken):
                self.read(sha)
                return True
            return False
        return True

    def _places(self, sha: str) -> Iterator[tuple[Pack, int]]:
        """Yield the object's positions in packs; the pack list is refreshed once."""
        if not is_id(sha):
            raise StoreBroken("An id in the store of snapshots is damaged.")
        wanted, has_any = bytes.fromhex(sha), False
        for attempt in range(2):
            if attempt:
                if has_any:
                    return
                self.database.close()
            for pack in self.database.packs():
                place = pack.position(wanted)
                if place is not None:
                    has_any = True
                    with contextlib.suppress(FileNotFoundError):
                        pack.bytes_between(0, 1)
                        yield pack, place


def _kind(pack: Pack, place: int) -> Kind | None:
    """Return the kind of an object; ``None`` for a delta."""
    try:
        start = pack.offset_at(place)
        return KINDS.get(pack_object_header_info(pack.bytes_between(start, start + 32))[0])
    except (IndexError, OSError) as error:
        raise StoreBroken("An object in the store of snapshots is damaged.") from error


def _inflated(pack: Pack, place: int) -> Iterator[bytes]:
    """Yield an object's content in pieces.

    Raises:
        StoreBroken: it is damaged, or too short or long.
    """
    start = pack.offset_at(place)
    try:
        _, size, used = pack_object_header_info(pack.bytes_between(start, start + 32))
        start, given, machine = start + used, 0, zlib.decompressobj()
        while not machine.eof:
            raw = pack.bytes_between(start, start + CHUNK)
            if not raw:
                break
            start += len(raw)
            while raw and not machine.eof:
                piece = machine.decompress(raw, CHUNK)
                raw = machine.unconsumed_tail
                given += len(piece)
                yield piece
                if given > size:
                    break
    except (zlib.error, IndexError, ValueError) as error:
        raise StoreBroken("An object in the store of snapshots is damaged.") from error
    except OSError as error:
        raise StoreBroken(f"The store of snapshots cannot be read: {reason_of(error)}.") from error
    if given != size:
        raise StoreBroken("An object in the store of snapshots is damaged.")


class StreamedPack(PackWriter):
    """A new pack that also takes contents in pieces, and can drop the last one."""

    def add_stream(
        self, size: int, pieces: Iterable[bytes], is_known: Callable[[str], bool]
    ) -> str | None:
        """Write a file's content of *size* bytes as it comes, unless *is_known* knows its id.

        Returns its id, or ``None`` when there were more or fewer bytes: nothing was written then.
        """
        head = bytes(create_pack_object_header(NUMBERS["blob"], size))
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        start, crc, written, given = self._end, zlib.crc32(head), len(head), 0
        machine = None
        try:
            self._file.write(head)
            for piece in pieces:
                machine = machine or zlib.compressobj(_level(piece))
                digest.update(piece)
                given += len(piece)
                packed = machine.compress(piece)
                crc, written = zlib.crc32(packed, crc), written + len(packed)
                self._file.write(packed)
            rest = (machine or zlib.compressobj()).flush()
            self._file.write(rest)
        except BaseException:
            self._back_to(start)
            raise
        crc, written = zlib.crc32(rest, crc), written + len(rest)
        sha = digest.hexdigest()
        if given != size or is_known(sha):
            self._back_to(start)
            return sha if given == size else None
        self._rows.append(bytes.fromhex(sha), crc, start)
        self._end += written
        self.count += 1
        return sha

    def _back_to(self, start: int) -> None:
        self._file.seek(start)
        self._file.truncate()


class Sink(Protocol):
    """A target for contents and folders: the store, or only the computation of ids."""

    def knows(self, sha: str) -> bool: ...

    def add(self, kind: Kind, data: bytes, *, known: str | None = None) -> str:
        """Add an object and return its id. *known*: an id that is certainly there."""

    def add_stream(self, size: int, pieces: Iterable[bytes]) -> str | None:
        """Add a large content; ``None``: its size differs."""


class PackBatch:
    """Objects being written to the store, all in one pack that is created with the first one.

    With *doubt*, an existing object is read before it is reused.
    """

    def __init__(self, repo: Objects, *, doubt: bool = False) -> None:
        self._repo = repo
        self._doubt = doubt
        self._new: set[str] = set()
        self._trees: dict[str, bytes] = {}
        self._writer: StreamedPack | None = None

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """Return the entries of a folder, stored or still in this batch."""
        data = self._trees.get(sha)
        return self._repo.tree(sha) if data is None else decode_tree(data)

    def knows(self, sha: str) -> bool:
        if sha in self._new:
            return True
        return self._repo.is_whole(sha) if self._doubt else self._repo.has(sha)

    def add(self, kind: Kind, data: bytes, *, known: str | None = None) -> str:
        """Write an object unless it exists, and return its id.

        *known*: an id that certainly exists.
        """
        sha = id_of(kind, data)
        if (sha != known or self._doubt) and not self.knows(sha):
            self._pack().add(sha, kind, data)
            self._new.add(sha)
            if kind == "tree":
                self._trees[sha] = data
        return sha

    def add_stream(self, size: int, pieces: Iterable[bytes]) -> str | None:
        """Write a large content; see ``StreamedPack.add_stream``."""
        sha = self._pack().add_stream(size, pieces, self.knows)
        if sha is not None:
            self._new.add(sha)
        return sha

    def finish(self) -> None:
        if self._writer is not None and self._writer.count:
            self._repo.database.add_pack(self._writer.finish())
            self._writer = None
        self.discard()

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.discard()
            self._writer = None

    def _pack(self) -> StreamedPack:
        if self._writer is None:
            self._writer = StreamedPack(self._repo.database.pack_folder)
        return self._writer


def _level(piece: bytes) -> int:
    """Return the compression level: none for data that does not shrink (pictures, archives)."""
    sample = piece[:_TRY_BYTES]
    return 1 if len(zlib.compress(sample, 1)) < _WORTH * len(sample) else 0


def folder_size(path: str | os.PathLike[str]) -> int:
    """Return the size of the files directly in a folder, in bytes."""
    with os.scandir(path) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
