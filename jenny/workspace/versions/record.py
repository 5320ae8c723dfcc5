"""Making versions: what changed since the newest one is committed, one commit an actor."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jenny.workspace import acts, diffs, locks, paths
from jenny.workspace.errors import StoreBusy, VersionsOff, reason_of
from jenny.workspace.git import trees
from jenny.workspace.git.store import Batch, Repository
from jenny.workspace.locks import Level
from jenny.workspace.versions import flat, messages, outside, replay, scan, tracked, writes
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.replay import Share
from jenny.workspace.versions.scan import Skipped
from jenny.workspace.versions.writes import RunNote

WORKTREE = "../.."
_TRIES = 5
_PARTS_SOUGHT = 200


@dataclass(frozen=True, slots=True)
class Recorded:
    """The versions that were made, oldest first, and what has none (``skipped``)."""

    versions: tuple[Version, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def commit_pending(
    root: Path, *, runs: Sequence[RunNote] = (), is_run_only: bool = False
) -> Recorded:
    """Make versions of everything that differs from the newest one; of nothing, none.

    Each actor's doings become a version of their own, in the order in which they happened
    (``writes``). *runs*: what to say of runs that end with this; of those under way ``begin_run``
    has told. A cursor alone makes no version: it rides in Dream's next one. *is_run_only*: of the
    skills, those are looked at that were written through Jenny; what others did to more of them
    meanwhile is for the next call.

    Raises:
        VersionsOff: the store cannot be used; nothing was lost, the next call tries again.
        LockTimeout: somebody else holds the workspace.
    """
    real = paths.real_root(root)
    with acts.locked(real), locks.hold(real, Level.GIT):
        try:
            for _ in range(_TRIES):
                with Repository.create(_store(real), worktree=WORKTREE) as repo:
                    made = _Making(real, repo, runs).commit(is_run_only=is_run_only)
                    if made is not None:
                        return made
        except OSError as error:
            message = f"No version was made: {reason_of(error)}."
            raise VersionsOff(message) from error
    raise StoreBusy("Another program keeps moving the store's newest version.")


def begin_run(root: Path, note: RunNote) -> Recorded:
    """Make versions of what others did before a run, then note what the run is.

    From here on a version of its writes can be made by whoever comes first.
    """
    real = paths.real_root(root)
    with acts.locked(real):
        made = commit_pending(real)
        writes.begin_run(real, note)
    return made


def commit_run(root: Path, note: RunNote) -> Recorded:
    """Make versions at the end of a run, also of one whose holder died; what is told of it in
    *note* stands in place of what ``begin_run`` noted. The run's own have its id in ``runs``."""
    return commit_pending(root, runs=[note], is_run_only=True)


@contextmanager
def reading(root: Path) -> Iterator[Repository | None]:
    """The store for reading; ``None`` when there is none yet.

    Raises:
        VersionsOff: it cannot be used.
    """
    git_dir = _store(paths.real_root(root))
    if not git_dir.is_symlink() and not git_dir.exists():
        yield None
        return
    with Repository(git_dir) as repo:
        yield repo


def _store(root: Path) -> Path:
    """Where the store is.

    Raises:
        VersionsOff: its folder is not the workspace's own.
    """
    git_dir = root / writes.GIT_DIR
    if git_dir.parent.is_symlink():
        raise VersionsOff(f"The folder {git_dir.parent.name} is a link.")
    return git_dir


@dataclass(slots=True)
class _State:
    """Where the making stands: the newest commit, its tree and files, and what was made."""

    tip: str | None
    tree: str | None
    files: dict[str, str]
    when: int
    made: list[str] = field(default_factory=list)
    new: dict[str, bytes] = field(default_factory=dict)  # contents that are not stored yet


class _Making:
    """One making of versions, under both locks."""

    def __init__(self, root: Path, repo: Repository, runs: Sequence[RunNote]) -> None:
        self.root = root
        self.repo = repo
        self.tip = repo.ref()
        self.log = writes.load(root, self.tip)
        self.ended = {note.run: note for note in runs}
        self.notes = {note.run: note for note in self.log.notes} | self.ended

    def commit(self, *, is_run_only: bool = False) -> Recorded | None:
        """Make the versions; ``None``: another program moved the newest one meanwhile."""
        newest = self.repo.commit(self.tip) if self.tip else None
        tree = newest.tree if newest else None
        before = flat.files_of(self.repo, tree)
        disk, after = self._look(before, is_run_only=is_run_only and newest is not None)
        shares = replay.replay(
            before, self.log.writes, after, lambda path: scan.content(self.root, path)
        )
        if not shares and not (newest is None and after):
            self._restart_log(self.tip)
            return Recorded((), disk.skipped)
        when = max(int(time.time()), newest.when if newest else 0)
        state = _State(self.tip, tree, before, when)
        with self.repo.batch() as batch:
            if newest is None:
                shares = self._first(batch, state, shares)
            for index, share in enumerate(shares):
                rest = any(set(later.runs) & set(share.runs) for later in shares[index + 1 :])
                self._share(batch, state, share, goes_on=rest)
        if state.made:
            assert state.tip is not None  # noqa: S101  (a version was made)
            if not self.repo.move_ref(state.tip, expect=self.tip):
                return None
            flat.remember(self.repo, state.tree or "", state.files)
        self._restart_log(state.tip)
        versions = tuple(messages.read(self.repo.commit(sha)) for sha in state.made)
        if state.made:
            self.repo.tidy()
        return Recorded(versions, disk.skipped)

    def _look(
        self, before: Mapping[str, str], *, is_run_only: bool
    ) -> tuple[scan.Disk, dict[str, str]]:
        """What is on disk; what was not looked at, or cannot be, is as it was *before*."""
        written = {write.path for write in self.log.writes if tracked.is_tracked(write.path)}
        only = written if is_run_only else None
        disk = scan.scan(self.root, only)
        after = dict(disk.files)
        if only is not None:
            looked = {*tracked.TRACKED_FILES, *only}
            after |= {path: sha for path, sha in before.items() if path not in looked}
        if disk.skipped:
            after |= {path: sha for path, sha in before.items() if disk.is_unknown(path)}
        return disk, after

    def _restart_log(self, tip: str | None) -> None:
        """Empty the log, unless it says all that it would say then."""
        notes = tuple(note for note in self.log.notes if note.run not in self.ended)
        if not self.log.size and tip == self.tip:
            return
        if self.log.writes or self.log.base != tip or notes != self.log.notes:
            writes.restart(self.root, tip, notes)

    def _first(self, batch: Batch, state: _State, shares: list[Share]) -> list[Share]:
        """The very first version: what was there before anybody's doings that are known of."""
        base: dict[str, bytes | None] = {}
        while shares and shares[0].actor.kind in ("outside", "setup"):
            base |= shares.pop(0).files
        self._version(batch, state, base, messages.FIRST, [("Actor", "setup")])
        return shares

    def _share(self, batch: Batch, state: _State, share: Share, *, goes_on: bool) -> None:
        """A version of one actor's doings, unless nothing of them is left to say."""
        changes = self._changes(state, share.files)
        if not changes.keys() - {tracked.CURSOR}:
            return
        if share.actor.kind == "outside":
            outside.tell(self.root, share.actor, changes)
        subject, facts = self._told(state, share, goes_on=goes_on)
        self._version(
            batch, state, {path: new for path, (_, new) in changes.items()}, subject, facts
        )

    def _changes(
        self, state: _State, files: Mapping[str, bytes | None]
    ) -> dict[str, tuple[bytes | None, bytes | None]]:
        """What in *files* really differs from the newest version: contents before and after."""
        pairs = {path: (self._content(state, path), new) for path, new in files.items()}
        return {
            path: (old, new)
            for path, (old, new) in pairs.items()
            if not diffs.is_same_text(old, new)
        }

    def _content(self, state: _State, path: str) -> bytes | None:
        """A file's content in the newest version."""
        sha = state.files.get(path)
        if sha is None:
            return None
        return state.new[sha] if sha in state.new else self.repo.blob(sha)

    def _told(
        self, state: _State, share: Share, *, goes_on: bool
    ) -> tuple[str, list[tuple[str, str]]]:
        """The subject and the facts of a share's version."""
        kind, runs = share.actor.kind, share.runs
        facts = [("Actor", kind)]
        if runs:
            facts.append(("Run", ", ".join(runs[:20])))
        if kind == "restore":
            what = runs[0] if runs else "files"
            if what.startswith(messages.UNDO_RUN):
                sha = what.removeprefix(messages.UNDO_RUN)
                return f"restore: undo {sha[: messages.SHORT]}", [*facts, ("Undoes", sha)]
            return f"restore: {what.replace(':', ' ')}", facts
        if kind != "dream":
            return messages.EDITS, facts
        run = runs[0] if runs else ""
        note = self.notes.get(run) or RunNote(run, "dream: run")
        if note.cursor is not None:
            facts.append(("Cursor", messages.cursor_out(note.cursor)))
        return f"{note.subject}{self._part(state, run, goes_on=goes_on)}", facts

    def _part(self, state: _State, run: str, *, goes_on: bool) -> str:
        """Which part of its run a version is, when others wrote in between."""
        parts = 0
        sha, looked = state.tip, 0
        while run and sha is not None and looked < _PARTS_SOUGHT:
            version = messages.read(self.repo.commit(sha))
            if version.kind == "dream" and run not in version.runs:
                break  # one run at a time: what another one made is older than this one
            parts += run in version.runs
            sha, looked = version.parent, looked + 1
        is_over = run in self.ended and not goes_on
        return "" if is_over and not parts else f" (part {parts + 1})"

    def _version(
        self,
        batch: Batch,
        state: _State,
        files: Mapping[str, bytes | None],
        subject: str,
        facts: Sequence[tuple[str, str]],
    ) -> None:
        """Write one version on top of the newest."""
        changes = {path: (self._content(state, path), new) for path, new in files.items()}
        ids = {path: None if data is None else batch.blob(data) for path, data in files.items()}
        message = messages.compose(subject, facts, changes)
        state.tree = trees.write(batch, self.repo, state.tree, ids)
        parents = [state.tip] if state.tip else []
        state.tip = batch.commit(state.tree, parents, message, when=state.when)
        state.made.append(state.tip)
        for path, sha in ids.items():
            if sha is None:
                state.files.pop(path, None)
            else:
                state.files[path] = sha
                state.new[sha] = files[path] or b""
