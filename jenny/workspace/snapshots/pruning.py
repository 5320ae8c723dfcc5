"""Deleting snapshots, and then what no snapshot needs any more.

References go first, so that whatever stops this leaves every remaining snapshot whole. Packs are
deleted or written anew only under the store's lock, and only those that are older than an hour:
where a lock does not reach (another host with a clock or a disk of its own), age does.
"""

import contextlib
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace.errors import (
    SnapshotFailed,
    SnapshotUnknown,
    StoreBroken,
    VersionsOff,
    reason_of,
)
from jenny.workspace.git.objects import decode_commit, decode_tree
from jenny.workspace.git.packing import PackWriter, sync_folder
from jenny.workspace.git.packs import KINDS, Pack
from jenny.workspace.snapshots.objects import Objects, folder_size
from jenny.workspace.snapshots.store import REFS, Store
from jenny.workspace.snapshots.values import Plan, Pruned

GRACE_SECONDS = 3600.0
# A pack is written anew when at least this share of it is not needed.
_WASTE = 0.25


def prune(store: Store, plan: Plan, *, grace_seconds: float = GRACE_SECONDS) -> Pruned:
    """Delete the snapshots that *plan* names, but those that are in use by now.

    *grace_seconds*: younger files of the store stay as they are until the next time.

    Raises:
        SnapshotFailed: the disk refuses; what is left of the plan can be pruned later.
        LockTimeout: another process kept the store.
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
        message = f"Snapshots could not be deleted. {error.sentence} The others are whole."
        raise SnapshotFailed(message) from error
    return Pruned(tuple(deleted), tuple(kept), freed)


def set_aside_broken(store: Store) -> list[str]:
    """Give packs that cannot be opened at all another name, so that the rest can be used; which.

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
    """Give each reference a file of its own again, where another git has put them into one.

    What has a name that none of ours has stays as it is, and then all do.
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
    """Remove what no reference leads to. If any of them leads to something damaged, nothing is
    removed: what is missing there may be all that is left of it.

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
    """Ids of everything that any reference leads to."""
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
        for row in decode_tree(repo.read(tree)[1]):  # not kept, as there may be very many
            if row.is_folder:
                trees.append(row.sha)
            elif row.sha not in seen:
                seen.add(row.sha)
                yield bytes.fromhex(row.sha)


def _born(pack: Pack) -> float:
    """When the pack was written, in seconds since 1970; now, when it is gone."""
    try:
        return pack.path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()


def _waste(pack: Pack, needed: set[bytes]) -> float:
    """Which share of the pack's bytes nobody needs."""
    if not pack.count:
        return 1.0
    wasted = 0
    for sha, start, end in _spans(pack):
        wasted += 0 if sha in needed else end - start
    return wasted / pack.data_end


def _spans(pack: Pack) -> Iterator[tuple[bytes, int, int]]:
    """Each object of a pack: its id, where it begins and where it ends."""
    rows = sorted((pack.offset_at(place), place) for place in range(pack.count))
    ends = [offset for offset, _ in rows[1:]] + [pack.data_end]
    for (start, place), end in zip(rows, ends, strict=True):
        yield pack.id_at(place), start, end


def _rewrite(repo: Objects, packs: list[Pack], needed: set[bytes]) -> Path | None:
    """Write what is needed of *packs* into one; its index, ``None`` when nothing is.

    Raises:
        StoreBroken: a pack is damaged; all is left as it was.
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
    """An object as it lies in the pack; ``None`` when another git stored it as a change of one.

    Raises:
        StoreBroken: its checksum is wrong.
    """
    raw, place = pack.bytes_between(start, end), pack.position(sha)
    if place is None or zlib.crc32(raw) != pack.crc_at(place):
        raise StoreBroken(f"The file {pack.path.stem}.pack of the store is damaged.")
    return raw if (raw[0] >> 4) & 7 in KINDS else None


def _size(store: Store) -> int:
    """Bytes of the store's packs."""
    return folder_size(store.path / "objects" / "pack")
