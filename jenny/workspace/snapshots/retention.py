"""Choose the snapshots to keep, delete the others, and then the objects that no snapshot needs.

The newest are always kept; of the older ones one a day; none older than the horizon.

References are deleted first, so that an interruption leaves every remaining snapshot whole. Packs
are deleted or rewritten only under the store's lock, and only those older than an hour: age
protects where the lock does not reach (another host with its own clock or disk).
"""

import contextlib
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from jenny.workspace.errors import (
    SnapshotFailed,
    SnapshotUnknown,
    StoreBroken,
    VersionsOff,
    reason_of,
)
from jenny.workspace.git.objects import decode_commit, decode_tree
from jenny.workspace.git.packs import KINDS, Pack, PackWriter, sync_folder
from jenny.workspace.retention import EACH_SNAPSHOT, NEWEST_SNAPSHOTS, SNAPSHOT_HORIZONS
from jenny.workspace.snapshots.objects import Objects, folder_size
from jenny.workspace.snapshots.store import REFS, Store
from jenny.workspace.snapshots.values import Plan, Pruned, Snapshot


def plan_retention(
    shots: Sequence[Snapshot],
    keep_for: str,
    *,
    now: datetime,
    zone: tzinfo,
    pinned: Iterable[str] = (),
) -> Plan:
    """Plan which of *shots* (in any order) pruning would delete; nothing is deleted.

    *keep_for*: a key of ``SNAPSHOT_HORIZONS``. *now*: aware. *zone*: the time zone of the days.
    *pinned*: commits of snapshots that are in use.
    """
    horizon = SNAPSHOT_HORIZONS[keep_for]
    ordered = sorted(shots, key=lambda shot: shot.number)
    safe = {shot.id for shot in ordered[-NEWEST_SNAPSHOTS:]}
    safe |= {shot.id for shot in ordered if shot.commit in set(pinned)}
    # The last snapshot of each day is kept, even if other rules keep more of that day.
    last = {shot.when.astimezone(zone).date(): shot.id for shot in ordered}
    expired, thinned = [], []
    for shot in ordered:
        if shot.id in safe:
            continue
        age = now - shot.when
        if horizon is not None and age > horizon:
            expired.append(shot)
        elif age > EACH_SNAPSHOT and last[shot.when.astimezone(zone).date()] != shot.id:
            thinned.append(shot)
    kept = len(ordered) - len(expired) - len(thinned)
    return Plan(keep_for, tuple(thinned), tuple(expired), kept)


def keeps_shorter(keep_for: str, than: str) -> bool:
    mine, other = SNAPSHOT_HORIZONS[keep_for], SNAPSHOT_HORIZONS[than]
    return mine is not None and (other is None or mine < other)


GRACE_SECONDS = 3600.0
# A pack is rewritten when at least this share of it is not needed.
_WASTE = 0.25


def prune_snapshots(store: Store, plan: Plan, *, grace_seconds: float = GRACE_SECONDS) -> Pruned:
    """Delete the snapshots that *plan* names, except those that are in use by now.

    *grace_seconds*: younger files of the store stay until the next time.

    Raises:
        SnapshotFailed: the disk refuses; the rest can be pruned later.
        LockTimeout: another process held the store.
    """
    deleted: list[str] = []
    kept: list[str] = []
    try:
        with store.write() as repo:
            pinned = set(store.pinned(repo).values())
            before = _size(store)
            _unpack_refs(repo)
            for shot in plan.goes:
                if shot.commit in pinned:
                    kept.append(shot.id)
                    continue
                with contextlib.suppress(SnapshotUnknown):
                    found = repo.ref(f"{REFS}/{shot.id}")
                    if found is not None:
                        repo.delete_ref(f"{REFS}/{shot.id}", expect=found)
                        deleted.append(shot.id)
            _collect(repo, grace_seconds)
            store.sweep()
            freed = max(before - _size(store), 0)
    except OSError as error:
        message = f"Snapshots could not be deleted: {reason_of(error)}. The others are whole."
        raise SnapshotFailed(message) from error
    except VersionsOff as error:
        message = f"Snapshots could not be deleted. {error.message} The others are whole."
        raise SnapshotFailed(message) from error
    return Pruned(tuple(deleted), tuple(kept), freed)


def set_aside_broken(store: Store) -> list[str]:
    """Rename packs that cannot be opened, so that the rest can be used; return their names.

    Raises:
        LockTimeout, VersionsOff: as ``Store.write``.
    """
    if not store.exists:
        return []
    found: list[str] = []
    with store.write() as repo:
        for index in sorted(repo.database.pack_folder.glob("pack-*.idx")):
            try:
                pack = Pack(index)
                with contextlib.closing(pack):
                    pack.bytes_between(0, 1)
            except (StoreBroken, OSError):
                index.rename(index.with_suffix(".idx-broken"))
                found.append(index.name)
    return found


def _unpack_refs(repo: Objects) -> None:
    """Give each reference its own file again, if another git packed them.

    If any has a name that this project does not write, all stay as they are.
    """
    packed = repo.git_dir / "packed-refs"
    if not packed.exists():
        return
    try:
        for name, sha in repo.refs().items():
            repo.move_ref(sha, expect=sha, name=name)
    except ValueError:
        return
    packed.unlink()
    sync_folder(repo.git_dir)


def _collect(repo: Objects, grace_seconds: float) -> None:
    """Remove unreachable objects.

    If any reachable object is damaged, nothing is removed: the unreachable ones may be all that is
    left of its data.

    Raises:
        StoreBroken: something is damaged.
    """
    needed = set(_needed(repo))
    born_before = time.time() - grace_seconds
    packs = [pack for pack in repo.database.packs() if _born(pack) <= born_before]
    rewritten = [pack for pack in packs if _waste(pack, needed) >= _WASTE]
    if not rewritten:
        return
    folder = repo.database.pack_folder
    made = _rewrite(repo, rewritten, needed)
    for pack in rewritten:
        if pack.path != made:
            # The index first: a pack without one is a leftover, never a broken pack.
            pack.path.unlink(missing_ok=True)
            pack.path.with_suffix(".pack").unlink(missing_ok=True)
    sync_folder(folder)
    repo.database.close()


def _needed(repo: Objects) -> Iterator[bytes]:
    commits = set(repo.refs().values())
    yield from map(bytes.fromhex, commits)
    seen: set[str] = set()
    trees = [decode_commit(sha, repo.read(sha)[1]).tree for sha in commits]
    while trees:
        tree = trees.pop()
        if tree in seen:
            continue
        seen.add(tree)
        yield bytes.fromhex(tree)
        for row in decode_tree(repo.read(tree)[1]):  # not cached, as there may be very many
            if row.is_folder:
                trees.append(row.sha)
            elif row.sha not in seen:
                seen.add(row.sha)
                yield bytes.fromhex(row.sha)


def _born(pack: Pack) -> float:
    """Return when the pack was written, in seconds since 1970; the current time when it is gone."""
    try:
        return pack.path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()


def _waste(pack: Pack, needed: set[bytes]) -> float:
    """Return the share of the pack's bytes that is not needed."""
    if not pack.count:
        return 1.0
    wasted = 0
    for sha, start, end in _spans(pack):
        wasted += 0 if sha in needed else end - start
    return wasted / pack.data_end


def _spans(pack: Pack) -> Iterator[tuple[bytes, int, int]]:
    """Yield each object of a pack: its id, its start and its end."""
    rows = sorted((pack.offset_at(place), place) for place in range(pack.count))
    ends = [offset for offset, _ in rows[1:]] + [pack.data_end]
    for (start, place), end in zip(rows, ends, strict=True):
        yield pack.id_at(place), start, end


def _rewrite(repo: Objects, packs: list[Pack], needed: set[bytes]) -> Path | None:
    """Write the needed objects of *packs* into one; return its index, ``None`` if none is needed.

    Raises:
        StoreBroken: a pack is damaged; nothing was changed.
    """
    writer = PackWriter(repo.database.pack_folder)
    seen: set[bytes] = set()
    try:
        for pack in packs:
            for sha, start, end in _spans(pack):
                if sha in needed and sha not in seen:
                    seen.add(sha)
                    raw = _checked(pack, sha, start, end)
                    if raw is None:
                        writer.add(sha.hex(), *repo.read(sha.hex()))
                    else:
                        writer.add_raw(sha, raw)
        if seen:
            return writer.finish()
    finally:
        writer.discard()
    return None


def _checked(pack: Pack, sha: bytes, start: int, end: int) -> bytes | None:
    """Return an object's packed bytes; ``None`` when it is another git's delta.

    Raises:
        StoreBroken: its checksum is wrong.
    """
    raw, place = pack.bytes_between(start, end), pack.position(sha)
    if place is None or zlib.crc32(raw) != pack.crc_at(place):
        raise StoreBroken(f"The file {pack.path.stem}.pack of the store is damaged.")
    return raw if (raw[0] >> 4) & 7 in KINDS else None


def _size(store: Store) -> int:
    return folder_size(store.path / "objects" / "pack")
