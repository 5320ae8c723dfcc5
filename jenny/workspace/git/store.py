"""Open a repository: find, read and write objects in packs and loose files, and move references."""

import contextlib
import os
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from jenny.workspace.errors import StoreBroken, VersionsOff, reason_of
from jenny.workspace.git import objects, packs, refs
from jenny.workspace.git.objects import Commit, Kind, TreeEntry
from jenny.workspace.git.packs import Pack

# The longest chain of deltas (git makes 50).
_CHAIN = 4096
_ORPHAN_SECONDS = 3600.0


class Database:
    """The objects below one folder. For one thread; ``close`` closes every file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.pack_folder = folder / "pack"
        self._packs: list[Pack] | None = None

    def close(self) -> None:
        """Close every file; the next read opens the current ones."""
        for pack in self._packs or ():
            pack.close()
        self._packs = None

    def read(self, sha: str) -> tuple[Kind, bytes]:
        """Read an object's kind and content, checked against its id.

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
        """True when the object exists (it may be damaged)."""
        return self._in_packs(bytes.fromhex(sha)) is not None or self._loose_path(sha).is_file()

    def starting(self, prefix: str) -> set[str]:
        """Return ids that begin with *prefix* (lower-case hex), at most 100 of each pack."""
        found = {sha for pack in self.packs() for sha in pack.starting(prefix)}
        with contextlib.suppress(OSError):
            names = os.listdir(self._folder / prefix[:2])  # noqa: PTH208  (names are wanted)
            ids = (prefix[:2] + name for name in names)
            found |= {sha for sha in ids if objects.is_id(sha) and sha.startswith(prefix)}
        return found

    def add_pack(self, index: Path) -> None:
        if self._packs is not None:
            self._packs.insert(0, Pack(index))

    def tidy(self) -> None:
        """Join packs when there are many of one size; remove old temporary files."""
        chosen = packs.packs_to_join(self.packs())
        if chosen:
            packs.join_packs(self.pack_folder, chosen)
            self.close()
        born_before = time.time() - _ORPHAN_SECONDS
        names = set(os.listdir(self.pack_folder))  # noqa: PTH208  (names are wanted)
        for name in names:
            is_temp = name.startswith(packs.TEMP_PREFIX)
            is_half = name.endswith(".pack") and f"{name.removesuffix('.pack')}.idx" not in names
            if is_temp or is_half:
                path = self.pack_folder / name
                if path.lstat().st_mtime < born_before:
                    path.unlink(missing_ok=True)

    def packs(self) -> list[Pack]:
        """Return the packs, the last used or written first, without those that vanish meanwhile."""
        if self._packs is None:
            found: list[tuple[int, Pack]] = []
            for path in self.pack_folder.glob("pack-*.idx"):
                with contextlib.suppress(FileNotFoundError):
                    found.append((path.lstat().st_mtime_ns, Pack(path)))
            found.sort(key=lambda row: row[0], reverse=True)
            self._packs = [pack for _, pack in found]
        return self._packs

    def _in_packs(self, sha: bytes) -> tuple[Pack, int] | None:
        """Return the pack that has the object, and its offset.

        That pack is asked first from then on, since its other objects are likely to be read next.
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
        """Find an object; the list of packs is refreshed once, since other processes join them."""
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                where = self._in_packs(bytes.fromhex(sha))
                if where is not None:
                    return self._from_pack(where[0], where[0].offset_at(where[1]))
                return self._loose(sha)
            self.close()
        raise StoreBroken(f"Object {sha[:8]} is missing from the store.")

    def _from_pack(self, pack: Pack, offset: int) -> tuple[Kind, bytes]:
        """Read an object of a pack and apply its deltas."""
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
        """Read a loose object, as other gits write them."""
        fd = os.open(self._loose_path(sha), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            try:
                head, _, data = zlib.decompress(file.read()).partition(b"\0")
            except zlib.error as error:
                raise StoreBroken(f"Object {sha[:8]} of the store is damaged.") from error
        return packs.as_kind(head.partition(b" ")[0]), data


MAIN = "refs/heads/main"

_TEMP = ".jenny-store-"
# How many tree entries one open repository caches.
_KEPT_ENTRIES = 200_000
_KEPT_COMMITS = 5000

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = {bare}
{worktree}"""


class Repository:
    """An open repository. Use it as a context manager, in one thread; ``close`` ends it.

    Writers hold a lock that keeps other processes of the product out.
    """

    def __init__(self, git_dir: Path) -> None:
        """Open the repository in the folder *git_dir*.

        Raises:
            VersionsOff: there is none, or it may not be used.
        """
        self.git_dir = git_dir
        self.database = Database(git_dir / "objects")
        self._trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._entries = 0
        self._commits: dict[str, Commit] = {}
        # The objects of a batch can be read before they are visible to others.
        self._new_trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._new_commits: dict[str, Commit] = {}
        for part in ("", "objects", "objects/pack", "refs", "refs/heads"):
            _require_folder(git_dir / part, git_dir)

    @classmethod
    def create(cls, git_dir: Path, *, worktree: str = "") -> "Repository":
        """Open the repository, and create it first if it does not exist.

        *worktree*: the folder it is about, from *git_dir*, for people who use git on it; empty for
        none.
        """
        try:
            if not os.path.lexists(git_dir):
                _make(git_dir, worktree)
        except OSError as error:
            raise VersionsOff(f"The store {git_dir} cannot be made: {reason_of(error)}.") from error
        return cls(git_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.database.close()

    # Reading ---------------------------------------------------------------------------

    def read(self, sha: str) -> tuple[Kind, bytes]:
        """Read an object's kind and content, checked against its id.

        Raises:
            StoreBroken: it is missing or damaged.
        """
        return self.database.read(sha)

    def blob(self, sha: str) -> bytes:
        return self._expect(sha, "blob")

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        found = self._new_trees.get(sha, self._trees.get(sha))
        if found is None:
            found = objects.decode_tree(self._expect(sha, "tree"))
            self._entries += len(found)
            if self._entries > _KEPT_ENTRIES:
                self._trees.clear()
                self._entries = len(found)
            self._trees[sha] = found
        return found

    def commit(self, sha: str) -> Commit:
        found = self._new_commits.get(sha, self._commits.get(sha))
        if found is None:
            found = objects.decode_commit(sha, self._expect(sha, "commit"))
            if len(self._commits) >= _KEPT_COMMITS:
                self._commits.clear()
            self._commits[sha] = found
        return found

    def remember_tree(self, sha: str, entries: tuple[TreeEntry, ...]) -> None:
        self._new_trees[sha] = entries

    def remember_commit(self, commit: Commit) -> None:
        self._new_commits[commit.sha] = commit

    def forget_new(self) -> None:
        """Drop the cached objects of a batch: it was finished or abandoned."""
        self._new_trees.clear()
        self._new_commits.clear()

    def has(self, sha: str) -> bool:
        """True when the object exists (it may be damaged)."""
        return self.database.has(sha)

    def commits_starting(self, prefix: str) -> list[str]:
        """Return ids of commits that begin with *prefix*, 4 to 40 digits of lower-case hex."""
        return sorted(
            sha for sha in self.database.starting(prefix) if self.read(sha)[0] == "commit"
        )

    def ref(self, name: str = MAIN) -> str | None:
        """Return the commit of a reference; ``None``: there is no such reference."""
        return refs.read_ref(self.git_dir, name)

    def refs(self, prefix: str = "refs") -> dict[str, str]:
        return refs.list_refs(self.git_dir, prefix)

    # Writing ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def batch(self) -> Iterator["Batch"]:
        """Write objects, all of them durable when the block ends; none if it raises.

        Raises:
            VersionsOff: the disk refuses.
        """
        batch = Batch(self)
        try:
            yield batch
            batch.finish()
        except OSError as error:
            raise VersionsOff(
                f"The store {self.git_dir.name} cannot be written: {reason_of(error)}."
            ) from error
        finally:
            batch.discard()

    def move_ref(self, new: str, *, expect: str | None, name: str = MAIN) -> bool:
        """Move *name* to *new* if it still refers to *expect*; return True when it did.

        Raises:
            StoreBusy: another program keeps the reference's lock.
            VersionsOff: the disk refuses.
        """
        try:
            return refs.move(self.git_dir, name, new, expect=expect)
        except OSError as error:
            raise VersionsOff(f"{name} cannot be written: {reason_of(error)}.") from error

    def delete_ref(self, name: str, *, expect: str) -> bool:
        """Remove a reference if it still refers to *expect*; return True when it did."""
        try:
            return refs.delete(self.git_dir, name, expect=expect)
        except OSError as error:
            raise VersionsOff(f"{name} cannot be removed: {reason_of(error)}.") from error

    def tidy(self) -> None:
        """Join packs when there are many of one size, and remove leftovers of dead processes.

        Call it after writing, under the writers' lock. It is optional work, so errors are ignored
        until the next time.
        """
        with contextlib.suppress(OSError, VersionsOff):
            self.database.tidy()
            refs.clear_stale(self.git_dir, self.git_dir / "index.lock")

    def _expect(self, sha: str, kind: Kind) -> bytes:
        found, data = self.read(sha)
        if found != kind:
            raise StoreBroken(f"Object {sha[:8]} of the store is a {found}, not a {kind}.")
        return data


class Batch:
    """Objects being written to a repository; from ``Repository.batch``."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._writer: packs.PackWriter | None = None
        self._new: set[str] = set()

    def add(self, kind: Kind, data: bytes) -> str:
        """Write an object unless it exists, and return its id."""
        sha = objects.id_of(kind, data)
        if sha not in self._new and not self._repo.has(sha):
            if self._writer is None:
                self._writer = packs.PackWriter(self._repo.database.pack_folder)
            self._writer.add(sha, kind, data)
            self._new.add(sha)
        return sha

    def blob(self, data: bytes) -> str:
        return self.add("blob", data)

    def tree(self, entries: Sequence[TreeEntry]) -> str:
        """Write a folder and return its id. It can be read at once."""
        sha = self.add("tree", objects.encode_tree(entries))
        self._repo.remember_tree(sha, tuple(entries))
        return sha

    def commit(self, tree: str, parents: Sequence[str], message: str, *, when: int) -> str:
        """Write a commit and return its id. It can be read at once."""
        data = objects.encode_commit(tree, parents, message, when=when)
        sha = self.add("commit", data)
        self._repo.remember_commit(objects.decode_commit(sha, data))
        return sha

    def finish(self) -> None:
        if self._writer is not None:
            self._repo.database.add_pack(self._writer.finish())
            self._writer = None

    def discard(self) -> None:
        self._repo.forget_new()
        if self._writer is not None:
            self._writer.discard()
            self._writer = None


def _require_folder(path: Path, git_dir: Path) -> None:
    """Refuse to use a repository that is not made of plain folders.

    Raises:
        VersionsOff: it is missing, a link, or a file that names another repository.
    """
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        raise VersionsOff(f"The store {git_dir} cannot be used: {reason_of(error)}.") from error
    if not stat.S_ISDIR(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no folder"
        raise VersionsOff(f"The store cannot be used: {path} is {what}.")


def _make(git_dir: Path, worktree: str) -> None:
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    prefix = f"{_TEMP}{git_dir.name}-"
    # left by a process that was killed while creating this one
    for left in git_dir.parent.glob(f"{prefix}*.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    temp = git_dir.with_name(f"{prefix}{secrets.token_hex(8)}.tmp")
    line = f"\tworktree = {worktree}\n" if worktree else ""
    config = _CONFIG.format(bare="false" if worktree else "true", worktree=line)
    try:
        for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
            (temp / folder).mkdir(parents=True)
        for name, text in (("HEAD", f"ref: {MAIN}\n"), ("config", config)):
            with (temp / name).open("x", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        for folder in ("objects", "refs", "."):
            packs.sync_folder(temp / folder)
        with contextlib.suppress(FileExistsError):
            os.rename(temp, git_dir)  # noqa: PTH104  (one call to watch)
        packs.sync_folder(git_dir.parent)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
