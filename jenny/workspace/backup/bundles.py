"""Write git bundles as a stream, and read untrusted ones into a newly created repository.

Objects are written whole, without deltas, so that a reader needs no more memory than one folder
takes. A pack begins with its number of objects, so all are found before the first one is written.

Only references with names that this project writes, and whole objects, are accepted. Each object is
unpacked within limits and gets the id that its own content has, so no object can pass for another;
then everything behind each reference must exist. The pack is kept byte for byte under a newly made
index: nothing else is taken over from the bundle, no configuration and no hook.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitdb.fun import create_pack_object_header
from gitdb.pack import IndexWriter

from jenny.workspace.backup.format import (
    FREE_RATIO_BYTES,
    MOST_OBJECT_BYTES,
    MOST_OBJECTS,
    MOST_REFS,
    is_too_much,
)
from jenny.workspace.errors import BackupRefused, StoreBroken
from jenny.workspace.git.objects import is_id
from jenny.workspace.git.packs import KINDS, NUMBERS
from jenny.workspace.git.store import Repository
from jenny.workspace.snapshots.objects import Objects

SIGNATURE = b"# v2 git bundle\n"
REF = re.compile(r"refs/(?:heads/main|snapshots/\d{1,9}-[0-9a-f]{8})")
_PACK_HEAD = b"PACK" + (2).to_bytes(4)
_LARGE = 4 << 20

type Kind = Literal["commit", "tree", "blob"]
type Write = Callable[[bytes], object]
type Report = Callable[[int, int], None]


def reachable(repo: Objects, tips: Mapping[str, str]) -> dict[str, Kind]:
    """Return every object behind the commits *tips*, once, with its kind.

    Raises:
        StoreBroken: one of them is missing or damaged.
        BackupRefused: there are more entries than a backup may hold.
    """
    found: dict[str, Kind] = {}
    commits = list(tips.values())
    folders: list[str] = []
    while commits or folders:
        if folders:
            sha = folders.pop()
            for row in repo.tree(sha):
                if row.sha in found:
                    continue
                found[row.sha] = "tree" if row.is_folder else "blob"
                if row.is_folder:
                    folders.append(row.sha)
            if len(found) > MOST_OBJECTS:
                raise BackupRefused(
                    f"The history has more than {MOST_OBJECTS:,} objects, which a backup cannot "
                    "hold. None was made. Export without the history."
                )
            continue
        sha = commits.pop()
        if sha in found:
            continue
        found[sha] = "commit"
        commit = repo.commit(sha)
        commits.extend(commit.parents)
        if commit.tree not in found:
            found[commit.tree] = "tree"
            folders.append(commit.tree)
    return found


def write_bundle(
    repo: Objects, tips: Mapping[str, str], out: Write, report: Report | None = None
) -> None:
    """Write a bundle of the references *tips*. *tell* gets the objects written, and their total.

    Raises:
        StoreBroken: an object is missing or damaged; the output so far is unusable.
    """
    objects = reachable(repo, tips)
    lines = [f"{sha} {name}\n" for name, sha in sorted(tips.items())]
    out(SIGNATURE + "".join(lines).encode("ascii") + b"\n")
    digest = hashlib.sha1(usedforsecurity=False)
    for piece in _pack(repo, objects, report or _silent):
        digest.update(piece)
        out(piece)
    out(digest.digest())


def _silent(done: int, total: int) -> None: ...


def _pack(repo: Objects, objects: Mapping[str, Kind], report: Report) -> Iterator[bytes]:
    yield _PACK_HEAD + len(objects).to_bytes(4)
    unpacked = 0
    for done, (sha, kind) in enumerate(objects.items()):
        unpacked += repo.size(sha)
        # Once the whole is large, no object is compressed so far that a reader takes it for a zip
        # bomb.
        yield from _one(repo, sha, kind, 0.02 if unpacked > FREE_RATIO_BYTES // 2 else 0.0)
        report(done, len(objects))


def _one(repo: Objects, sha: str, kind: Kind, least: float) -> Iterator[bytes]:
    """Encode one object for a pack, uncompressed if its ratio would be below *least*."""
    size = repo.size(sha)
    if kind != "blob" or size <= _LARGE:
        found, data = repo.read(sha)
        if found != kind:
            raise StoreBroken(f"Object {sha[:8]} of the history is a {found}, not a {kind}.")
        yield bytes(create_pack_object_header(NUMBERS[kind], len(data)))
        yield zlib.compress(data, _level(data, least))
        return
    yield bytes(create_pack_object_header(NUMBERS["blob"], size))
    machine = None
    for piece in repo.stream(sha):
        machine = machine or zlib.compressobj(_level(piece, least))
        yield machine.compress(piece)
    yield (machine or zlib.compressobj()).flush()


def _level(data: bytes, least: float) -> int:
    """Return the compression level: none for data that does not shrink, fast otherwise."""
    sample = data[: 1 << 14]
    size = len(zlib.compress(sample, 1))
    return 1 if least * len(sample) < size < 0.9 * len(sample) else 0


_CHUNK = 1 << 18
_MOST_HEAD = 16_000_000
_SUM_BYTES = 20

type Read = Callable[[int], bytes]


@dataclass(frozen=True)
class Unbundled:
    """A bundle's references with their commits, in the repository *path*; *unpacked* in bytes."""

    path: Path
    refs: dict[str, str]
    unpacked: int


def unbundle(read: Read, path: Path) -> Unbundled:
    """Fetch the bundle that *read* returns into a new bare repository at *path*.

    Its commits and folders are not validated yet (see ``histories``).

    Raises:
        BackupRefused: it is not a valid bundle.
        OSError: the disk refused.
    """
    source = _Source(read)
    refs = _refs(source)
    Repository.create(path).close()
    unpacked = _index(source, path / "objects" / "pack") if refs else 0
    return Unbundled(path, refs, unpacked)


def refused(why: str) -> BackupRefused:
    return BackupRefused(f"The history in this backup {why}. Nothing was changed.")


class _Source:
    """A stream that can be read by line, by number of bytes, and in pieces."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._held = b""
        self.digest = hashlib.sha1(usedforsecurity=False)
        self.taken = 0

    def line(self, most: int) -> bytes:
        while (end := self._held.find(b"\n")) < 0:
            more = self._read(_CHUNK)
            if not more or len(self._held) > most:
                raise refused("is cut short, or no history at all")
            self._held += more
        found, self._held = self._held[:end], self._held[end + 1 :]
        return found

    def piece(self) -> bytes:
        """Return buffered bytes without consuming them; empty at the end."""
        if not self._held:
            self._held = self._read(_CHUNK)
        return self._held

    def exactly(self, count: int, *, hashed: bool = True) -> bytes:
        while len(self._held) < count:
            more = self._read(_CHUNK)
            if not more:
                raise refused("is cut short")
            self._held += more
        return self.take(count, hashed=hashed)

    def take(self, count: int, *, hashed: bool = True) -> bytes:
        """Consume the next *count* bytes of those that ``piece`` returned."""
        found, self._held = self._held[:count], self._held[count:]
        if hashed:
            self.digest.update(found)
        self.taken += count
        return found


def _refs(source: _Source) -> dict[str, str]:
    """Read the references; all of them must have names that this project writes."""
    if source.line(64) + b"\n" != SIGNATURE:
        raise refused("is of a kind that Jenny does not read")
    refs: dict[str, str] = {}
    size = 0
    while line := source.line(4_096):
        size += len(line)
        sha, _, name = line.decode("utf-8", "replace").partition(" ")
        if not is_id(sha) or not REF.fullmatch(name) or name in refs:
            raise refused("has references that no workspace has")
        refs[name] = sha
        if len(refs) > MOST_REFS or size > _MOST_HEAD:
            raise refused("has more references than any workspace")
    return refs


def _index(source: _Source, folder: Path) -> int:
    """Copy the pack into *folder*, write its index, and return the unpacked size of its objects."""
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
    """One object, copied from the stream while it is unpacked to compute its id."""

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
        """Read the object's type number and size."""
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
                # At the end, the bytes that follow may be in either of them.
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


def all_refs(parts: Iterable[bytes]) -> Read:
    """Return a ``read`` function over *parts*, for callers without a file."""
    waiting = iter(parts)

    def read(count: int) -> bytes:
        del count
        return next(waiting, b"")

    return read
