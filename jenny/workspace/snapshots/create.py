"""Decide when a snapshot is due, and take it: the workspace as it was at one moment.

Where little is new, the workspace is locked for one scan, and the new files are read. Else the
files are read without a lock, and then the workspace is locked for a scan: if nothing changed
since, the files read are of one moment. Changed files are read again, the last time under the lock,
so that a transaction on several files is in the snapshot as a whole or not at all.
"""

import contextlib
import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from jenny.workspace import paths, transactions
from jenny.workspace.errors import (
    LockTimeout,
    SnapshotFailed,
    VersionsOff,
    WriteFailed,
    reason_of,
)
from jenny.workspace.file_cache import Kept
from jenny.workspace.git.objects import FOLDER, TreeEntry, encode_commit, encode_tree
from jenny.workspace.snapshots.objects import Objects, PackBatch
from jenny.workspace.snapshots.reader import write_snapshot_list
from jenny.workspace.snapshots.scan import STAT_CACHE, Scan, StatCache, save_stat_cache, scan
from jenny.workspace.snapshots.store import LOCK_SECONDS, REFS, Store, encoded, entry, number_of
from jenny.workspace.snapshots.trees import (
    Builder,
    Built,
    FileReader,
    Known,
    Made,
    compare_trees,
    nothing_known,
    to_read,
)
from jenny.workspace.snapshots.values import (
    TRIGGERS,
    Outcome,
    Skipped,
    Snapshot,
    Trigger,
    counted,
    total,
)

QUIET = timedelta(minutes=10)
ONCE_A_DAY = timedelta(hours=24)


@dataclass(frozen=True)
class Activity:
    """The results of the last looks at a workspace; aware times.

    ``changed_at``: the time when a change was seen that no snapshot holds yet. ``taken_at``: the
    time when a snapshot was last taken, or was found to hold everything already.
    """

    fingerprint: str = ""
    changed_at: datetime | None = None
    taken_at: datetime | None = None


def read_activity(
    seen: Activity, fingerprint: str, now: datetime
) -> tuple[Activity, Trigger | None]:
    """Return the new state after a look at *now*, and the snapshot that is due.

    A clock that was put back makes nothing wait longer than it would have.
    """
    after = seen
    if fingerprint != seen.fingerprint:
        after = replace(seen, fingerprint=fingerprint, changed_at=now)
    elif seen.changed_at is not None and seen.changed_at > now:
        after = replace(seen, changed_at=now)
    if after.changed_at is not None and now - after.changed_at >= QUIET:
        return after, "auto"
    if after.taken_at is None or not timedelta(0) <= now - after.taken_at < ONCE_A_DAY:
        return after, "daily"
    return after, None


def note_snapshot(seen: Activity, fingerprint: str, now: datetime) -> Activity:
    """Return the state after a snapshot that was begun when the workspace had *fingerprint*."""
    return replace(seen, fingerprint=fingerprint, changed_at=None, taken_at=now)


_ROUNDS = 3
# The most bytes that may be read while others wait.
_UNDER_LOCK_BYTES = 8_000_000
_WORKSPACE_SECONDS = 10.0
# The most files read while others wait; reading so few takes no longer than the scan.
_AT_ONCE_FILES = 100
_AT_ONCE_BYTES = 500_000
_BRIEF_SECONDS = 1.0
_LABEL_CHARS = 200


# These check that each content is in the store even when it should be there.
_LOOKING = frozenset({"daily", "manual", "restore", "import", "export", "upgrade"})

# The folders of each workspace as this process last stored them, reused while they are unchanged.
_made: Kept[Made] = Kept(16)


@dataclass(frozen=True)
class _SnapshotRequest:
    trigger: Trigger
    label: str
    now: datetime
    reread: bool


@dataclass(frozen=True)
class _Before:
    """The previous snapshot and its two trees."""

    shot: Snapshot | None = None
    files: str | None = None
    about: str | None = None


def create(
    store: Store,
    root: Path,
    trigger: Trigger,
    *,
    now: datetime,
    label: str = "",
    reread: bool = False,
    timeout: float = LOCK_SECONDS,
) -> Outcome:
    """Take a snapshot of the workspace at *root*, unless the newest one holds the same.

    *now*: aware. *label*: a person's text. *reread*: read every file without the caches, and check
    every stored object before it is reused. *timeout*: seconds to wait for another process that
    holds the store.

    Raises:
        SnapshotFailed: the disk refuses, or the store cannot be used.
        FileMissing: there is no such workspace.
        LockTimeout: another process held the store.
    """
    if trigger not in TRIGGERS:
        raise ValueError(trigger)
    real = paths.real_root(root)
    asked = _SnapshotRequest(trigger, label.strip()[:_LABEL_CHARS], now, reread)
    try:
        with store.write(timeout=timeout) as repo:
            return _create(store, repo, real, asked)
    except OSError as error:
        message = f"The snapshot could not be taken: {reason_of(error)}. Nothing was changed."
        raise SnapshotFailed(message) from error
    except VersionsOff as error:
        message = f"The snapshot could not be taken. {error.message}"
        raise SnapshotFailed(message) from error


def _create(store: Store, repo: Objects, root: Path, asked: _SnapshotRequest) -> Outcome:
    """Take the snapshot; the store's lock is held."""
    before = _before(store, repo)
    batch = PackBatch(repo, doubt=asked.reread)
    made, known, trusting = _known(store, before, asked)
    try:
        reader = FileReader(root, batch, known, trusting=trusting)
        first = seen = _read_at_once(root, reader, made)
        notes: tuple[Skipped, ...] = ()
        if first is None or seen is None:
            made, first = None, scan(root, anew=asked.reread)
            seen, notes = _read_all(root, first, reader)
        builder = Builder(repo, batch, reader)
        built = builder.build(seen.top, before.files, before.about, earlier=made)
        skipped = (*notes, *seen.skipped, *reader.skipped.values())
        shot = before.shot
        if shot is None or built.built.files != before.files:
            shot = _store(store, repo, batch, _Draft(asked, before, built.built, skipped))
        elif asked.reread:
            batch.finish()  # lost objects are there again
    finally:
        batch.discard()
    if built is not made:
        save_stat_cache(store.own / STAT_CACHE, built.built.files, built.contents())
    if shot is not before.shot or built.is_of(before.files, before.about):
        _made.put(str(store.own), built)
    if shot is not before.shot:
        write_snapshot_list(store, shot)
        store.sweep()
        repo.tidy()
    return Outcome(shot, shot is not before.shot, first.fingerprint, skipped)


def _known(
    store: Store, before: _Before, asked: _SnapshotRequest
) -> tuple[Made | None, Known, bool]:
    """Return this process's previous folders, known contents, and True if the store has them."""
    if asked.reread:
        return None, nothing_known, False
    is_looking = asked.trigger in _LOOKING
    made = None if is_looking else _made.get(str(store.own))
    if made is not None and made.is_of(before.files, before.about):
        return made, made.content_of, True
    kept = StatCache(store.own / STAT_CACHE)
    return None, kept.content_of, kept.tree == before.files and not is_looking


def _before(store: Store, repo: Objects) -> _Before:
    shot = store.newest(repo)
    if shot is None:
        return _Before()
    about = entry(repo, repo.commit(shot.commit).tree, "about")
    return _Before(shot, shot.tree, about.sha if about is not None else None)


def _read_at_once(root: Path, reader: FileReader, made: Made | None) -> Scan | None:
    """Scan and read under the lock, if next to nothing must be read; else return ``None``."""
    with (
        contextlib.suppress(LockTimeout, WriteFailed),
        transactions.lock_workspace(root, timeout=_BRIEF_SECONDS),
    ):
        seen = scan(root, anew=made is None)
        every = list(to_read(seen.top, made))
        unknown = [found.size for found in every if not reader.remembers(found)]
        if len(unknown) <= _AT_ONCE_FILES and sum(unknown) <= _AT_ONCE_BYTES:
            for found in every:
                reader.take(found)
            return seen
    return None


def _read_all(root: Path, seen: Scan, reader: FileReader) -> tuple[Scan, tuple[Skipped, ...]]:
    """Read all files as of one moment; returns the scan of that moment and the skipped files."""
    for _ in range(_ROUNDS):
        for found in seen.top.every_file():
            reader.take(found)
        try:
            with transactions.lock_workspace(root, timeout=_WORKSPACE_SECONDS):
                seen = scan(root)
                left = [found for found in seen.top.every_file() if reader.lacks(found)]
                if sum(found.size for found in left) <= _UNDER_LOCK_BYTES:
                    for found in left:
                        reader.take(found)
                    return seen, ()
        except (LockTimeout, WriteFailed) as error:
            return _as_it_is(root, reader, f"The workspace could not be locked. {error.message}")
    return _as_it_is(root, reader, "Large files kept changing.")


def _as_it_is(root: Path, reader: FileReader, why: str) -> tuple[Scan, tuple[Skipped, ...]]:
    """Read the current files without a lock, and report that they may be of different moments."""
    seen = scan(root)
    for found in seen.top.every_file():
        reader.take(found)
    message = f"{why} So files that were written together may be from before and after."
    return seen, (Skipped(".", message),)


@dataclass(frozen=True)
class _Draft:
    asked: _SnapshotRequest
    before: _Before
    built: Built
    skipped: tuple[Skipped, ...]


def _store(store: Store, repo: Objects, batch: PackBatch, draft: _Draft) -> Snapshot:
    """Write the snapshot's own objects, make everything durable, then create its reference."""
    ids, asked, before = store.ids(), draft.asked, draft.before.shot
    changes = total(compare_trees(batch.tree, draft.before.files, draft.built.files))
    facts = {
        "number": number_of(ids[-1]) + 1 if ids else 1,
        "when": int(asked.now.timestamp() * 1000),
        "trigger": asked.trigger,
        "label": asked.label,
        "files": draft.built.count,
        "size": draft.built.size,
        "skipped": len(draft.skipped),
        "before": before.id if before is not None else None,
        "changes": [changes.added, changes.changed, changes.removed],
    }
    top = [
        TreeEntry("about", draft.built.about, FOLDER),
        TreeEntry("files", draft.built.files, FOLDER),
    ]
    if draft.skipped:
        rows = [[row.path, row.message] for row in draft.skipped]
        top.append(TreeEntry("skipped", batch.add("blob", json.dumps(rows).encode())))
    subject = f"snapshot {TRIGGERS[asked.trigger]}: {counted(draft.built.count, 'file')}"
    commit = batch.add(
        "commit",
        encode_commit(
            batch.add("tree", encode_tree(top)),
            (),
            encoded(facts, subject),
            when=max(int(asked.now.timestamp()), 0),
        ),
    )
    batch.finish()
    name = f"{facts['number']}-{commit[:8]}"
    if not repo.move_ref(commit, expect=None, name=f"{REFS}/{name}"):
        raise SnapshotFailed(f"Snapshot {name} stands in the store already. Nothing was changed.")
    return store.get(repo, name)
