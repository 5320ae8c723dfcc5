"""Commit the changes since the newest version, one commit for each actor.

Edits made outside the workspace layer (an editor, a copied file) are found when versions are made,
long after they were written, so they cannot be refused. Other packages register listeners for them;
a listener may be called again when a process was killed in between.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jenny.workspace import diffs, locks, paths, transactions
from jenny.workspace.check import Finding
from jenny.workspace.errors import StoreBusy, VersionsOff, WorkspaceError, reason_of
from jenny.workspace.git import trees
from jenny.workspace.git.store import Batch, Repository
from jenny.workspace.locks import Level
from jenny.workspace.versions import messages, tracked_files, write_log
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked_files import Skipped
from jenny.workspace.versions.write_log import RunNote, Share
from jenny.workspace.write_rules import Actor, Change

logger = logging.getLogger(__name__)

Listener = Callable[[Sequence[Change]], None]
_listeners: dict[str, Listener] = {}


def register_external_edit_listener(listener: Listener) -> None:
    """Call *listener* with external edits before they become a version, under the lock."""
    _listeners[f"{listener.__module__}.{listener.__qualname__}"] = listener


def notify_external_edits(
    root: Path, actor: Actor, changes: Mapping[str, tuple[bytes | None, bytes | None]]
) -> None:
    """Call every listener; a failing one does not stop the version."""
    rows = [Change(path, old, new, actor, root) for path, (old, new) in changes.items()]
    for listener in list(_listeners.values()):
        try:
            listener(rows)
        except (OSError, WorkspaceError) as error:
            logger.warning("edits made outside could not be noted: %s", error)


WORKTREE = "../.."
_TRIES = 5
_PARTS_SOUGHT = 200
_OURS = re.compile(rb"^\s*worktree\s*=\s*\"?\.\./\.\.\"?\s*$", re.MULTILINE | re.IGNORECASE)
_MOST_CONFIG = 100_000


@dataclass(frozen=True, slots=True)
class Recorded:
    """The new versions, oldest first, and the files without one (``skipped``)."""

    versions: tuple[Version, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def commit_pending(
    root: Path, *, runs: Sequence[RunNote] = (), is_run_only: bool = False
) -> Recorded:
    """Commit everything that differs from the newest version, if anything does.

    Each actor's changes become a version of their own, in the order in which they happened
    (``write_log``). *runs*: descriptions of runs that end with this; ``begin_run`` described those
    in progress. A cursor alone makes no version: it is added to Dream's next one. *is_run_only*:
    only skills that were written through Jenny are scanned; changes of other skills wait for the
    next call.

    Raises:
        VersionsOff: the store cannot be used; nothing was lost, the next call tries again.
        LockTimeout: another process holds the workspace.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real), locks.hold(real, Level.GIT):
        try:
            for _ in range(_TRIES):
                with Repository.create(store_folder(real), worktree=WORKTREE) as repo:
                    made = _Making(real, repo, runs).commit(is_run_only=is_run_only)
                    if made is not None:
                        return made
        except OSError as error:
            message = f"No version was made: {reason_of(error)}."
            raise VersionsOff(message) from error
    raise StoreBusy("Another program keeps moving the store's newest version.")


def begin_run(root: Path, note: RunNote) -> Recorded:
    """Commit the changes of others before a run, then record what the run is.

    From here on any process can commit its writes.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        made = commit_pending(real)
        write_log.begin_run(real, note)
    return made


def commit_run(root: Path, note: RunNote) -> Recorded:
    """Commit at the end of a run, also of one whose process died.

    *note* replaces the one of ``begin_run``. The run's own versions have its id in ``runs``.
    """
    return commit_pending(root, runs=[note], is_run_only=True)


@contextmanager
def reading(root: Path) -> Iterator[Repository | None]:
    """Open the store for reading; ``None`` when there is none yet.

    Raises:
        VersionsOff: it cannot be used.
    """
    git_dir = store_folder(paths.real_root(root))
    if not git_dir.is_symlink() and not git_dir.exists():
        yield None
        return
    with Repository(git_dir) as repo:
        yield repo


def store_folder(root: Path) -> Path:
    """Return the folder of the store.

    Raises:
        VersionsOff: its folder is not the workspace's own, or contains a person's own repository.
    """
    git_dir = root / write_log.GIT_DIR
    if git_dir.parent.is_symlink():
        raise VersionsOff(f"The folder {git_dir.parent.name} is a link.")
    if _is_foreign(git_dir):
        raise VersionsOff(
            f"{write_log.GIT_DIR} is a repository that Jenny did not make; it is left alone, and "
            "no "
            "version is kept in it."
        )
    return git_dir


def _is_foreign(git_dir: Path) -> bool:
    """True when another program made the repository.

    The configuration of ours has the whole workspace as its worktree; if somebody changed that, its
    newest version shows that it is ours.
    """
    try:
        with (git_dir / "config").open("rb") as file:
            if _OURS.search(file.read(_MOST_CONFIG)):
                return False
    except OSError:
        return False  # there is none, or opening the store reports the fault
    try:
        with Repository(git_dir) as repo:
            tip = repo.ref()
            return tip is None or messages.parse_message(repo.commit(tip)).kind == "foreign"
    except VersionsOff:
        return not git_dir.is_symlink()


@dataclass(slots=True)
class _State:
    """The state of the commits: the newest one, its tree and files, and the new versions."""

    tip: str | None
    tree: str | None
    files: dict[str, str]
    when: int
    made: list[str] = field(default_factory=list)
    new: dict[str, bytes] = field(default_factory=dict)  # contents that are not stored yet


class _Making:
    """One commit of pending changes, under both locks."""

    def __init__(self, root: Path, repo: Repository, runs: Sequence[RunNote]) -> None:
        self.root = root
        self.repo = repo
        self.tip = repo.ref()
        self.log = write_log.load(root, self.tip)
        self.ended = {note.run: note for note in runs}
        self.notes = {note.run: note for note in self.log.notes} | self.ended

    def commit(self, *, is_run_only: bool = False) -> Recorded | None:
        """Make the versions; ``None``: another program moved the newest one meanwhile."""
        newest = self.repo.commit(self.tip) if self.tip else None
        tree = newest.tree if newest else None
        before = tracked_files.list_tree(self.repo, tree)
        disk, after = self._look(before, is_run_only=is_run_only and newest is not None)
        shares = write_log.attribute_changes(
            before,
            self.log.writes,
            after,
            lambda path: tracked_files.read_tracked_file(self.root, path),
        )
        if not shares and not (newest is None and after):
            if newest is not None and not trees.has_index(self.repo.git_dir):
                trees.write_index(self.repo.git_dir, before)
            self._restart_log(self.tip)
            return Recorded((), disk.skipped)
        when = max(int(time.time()), newest.when if newest else 0)
        state = _State(self.tip, tree, before, when)
        with self.repo.batch() as batch:
            if newest is None:
                shares = self._first(batch, state, shares)
            for number, share in enumerate(shares, 1):
                rest = any(set(later.runs) & set(share.runs) for later in shares[number:])
                self._share(batch, state, share, goes_on=rest)
        if state.made:
            assert state.tip is not None  # noqa: S101  (a version was made)
            if not self.repo.move_ref(state.tip, expect=self.tip):
                return None
            tracked_files.remember_tree(self.repo, state.tree or "", state.files)
        if state.made:
            trees.write_index(self.repo.git_dir, state.files)
        self._restart_log(state.tip)
        versions = tuple(messages.parse_message(self.repo.commit(sha)) for sha in state.made)
        if state.made:
            self.repo.tidy()
        return Recorded(versions, disk.skipped)

    def _look(
        self, before: Mapping[str, str], *, is_run_only: bool
    ) -> tuple[tracked_files.Disk, dict[str, str]]:
        """Scan the disk; paths that were not or cannot be scanned have their ids from *before*."""
        written = {write.path for write in self.log.writes if tracked_files.is_tracked(write.path)}
        only = written if is_run_only else None
        disk = tracked_files.scan_tracked_files(self.root, only)
        after = dict(disk.files)
        if only is not None:
            looked = {*tracked_files.TRACKED_FILES, *only}
            after |= {path: sha for path, sha in before.items() if path not in looked}
        if disk.skipped:
            after |= {path: sha for path, sha in before.items() if disk.is_unknown(path)}
        return disk, after

    def _restart_log(self, tip: str | None) -> None:
        """Empty the log, unless that would change nothing."""
        notes = tuple(note for note in self.log.notes if note.run not in self.ended)
        if not self.log.size and tip == self.tip:
            return
        if self.log.writes or self.log.base != tip or notes != self.log.notes:
            write_log.restart(self.root, tip, notes)

    def _first(self, batch: Batch, state: _State, shares: list[Share]) -> list[Share]:
        """Make the very first version, of the files before any logged write."""
        base: dict[str, dict[str, bytes | None]] = {"setup": {}, "outside": {}}
        while shares and shares[0].actor.kind in base:
            share = shares.pop(0)
            base[share.actor.kind] |= share.files
        if base["setup"] or not base["outside"]:
            self._version(batch, state, base["setup"], messages.FIRST, [("Actor", "setup")])
        if base["outside"]:
            subject = messages.BROUGHT_IN if base["setup"] else messages.FIRST
            self._version(batch, state, base["outside"], subject, [("Actor", "outside")])
        return shares

    def _share(self, batch: Batch, state: _State, share: Share, *, goes_on: bool) -> None:
        """Make a version of one actor's changes, unless none is left."""
        changes = self._changes(state, share.files)
        if not changes.keys() - {tracked_files.CURSOR}:
            return
        if share.actor.kind == "outside":
            notify_external_edits(self.root, share.actor, changes)
        subject, facts = self._told(state, share, goes_on=goes_on)
        self._version(
            batch, state, {path: new for path, (_, new) in changes.items()}, subject, facts
        )

    def _changes(
        self, state: _State, files: Mapping[str, bytes | None]
    ) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return the *files* that differ from the newest version: contents before and after."""
        pairs = {path: (self._content(state, path), new) for path, new in files.items()}
        return {
            path: (old, new)
            for path, (old, new) in pairs.items()
            if not diffs.is_same_text(old, new)
        }

    def _content(self, state: _State, path: str) -> bytes | None:
        sha = state.files.get(path)
        if sha is None:
            return None
        return state.new[sha] if sha in state.new else self.repo.blob(sha)

    def _told(
        self, state: _State, share: Share, *, goes_on: bool
    ) -> tuple[str, list[tuple[str, str]]]:
        """Return the subject and the facts of a share's version."""
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
        """Return which part of its run a version is, when others wrote in between."""
        parts = 0
        sha, looked = state.tip, 0
        while run and sha is not None and looked < _PARTS_SOUGHT:
            version = messages.parse_message(self.repo.commit(sha))
            if version.kind == "dream" and run not in version.runs:
                break  # one run at a time: versions of another one are older than this run
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


# A log of this size is committed before the next write. If it cannot be, since versions are off, it
# is deleted at a multiple of this size: its writes then count as made outside.
FULL_BYTES = 4_000_000
GIVEN_UP: Final = 4


def log_write(change: Change) -> None:
    """Log the actor who is about to write a tracked file. A write rule that acts.

    It refuses nothing: if the log cannot be written, the write counts as made outside.
    """
    if not tracked_files.is_tracked(change.path):
        return
    try:
        _make_room(change)
        write_log.note(change)
    except (OSError, WorkspaceError) as error:
        logger.warning("who wrote %s could not be noted: %s", change.path, error)


def _make_room(change: Change) -> None:
    """Commit a log that has grown large."""
    size = write_log.size(change.workspace)
    if size < FULL_BYTES:
        return
    try:
        commit_pending(change.workspace)
    except WorkspaceError:
        if size > GIVEN_UP * FULL_BYTES:
            write_log.forget(change.workspace)


MOVE_AWAY = (
    f"Move {write_log.GIT_DIR} out of the workspace: a new store begins with the files as they "
    "are. "
    "The old one can still be read with git, or come back from a backup."
)


def check_versions(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing to repair)
    """Check that the store can be used, and list files without versions."""
    try:
        with reading(root) as repo:
            tip = repo.ref() if repo is not None else None
            if repo is not None and tip is not None:
                for sha in set(trees.files(repo, repo.commit(tip).tree).values()):
                    repo.blob(sha)
    except VersionsOff as error:
        message = f"Versions of the memory files are off: {error.message}"
        yield Finding(write_log.GIT_DIR, message, MOVE_AWAY)
    for row in tracked_files.scan_tracked_files(root).skipped:
        path = root / row.path
        # Other checks report links, folders and unreadable files.
        if not path.is_symlink() and path.is_file() and os.access(path, os.R_OK):
            message = f"It {row.why}, so no versions of it are kept."
            yield Finding(row.path, message, "Make it smaller.", "note")
