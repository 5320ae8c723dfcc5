"""Taking a snapshot.

Where little is new, the workspace is locked for one look, and that little is read. Else the files
are read without stopping anybody, and then the workspace is locked for a look: nothing moved since
→ what was read is one moment. What did move is read again, the last time under the lock, so that an
act on several files is in the snapshot as a whole or not at all.
"""

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jenny.workspace import acts, paths
from jenny.workspace.errors import (
    LockTimeout,
    SnapshotFailed,
    VersionsOff,
    WriteFailed,
    reason_of,
)
from jenny.workspace.git.objects import FOLDER, TreeEntry, encode_commit, encode_tree
from jenny.workspace.snapshots import shelf, stamps
from jenny.workspace.snapshots.contents import Known, Reader, unknown
from jenny.workspace.snapshots.differences import between
from jenny.workspace.snapshots.objects import Objects, PackBatch
from jenny.workspace.snapshots.scan import Scan, scan
from jenny.workspace.snapshots.stamps import Stamps
from jenny.workspace.snapshots.store import (
    LOCK_SECONDS,
    REFS,
    Store,
    encoded,
    entry,
    number_of,
)
from jenny.workspace.snapshots.trees import Builder, Built, Made, to_read
from jenny.workspace.snapshots.values import (
    TRIGGERS,
    Outcome,
    Skipped,
    Snapshot,
    Trigger,
    counted,
    total,
)
from jenny.workspace.stamped import Kept

_ROUNDS = 3
# What may be read while others wait.
_UNDER_LOCK_BYTES = 8_000_000
_WORKSPACE_SECONDS = 10.0
# What is read at once while others wait, where they would wait as long for the look alone.
_AT_ONCE_FILES = 100
_AT_ONCE_BYTES = 500_000
_BRIEF_SECONDS = 1.0
_LABEL_CHARS = 200


# These look for each content in the store even when it should be there.
_LOOKING = frozenset({"daily", "manual", "restore", "import", "export", "upgrade"})

# What this process made of each workspace's folders, for as long as they stay the same.
_made: Kept[Made] = Kept(16)


@dataclass(frozen=True)
class _Asked:
    """What ``create`` was asked for."""

    trigger: Trigger
    label: str
    now: datetime
    reread: bool


@dataclass(frozen=True)
class _Before:
    """The snapshot before, and its two trees."""

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

    *now*: aware. *label*: a person's words. *reread*: read every file, whatever is remembered
    of it, and check every stored object before it is relied on. *timeout*: seconds to wait for
    another process that is at the store.

    Raises:
        SnapshotFailed: the disk refuses, or the store cannot be used.
        FileMissing: there is no such workspace.
        LockTimeout: another process kept the store.
    """
    if trigger not in TRIGGERS:
        raise ValueError(trigger)
    real = paths.real_root(root)
    asked = _Asked(trigger, label.strip()[:_LABEL_CHARS], now, reread)
    try:
        with store.write(timeout=timeout) as repo:
            return _create(store, repo, real, asked)
    except OSError as error:
        message = f"The snapshot could not be taken: {reason_of(error)}. Nothing was changed."
        raise SnapshotFailed(message) from error
    except VersionsOff as error:
        message = f"The snapshot could not be taken. {error.sentence}"
        raise SnapshotFailed(message) from error


def _create(store: Store, repo: Objects, root: Path, asked: _Asked) -> Outcome:
    """Take it; the store's lock is held."""
    before = _before(store, repo)
    batch = PackBatch(repo, doubt=asked.reread)
    made, known, trusting = _known(store, before, asked)
    try:
        reader = Reader(root, batch, known, trusting=trusting)
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
            batch.finish()  # what had been lost is there again
    finally:
        batch.discard()
    if built is not made:
        stamps.save(store.own / stamps.NAME, built.built.files, built.contents())
    if shot is not before.shot or built.is_of(before.files, before.about):
        _made.put(str(store.own), built)
    if shot is not before.shot:
        shelf.put(store, shot)
        store.sweep()
        repo.tidy()
    return Outcome(shot, shot is not before.shot, first.fingerprint, skipped)


def _known(store: Store, before: _Before, asked: _Asked) -> tuple[Made | None, Known, bool]:
    """What was made of the workspace when this process took the snapshot before, what is known of
    its contents, and whether these are in the store for certain."""
    if asked.reread:
        return None, unknown, False
    is_looking = asked.trigger in _LOOKING
    made = None if is_looking else _made.get(str(store.own))
    if made is not None and made.is_of(before.files, before.about):
        return made, made.content_of, True
    kept = Stamps(store.own / stamps.NAME)
    return None, kept.content_of, kept.tree == before.files and not is_looking


def _before(store: Store, repo: Objects) -> _Before:
    """The newest snapshot that can be read."""
    shot = store.newest(repo)
    if shot is None:
        return _Before()
    about = entry(repo, repo.commit(shot.commit).tree, "about")
    return _Before(shot, shot.tree, about.sha if about is not None else None)


def _read_at_once(root: Path, reader: Reader, made: Made | None) -> Scan | None:
    """Look and read under the lock, where next to nothing is to be read; ``None``: it is not so."""
    with contextlib.suppress(LockTimeout, WriteFailed), acts.locked(root, timeout=_BRIEF_SECONDS):
        seen = scan(root, anew=made is None)
        every = list(to_read(seen.top, made))
        unknown = [found.size for found in every if not reader.remembers(found)]
        if len(unknown) <= _AT_ONCE_FILES and sum(unknown) <= _AT_ONCE_BYTES:
            for found in every:
                reader.take(found)
            return seen
    return None


def _read_all(root: Path, seen: Scan, reader: Reader) -> tuple[Scan, tuple[Skipped, ...]]:
    """Read all files as they are at one moment; the look that says so, and what to say of it."""
    for _ in range(_ROUNDS):
        for found in seen.top.every_file():
            reader.take(found)
        try:
            with acts.locked(root, timeout=_WORKSPACE_SECONDS):
                seen = scan(root)
                left = [found for found in seen.top.every_file() if reader.lacks(found)]
                if sum(found.size for found in left) <= _UNDER_LOCK_BYTES:
                    for found in left:
                        reader.take(found)
                    return seen, ()
        except (LockTimeout, WriteFailed) as error:
            return _as_it_is(root, reader, f"The workspace could not be locked. {error.sentence}")
    return _as_it_is(root, reader, "Large files kept changing.")


def _as_it_is(root: Path, reader: Reader, why: str) -> tuple[Scan, tuple[Skipped, ...]]:
    """Read what is there now without stopping anybody, and say what that means."""
    seen = scan(root)
    for found in seen.top.every_file():
        reader.take(found)
    sentence = f"{why} So files that were written together may be from before and after."
    return seen, (Skipped(".", sentence),)


@dataclass(frozen=True)
class _Draft:
    """A snapshot that is about to be."""

    asked: _Asked
    before: _Before
    built: Built
    skipped: tuple[Skipped, ...]


def _store(store: Store, repo: Objects, batch: PackBatch, draft: _Draft) -> Snapshot:
    """Write the snapshot's own objects, make everything durable, then give it its reference."""
    ids, asked, before = store.ids(), draft.asked, draft.before.shot
    changes = total(between(batch.tree, draft.before.files, draft.built.files))
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
        rows = [[row.path, row.sentence] for row in draft.skipped]
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
