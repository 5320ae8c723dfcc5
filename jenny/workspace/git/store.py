"""A repository: objects read and written, references moved, nothing else of git's."""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from jenny.workspace.errors import StoreBroken, VersionsOff, reason_of
from jenny.workspace.git import objects, packing, refs
from jenny.workspace.git.database import Database
from jenny.workspace.git.objects import Commit, Kind, TreeEntry

MAIN = "refs/heads/main"

_TEMP = ".jenny-store-"
# How much of what was read one open repository keeps in memory.
_KEPT_ENTRIES = 200_000
_KEPT_COMMITS = 5000

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = {bare}
{worktree}"""


class Repository:
    """An open repository. Use it as a context manager, by one thread; ``close`` ends it.

    Who writes to it holds a lock that keeps other processes of the product out.
    """

    def __init__(self, git_dir: Path) -> None:
        """Open the repository in the folder *git_dir*.

        Raises:
            VersionsOff: there is none, or what is there may not be used.
        """
        self.git_dir = git_dir
        self.database = Database(git_dir / "objects")
        self._trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._entries = 0
        self._commits: dict[str, Commit] = {}
        # What a batch writes can be read before it is there for others.
        self._new_trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._new_commits: dict[str, Commit] = {}
        for part in ("", "objects", "objects/pack", "refs", "refs/heads"):
            _require_folder(git_dir / part, git_dir)

    @classmethod
    def create(cls, git_dir: Path, *, worktree: str = "") -> "Repository":
        """Open the repository, and make it first where nothing is. *worktree*: for people who
        look at it with git, the folder it is about, from *git_dir*; empty for none."""
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
        """Let go of every file."""
        self.database.close()

    # Reading ---------------------------------------------------------------------------

    def read(self, sha: str) -> tuple[Kind, bytes]:
        """An object's kind and content, checked against its id.

        Raises:
            StoreBroken: it is missing or damaged.
        """
        return self.database.read(sha)

    def blob(self, sha: str) -> bytes:
        """The content of a file."""
        return self._expect(sha, "blob")

    def tree(self, sha: str) -> tuple[TreeEntry, ...]:
        """The entries of a folder."""
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
        """A commit."""
        found = self._new_commits.get(sha, self._commits.get(sha))
        if found is None:
            found = objects.decode_commit(sha, self._expect(sha, "commit"))
            if len(self._commits) >= _KEPT_COMMITS:
                self._commits.clear()
            self._commits[sha] = found
        return found

    def remember_tree(self, sha: str, entries: tuple[TreeEntry, ...]) -> None:
        """Know a tree that is being written."""
        self._new_trees[sha] = entries

    def remember_commit(self, commit: Commit) -> None:
        """Know a commit that is being written."""
        self._new_commits[commit.sha] = commit

    def forget_new(self) -> None:
        """What was being written is there for everybody by now, or never will be."""
        self._new_trees.clear()
        self._new_commits.clear()

    def has(self, sha: str) -> bool:
        """Whether the object is there (not whether it is whole)."""
        return self.database.has(sha)

    def commits_starting(self, prefix: str) -> list[str]:
        """Ids of commits that begin with *prefix*, 4 to 40 digits of lower-case hex."""
        return sorted(
            sha for sha in self.database.starting(prefix) if self.read(sha)[0] == "commit"
        )

    def ref(self, name: str = MAIN) -> str | None:
        """The commit that a reference stands for; ``None``: there is no such reference."""
        return refs.read(self.git_dir, name)

    def refs(self, prefix: str = "refs") -> dict[str, str]:
        """All references below the folder *prefix*, by name."""
        return refs.every(self.git_dir, prefix)

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
        """Let *name* stand for *new* if it still stands for *expect*; whether it did.

        Raises:
            StoreBusy: another program keeps the reference's lock.
            VersionsOff: the disk refuses.
        """
        try:
            return refs.move(self.git_dir, name, new, expect=expect)
        except OSError as error:
            raise VersionsOff(f"{name} cannot be written: {reason_of(error)}.") from error

    def delete_ref(self, name: str, *, expect: str) -> bool:
        """Remove a reference if it still stands for *expect*; whether it did."""
        try:
            return refs.delete(self.git_dir, name, expect=expect)
        except OSError as error:
            raise VersionsOff(f"{name} cannot be removed: {reason_of(error)}.") from error

    def tidy(self) -> None:
        """Join packs when there are many of a size, and remove what dead processes left.

        Call it after writing, under the lock that writers hold. Nothing that could be joined or
        removed is needed, so whatever stands in the way is left for the next time.
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
    """Objects on their way into a repository; from ``Repository.batch``."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._writer: packing.PackWriter | None = None
        self._new: set[str] = set()

    def add(self, kind: Kind, data: bytes) -> str:
        """Write an object unless it is there; its id."""
        sha = objects.id_of(kind, data)
        if sha not in self._new and not self._repo.has(sha):
            if self._writer is None:
                self._writer = packing.PackWriter(self._repo.database.pack_folder)
            self._writer.add(sha, kind, data)
            self._new.add(sha)
        return sha

    def blob(self, data: bytes) -> str:
        """Write a file's content; its id."""
        return self.add("blob", data)

    def tree(self, entries: Sequence[TreeEntry]) -> str:
        """Write a folder; its id. It can be read at once."""
        sha = self.add("tree", objects.encode_tree(entries))
        self._repo.remember_tree(sha, tuple(entries))
        return sha

    def commit(self, tree: str, parents: Sequence[str], message: str, *, when: int) -> str:
        """Write a commit; its id. It can be read at once."""
        data = objects.encode_commit(tree, parents, message, when=when)
        sha = self.add("commit", data)
        self._repo.remember_commit(objects.decode_commit(sha, data))
        return sha

    def finish(self) -> None:
        """Make everything durable."""
        if self._writer is not None:
            self._repo.database.take_in(self._writer.finish())
            self._writer = None

    def discard(self) -> None:
        """Leave nothing half-written behind."""
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
    """Make an empty repository, whole or not at all."""
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    prefix = f"{_TEMP}{git_dir.name}-"
    for left in git_dir.parent.glob(f"{prefix}*.tmp"):  # by who was killed while making this one
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
            packing.sync_folder(temp / folder)
        with contextlib.suppress(FileExistsError):
            os.rename(temp, git_dir)  # noqa: PTH104  (one call to watch)
        packing.sync_folder(git_dir.parent)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
