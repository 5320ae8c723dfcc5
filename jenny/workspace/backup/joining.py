"""Adding a history that was fetched and judged to the one that is there: nothing is taken from
it, and what both have is there once.
"""

import contextlib
import os
import shutil
import time
from pathlib import Path

from jenny.workspace import acts, locks, paths
from jenny.workspace.backup.unbundling import Unbundled
from jenny.workspace.errors import StoreBusy, VersionsOff, reason_of
from jenny.workspace.git.packing import sync_folder
from jenny.workspace.git.store import MAIN, Repository
from jenny.workspace.locks import Level
from jenny.workspace.snapshots.store import Store
from jenny.workspace.versions import writes
from jenny.workspace.versions.record import WORKTREE

_TRIES = 5
JOINED = "chore: versions of an imported backup joined"


def join_snapshots(store: Store, fetched: Unbundled) -> int:
    """Add the snapshots that the store does not have; how many.

    Raises:
        VersionsOff, LockTimeout: the store cannot be used; again is safe.
    """
    with store.write() as repo:
        here = set(store.ids())
        new = {name: sha for name, sha in fetched.refs.items() if _id(name) not in here}
        if new:
            _take_packs(fetched.path, repo)
        done = sum(repo.move_ref(sha, expect=None, name=name) for name, sha in new.items())
        repo.tidy()
    return done


def new_snapshots(store: Store, fetched: Unbundled) -> int:
    """How many snapshots ``join_snapshots`` would add."""
    here = set(store.ids()) if store.exists else set[str]()
    return sum(_id(name) not in here for name in fetched.refs)


def join_versions(root: Path, fetched: Unbundled) -> str:
    """Let the versions of the workspace at *root* go on from those that came; what was done:
    ``none``, ``taken`` or ``joined``.

    Where both histories have versions that the other has not, a version with two parents holds
    both: the log goes on with those that came, since the files did.

    Raises:
        VersionsOff, LockTimeout: the store cannot be used; again is safe.
    """
    theirs = fetched.refs.get(MAIN)
    if theirs is None:
        return "none"
    real = paths.real_root(root)
    with acts.locked(real), locks.hold(real, Level.GIT):
        git_dir = real / writes.GIT_DIR
        if git_dir.parent.is_symlink():
            raise VersionsOff(f"The folder {git_dir.parent.name} is a link.")
        for _ in range(_TRIES):
            with Repository.create(git_dir, worktree=WORKTREE) as repo:
                ours = repo.ref()
                if ours is not None and repo.has(theirs) and _is_behind(repo, theirs, ours):
                    return "none"
                _take_packs(fetched.path, repo)
                tip, done = theirs, "taken"
                if ours is not None and not _is_behind(repo, ours, theirs):
                    tip, done = _joined(repo, theirs, ours), "joined"
                if repo.move_ref(tip, expect=ours):
                    return done
    raise StoreBusy("Another program keeps moving the store's newest version.")


def _id(name: str) -> str:
    return name.rpartition("/")[2]


def _is_behind(repo: Repository, old: str, new: str) -> bool:
    """Whether *old* is *new*, or one of those that it goes on from."""
    seen, waiting = set[str](), [new]
    while waiting:
        sha = waiting.pop()
        if sha == old:
            return True
        if sha not in seen:
            seen.add(sha)
            waiting.extend(repo.commit(sha).parents)
    return False


def _joined(repo: Repository, theirs: str, ours: str) -> str:
    """A version that goes on from both, with the files of those that came."""
    commit = repo.commit(theirs)
    when = max(int(time.time()), commit.when, repo.commit(ours).when)
    with repo.batch() as batch:
        return batch.commit(commit.tree, (theirs, ours), f"{JOINED}\n", when=when)


def _take_packs(fetched: Path, repo: Repository) -> None:
    """Put the packs of a fetched repository among those of *repo*, durably."""
    target = repo.database.pack_folder
    try:
        for index in (fetched / "objects" / "pack").glob("pack-*.idx"):
            for path in (index.with_suffix(".pack"), index):
                _place(path, target / path.name)
        sync_folder(target)
    except OSError as error:
        message = f"The history cannot be written: {reason_of(error)}."
        raise VersionsOff(message) from error
    repo.database.close()


def _place(source: Path, target: Path) -> None:
    """Give a file a second place, or a copy that appears whole where the disk is another one."""
    if target.exists():
        return
    temp = target.with_name(f"tmp_{target.name}")
    temp.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        os.link(source, temp)
    if not temp.exists():
        shutil.copyfile(source, temp)
        fd = os.open(temp, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    temp.chmod(0o444)
    temp.rename(target)
