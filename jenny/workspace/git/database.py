"""Where a repository's objects lie: in packs, and in files of their own that other gits write."""

import contextlib
import os
import time
import zlib
from pathlib import Path

from jenny.workspace.errors import StoreBroken, reason_of
from jenny.workspace.git import objects, packing, packs
from jenny.workspace.git.objects import Kind
from jenny.workspace.git.packs import Pack

# The longest chain of objects that are each stored as a change of the next (git makes 50).
_CHAIN = 4096
_ORPHAN_SECONDS = 3600.0


class Database:
    """The objects below one folder. For one thread; ``close`` lets go of every file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.pack_folder = folder / "pack"
        self._packs: list[Pack] | None = None

    def close(self) -> None:
        """Let go of every file; the next look opens those that are there then."""
        for pack in self._packs or ():
            pack.close()
        self._packs = None

    def read(self, sha: str) -> tuple[Kind, bytes]:
        """An object's kind and content, checked against its id.

        Raises:
            StoreBroken: it is missing or damaged.
        """
        try:
            found = self._find(sha)
        except OSError as error:
            raise StoreBroken(f"Object {sha[:8]} cannot be read: {reason_of(error)}.") from error
        if objects.id_of(*found) != sha:
            raise StoreBroken(f"Object {sha[:8]} of the store is damaged.")
        return found

    def has(self, sha: str) -> bool:
        """Whether the object is there (not whether it is whole)."""
        return self._place(bytes.fromhex(sha)) is not None or self._loose_path(sha).is_file()

    def starting(self, prefix: str) -> set[str]:
        """Ids that begin with *prefix* (lower-case hex), at most 100 of each pack."""
        found = {sha for pack in self.packs() for sha in pack.starting(prefix)}
        with contextlib.suppress(OSError):
            names = os.listdir(self._folder / prefix[:2])  # noqa: PTH208  (names are wanted)
            ids = (prefix[:2] + name for name in names)
            found |= {sha for sha in ids if objects.is_id(sha) and sha.startswith(prefix)}
        return found

    def take_in(self, index: Path) -> None:
        """Read from a pack that was just written, too."""
        if self._packs is not None:
            self._packs.insert(0, Pack(index))

    def tidy(self) -> None:
        """Join packs when there are many of a size; remove temporary files that grew old."""
        chosen = packing.to_join(self.packs())
        if chosen:
            packing.join(self.pack_folder, chosen)
            self.close()
        born_before = time.time() - _ORPHAN_SECONDS
        names = set(os.listdir(self.pack_folder))  # noqa: PTH208  (names are wanted)
        for name in names:
            is_temp = name.startswith(packing.TEMP_PREFIX)
            is_half = name.endswith(".pack") and f"{name.removesuffix('.pack')}.idx" not in names
            if is_temp or is_half:
                path = self.pack_folder / name
                if path.lstat().st_mtime < born_before:
                    path.unlink(missing_ok=True)

    def packs(self) -> list[Pack]:
        """The packs, those used or written last first; what vanishes meanwhile is left out."""
        if self._packs is None:
            found: list[tuple[int, Pack]] = []
            for path in self.pack_folder.glob("pack-*.idx"):
                with contextlib.suppress(FileNotFoundError):
                    found.append((path.lstat().st_mtime_ns, Pack(path)))
            found.sort(key=lambda row: row[0], reverse=True)
            self._packs = [pack for _, pack in found]
        return self._packs

    def _place(self, sha: bytes) -> tuple[Pack, int] | None:
        """The pack that has the object, and its place there.

        The pack is asked first from then on: who wants one object of it wants its neighbours.
        """
        opened = self.packs()
        for index, pack in enumerate(opened):
            place = pack.position(sha)
            if place is not None:
                if index:
                    opened.insert(0, opened.pop(index))
                return pack, place
        return None

    def _find(self, sha: str) -> tuple[Kind, bytes]:
        """An object, wherever it is; packs are looked for anew once, since others join them."""
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                where = self._place(bytes.fromhex(sha))
                if where is not None:
                    return self._from_pack(where[0], where[0].offset_at(where[1]))
                return self._loose(sha)
            self.close()
        raise StoreBroken(f"Object {sha[:8]} is missing from the store.")

    def _from_pack(self, pack: Pack, offset: int) -> tuple[Kind, bytes]:
        """An object of a pack; one that is stored as a change of another is made from that."""
        changes: list[bytes] = []
        while len(changes) < _CHAIN:
            raw = pack.raw(offset)
            if raw.kind is not None:
                found = (raw.kind, raw.data)
                break
            changes.append(raw.data)
            if raw.base_id:
                found = self.read(raw.base_id)
                break
            offset = raw.base_offset
        else:
            raise StoreBroken(f"The file {pack.path.stem}.pack of the store is damaged.")
        for change in reversed(changes):
            found = packs.resolve_delta(found, change)
        return found

    def _loose_path(self, sha: str) -> Path:
        return self._folder / sha[:2] / sha[2:]

    def _loose(self, sha: str) -> tuple[Kind, bytes]:
        """An object in a file of its own, as other gits write them."""
        fd = os.open(self._loose_path(sha), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            try:
                head, _, data = zlib.decompress(file.read()).partition(b"\0")
            except zlib.error as error:
                raise StoreBroken(f"Object {sha[:8]} of the store is damaged.") from error
        return packs.as_kind(head.partition(b" ")[0]), data
