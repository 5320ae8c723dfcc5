"""Applies a restore.

The new contents are verified and staged while everybody goes on working. Then, under the locks of
the store, the workspace and the history, a Dream run is ended, pending edits get their version,
the present state becomes a snapshot, the plan is made again, and all files are replaced at once.
A crash leaves the old or the new state; whoever opens the workspace next completes it.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from jenny.workspace import (
    bulk_replace,
    bulk_replace_journal,
    locks,
    paths,
    transaction_journal,
    transactions,
    write_rules,
)
from jenny.workspace.bulk_replace_journal import MoveSignature, Stage, Staged
from jenny.workspace.errors import (
    RestoreRefused,
    VersionsOff,
    WorkspaceError,
    WriteFailed,
    reason_of,
)
from jenny.workspace.files import Actor, Change
from jenny.workspace.locks import Level
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import Source
from jenny.workspace.snapshots.scan import Found
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import FileRow, counted
from jenny.workspace.versions import commits, tracked_files
from jenny.workspace.versions.messages import Version
from memory import files, merge
from memory.history import cursors
from memory.history.entries import FILE
from memory.merge import is_history
from memory.restore.plan import (
    Prepared,
    Progress,
    Restored,
    RestoreRequest,
    RestoreServices,
    is_watched,
    prepare,
)

# Progress at each step, in percent.
_VERIFIED, _SAVED, _STAGED, _LOCKED, _SWAPPED = 20, 35, 80, 84, 96
_LOCK_SECONDS = 60.0
_FILE_MODE = 0o644


def restore(
    root: Path,
    store: Store,
    source_of: Callable[[Objects], Source],
    asked: RestoreRequest,
    *,
    services: RestoreServices,
    now: datetime,
    progress: Progress = lambda percent, doing: None,  # noqa: ARG005 - nobody is told
) -> Restored:
    """Restore the workspace at *root* to the source's state. *now* is aware.

    Raises:
        RestoreRefused: the plan differs from the confirmed one.
        StoreBroken, SnapshotFailed, SnapshotUnknown, UndoRefused, WriteRefused, WriteFailed,
            LockTimeout, FileMissing: nothing was changed.
    """
    real = paths.real_root(root)
    bulk_replace_journal.sweep(real)
    if not store.exists:
        create(store, real, asked.trigger, now=now, label=asked.label)
    with store.open() as repo:
        source = source_of(repo)
        progress(0, "Checking that every file of it is whole.")
        source.verify()
        progress(_VERIFIED, "Saving how it is now.")
        # The slow part of the snapshot before the restore is done while others go on.
        before = create(store, real, asked.trigger, now=now, label=asked.label).snapshot
        try:
            with Stage(real) as stage:
                work = _Restore(real, store, repo, source, asked, services, now, stage, progress)
                prepared = work.begun()
                if prepared.is_nothing:
                    return Restored(prepared=prepared, before=before)
                return work.done()
        except OSError as error:
            message = f"It could not be restored: {reason_of(error)}. Nothing was changed."
            raise WriteFailed(message) from error


@dataclass
class _Restore:
    root: Path
    store: Store
    repo: Objects
    source: Source
    asked: RestoreRequest
    services: RestoreServices
    now: datetime
    stage: Stage
    progress: Progress
    staged: dict[tuple[str, str, int], Staged] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def begun(self) -> Prepared:
        """Stage the contents that can be staged without the locks."""
        prepared = self._prepared()
        self._agreed(prepared)
        self._stage(prepared, first=True)
        self.stage.sync()
        return prepared

    def done(self) -> Restored:
        self.progress(_STAGED, "Waiting until nobody writes in the workspace.")
        with ExitStack() as held:
            # The store is locked before its workspace.
            held.enter_context(self.store.write())
            held.enter_context(transactions.lock_workspace(self.root, timeout=_LOCK_SECONDS))
            held.enter_context(locks.hold(self.root, Level.HISTORY, timeout=_LOCK_SECONDS))
            self.services.check()
            if problem := self.services.stop():
                self.notes.append(problem)
            self._versions()
            prepared = self._prepared()
            self._agreed(prepared)
            # After the plan: what changes outside from here on differs from the plan and is kept
            # beside.
            before = create(
                self.store, self.root, self.asked.trigger, now=self.now, label=self.asked.label
            ).snapshot
            self.progress(_LOCKED, "Replacing the files.")
            voided = self._swapped(prepared)
            self.progress(_SWAPPED, "Noting what was done.")
            made = self._versions()
        return Restored(
            prepared=prepared,
            before=before,
            version=made[-1] if made else None,
            voided=voided,
            notes=(*self.notes, *prepared.merged.notes),
        )

    def _prepared(self) -> Prepared:
        return prepare(
            self.root,
            self.store,
            self.repo,
            self.source,
            path=self.asked.path,
            is_same=self.asked.is_same,
        )

    def _agreed(self, prepared: Prepared) -> None:
        """Compare the plan with the one that a person confirmed."""
        if self.asked.expect and self.asked.expect != prepared.plan.token:
            message = (
                "Other files would change by now than those that you were shown. Nothing was "
                "changed. Look at what would happen once more, then confirm that."
            )
            raise RestoreRefused(message)

    def _versions(self) -> tuple[Version, ...]:
        """Commit edits that are in no version yet."""
        try:
            return commits.commit_pending(self.root).versions
        except VersionsOff as error:
            self.notes.append(f"No version was made: {error.message}")
            return ()

    def _stage(self, prepared: Prepared, *, first: bool = False) -> None:
        """Stage contents that are not staged yet. Those of the memory wait for the locks, since
        the rules about them can change until then."""
        rows = [*prepared.plan.changed, *prepared.plan.added]
        total = sum(row.size for row in rows) or 1
        given = 0
        for number, row in enumerate(rows, 1):
            if row.path in prepared.texts:
                if not first:
                    self._write(row, [prepared.texts[row.path]], _id(prepared, row))
            elif _key(row) not in self.staged:
                self._write(row, self.source.content(row), row.sha)
            given += row.size
            if first:
                percent = _SAVED + (_STAGED - _SAVED) * given // total
                doing = f"Getting {counted(len(rows), 'file')} ready: {number:,} done."
                self.progress(min(percent, _STAGED), doing)

    def _write(self, row: FileRow, pieces: Iterable[bytes], sha: str) -> None:
        staged = self.stage.write(pieces, mode=row.mode, modified=row.modified)
        self.staged[row.path, sha, row.mode] = staged

    def _swapped(self, prepared: Prepared) -> int:
        """Replace all files; return how many pending changes become invalid."""
        plan = prepared.plan
        self._stage(prepared)
        changes = self._changes(prepared)
        write_rules.check_write(changes)
        kept = write_rules.companions(changes)
        for found in plan.removed:
            self.stage.remove(found.path, _stamp(found))
        for path, mode in plan.gone:
            self.stage.unfolder(path, mode)
        for row in plan.made:
            self.stage.folder(row.path, row.mode)
        for row, mode in plan.modes:
            self.stage.folder(row.path, row.mode, old_mode=mode)
        for row in (*plan.changed, *plan.added):
            sha = _id(prepared, row)
            staged = self.staged[row.path, sha, row.mode]
            self.stage.put(row.path, staged, _was(prepared, row.path))
        self._ledgers(prepared, kept)
        bulk = self.stage.ready()
        self.services.check()
        # Before the files are replaced: if the process dies now, entries are only shown once too
        # often.
        voided = self.services.invalidate() if prepared.touches_memory else 0
        if prepared.reoffer:
            self.services.requeue(prepared.reoffer)
        written = [row.path for row in (*plan.changed, *plan.added)]
        self.services.note_changes([*written, *(found.path for found in plan.removed)])
        try:
            write_rules.act(changes)
            bulk_replace.commit_replace(self.root, bulk, progress=self._moved)
        except WorkspaceError:
            if not transaction_journal.pending(self.root):  # else it may be finished yet
                self.services.revalidate()
            raise
        return voided

    def _moved(self, done: int, of: int) -> None:
        if done % 50 == 0:
            percent = _LOCKED + (_SWAPPED - _LOCKED) * done // of
            self.progress(percent, f"Replacing the files: {done:,} of {of:,} done.")

    def _changes(self, prepared: Prepared) -> list[Change]:
        reason = "imported" if self.asked.trigger == "import" else "restored"
        actor = Actor("restore", self.asked.account, f"from {self.asked.name}", reason=reason)
        found = [
            Change(path, tracked_files.read_tracked_file(self.root, path), data, actor, self.root)
            for path, data in prepared.texts.items()
        ]
        found += [
            Change(
                row.path,
                tracked_files.read_tracked_file(self.root, row.path),
                None,
                actor,
                self.root,
            )
            for row in prepared.plan.removed
            if is_watched(self.root, row.path)
        ]
        return [change for change in found if change.old != change.new]

    def _ledgers(self, prepared: Prepared, kept: list[Change]) -> None:
        """Stage the ledgers, and the archive of what this restore removes."""
        every = dict(prepared.merged.files)
        for change in kept:
            data = change.new or b""
            if change.path in every:
                name = change.path.rpartition("/")[2]
                data = merge.merge_archived_text(name, every[change.path], data)
            every[change.path] = data
        for path, data in every.items():
            there = prepared.present.files.get(path)
            mode = there[0].mode if there is not None else _FILE_MODE
            staged = self.stage.write([data], mode=mode)
            is_growing = path == FILE or (is_history(path) and path.endswith(".jsonl"))
            is_number = path in (cursors.COUNTER, files.CURSOR)
            keep = "grow" if is_growing else "yield" if is_number else "beside"
            self.stage.put(path, staged, _was(prepared, path), keep)  # type: ignore[arg-type]  # one of these three words


def _was(prepared: Prepared, path: str) -> MoveSignature | None:
    there = prepared.present.files.get(path)
    return _stamp(there[0]) if there is not None else None


def _stamp(found: Found) -> MoveSignature:
    return (found.size, found.modified, found.stamp[4])


def _key(row: FileRow) -> tuple[str, str, int]:
    return (row.path, row.sha, row.mode)


def _id(prepared: Prepared, row: FileRow) -> str:
    """Return an id that distinguishes new contents of a path."""
    return "text" if row.path in prepared.texts else row.sha
