"""Objects of a store that may be too large to be held whole: written and read in pieces."""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from gitdb.fun import create_pack_object_header, pack_object_header_info

from jenny.workspace.errors import StoreBroken, reason_of
from jenny.workspace.git.objects import Kind, TreeEntry, decode_tree, id_of, is_id
from jenny.workspace.git.packing import PackWriter
from jenny.workspace.git.packs import KINDS, NUMBERS, Pack
from jenny.workspace.git.store import Repository

CHUNK = 1 << 20
# A piece from which it is seen whether packing a large file is worth the time.
_TRY_BYTES = 1 << 16
_WORTH = 0.9


class Objects(Repository):
    """A repository whose large contents are read in pieces, and from whichever pack is whole."""

    def size(self, sha: str) -> int:
        """The bytes of an object.

        Raises:
            StoreBroken: it is missing or damaged.
        """
        for pack, place in self._places(sha):
            with contextlib.suppress(OSError, IndexError):
                start = pack.offset_at(place)
                return int(pack_object_header_info(pack.bytes_between(start, start + 32))[1])
        return len(self.read(sha)[1])

    def kind(self, sha: str) -> Kind:
        """What an object is; its content is not looked at.

        Raises:
            StoreBroken: it is missing.
        """
        where = next(iter(self._places(sha)), None)
        return (where and _kind(*where)) or self.read(sha)[0]

    def stream(self, sha: str) -> Iterator[bytes]:
        """A file's content in pieces; its id is checked when the last one was given.

        Raises:
            StoreBroken: it is missing or damaged. What was given so far must not be used then.
        """
        where = next(iter(self._places(sha)), None)
        kind = None if where is None else _kind(*where)
        if where is None or kind is None:  # a file of its own, or a change of another object
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
        """Whether the object is there and has the content that its id stands for."""
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
        """Where the object lies in packs; looked for anew once, since others join packs."""
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
    """The kind of an object; ``None`` when it is stored as a change of another one."""
    try:
        start = pack.offset_at(place)
        return KINDS.get(pack_object_header_info(pack.bytes_between(start, start + 32))[0])
    except (IndexError, OSError) as error:
        raise StoreBroken("An object in the store of snapshots is damaged.") from error


def _inflated(pack: Pack, place: int) -> Iterator[bytes]:
    """An object's content in pieces.

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
    """A new pack that also takes contents in pieces, and forgets one that was not wanted."""

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
        """Forget what was written from *start* on."""
        self._file.seek(start)
        self._file.truncate()


class Sink(Protocol):
    """Where contents and folders go: into the store, or nowhere but through their ids."""

    def knows(self, sha: str) -> bool:
        """Whether the object need not be written."""

    def add(self, kind: Kind, data: bytes, *, known: str | None = None) -> str:
        """Take an object; its id. *known*: one that surely is there."""

    def add_stream(self, size: int, pieces: Iterable[bytes]) -> str | None:
        """Take a large content; ``None``: it had another size."""


class PackBatch:
    """Objects on their way into the store, all in one pack that is begun with the first one.

    With *doubt* an object that is there already is read before it is believed to be.
    """

    def __init__(self, repo: Objects, *, doubt: bool = False) -> None:
        self._repo = repo
        self._doubt = doubt
        self._new: set[str] = set()
        self._trees: dict[str, bytes] = {}
        self._writer: StreamedPack | None = None

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """The entries of a folder, be it in the store or on its way there."""
        data = self._trees.get(sha)
        return self._repo.tree(sha) if data is None else decode_tree(data)

    def knows(self, sha: str) -> bool:
        """Whether the object need not be written."""
        if sha in self._new:
            return True
        return self._repo.is_whole(sha) if self._doubt else self._repo.has(sha)

    def add(self, kind: Kind, data: bytes, *, known: str | None = None) -> str:
        """Write an object unless it is there; its id. *known*: one that surely is."""
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
        """Make everything durable."""
        writer, self._writer = self._writer, None
        if writer is not None:
            if writer.count:
                self._repo.database.take_in(writer.finish())
            else:
                writer.discard()

    def discard(self) -> None:
        """Leave nothing half-written behind."""
        if self._writer is not None:
            self._writer.discard()
            self._writer = None

    def _pack(self) -> StreamedPack:
        if self._writer is None:
            self._writer = StreamedPack(self._repo.database.pack_folder)
        return self._writer


def _level(piece: bytes) -> int:
    """How hard to pack: not at all what does not shrink (pictures, archives)."""
    sample = piece[:_TRY_BYTES]
    return 1 if len(zlib.compress(sample, 1)) < _WORTH * len(sample) else 0


def folder_size(path: str | os.PathLike[str]) -> int:
    """Bytes of the files right in a folder."""
    with os.scandir(path) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
