"""The list of snapshots, kept as a cache beside the store: one line of JSON a snapshot.

Lines are appended without a sync. A line that is missing, torn or about a snapshot that is gone
costs nothing but a look at the snapshot itself.
"""

import contextlib
import json
import os
import secrets
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from jenny.workspace.errors import SnapshotUnknown, StoreBroken
from jenny.workspace.snapshots.differences import between
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Changes, Snapshot, total

NAME = "list.jsonl"
# Lines about snapshots that are gone, before the list is written anew.
_SLACK = 200


def snapshots(store: Store) -> list[Snapshot]:
    """All snapshots, newest first, each with what changed since the one before it.

    Damaged ones are left out (``verify.check`` names them).

    Raises:
        VersionsOff: the store cannot be used.
    """
    ids = store.ids()
    if not ids:
        return []
    kept, lines = _kept(store)
    shots: list[Snapshot] = []
    new: list[Snapshot] = []
    with store.open() as repo:
        for name in ids:
            shot = kept.get(name)
            with contextlib.suppress(StoreBroken, SnapshotUnknown):
                known = shot
                shot = _joined(repo, shot or store.get(repo, name), shots[-1] if shots else None)
                shots.append(shot)
                if shot is not known:
                    new.append(shot)
    if lines > len(ids) + _SLACK:
        _rewrite(store, shots)
    elif new:
        _append(store, new)
    shots.reverse()
    return shots


def put(store: Store, shot: Snapshot) -> None:
    """Add a new snapshot to the list; failing is no loss."""
    _append(store, [shot])


def _joined(repo: Objects, shot: Snapshot, before: Snapshot | None) -> Snapshot:
    """The snapshot with its changes counted from the one that now stands before it."""
    name = before.id if before is not None else None
    if shot.before == name:
        return shot
    changes = total(between(repo.tree, before.tree if before else None, shot.tree))
    return replace(shot, before=name, changes=changes)


def _kept(store: Store) -> tuple[dict[str, Snapshot], int]:
    """What the list says, by id, and how many lines it has; the last line about one counts."""
    try:
        lines = (store.own / NAME).read_bytes().splitlines()
    except OSError:
        return {}, 0
    found: dict[str, Snapshot] = {}
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, OverflowError, OSError):
            facts = json.loads(line)
            facts["when"] = datetime.fromtimestamp(facts["when"] / 1000, UTC)
            facts["changes"] = Changes(*facts["changes"])
            shot = Snapshot(**facts)
            if shot.id == f"{shot.number}-{shot.commit[:8]}":
                found[shot.id] = shot
    return found, len(lines)


def _line(shot: Snapshot) -> bytes:
    facts = asdict(shot)
    facts["when"] = int(shot.when.timestamp() * 1000)
    facts["changes"] = list(facts["changes"].values())
    return json.dumps(facts).encode() + b"\n"


def _append(store: Store, shots: list[Snapshot]) -> None:
    """Add lines with one write each time; a torn line before them ends where they begin."""
    path = store.own / NAME
    with contextlib.suppress(OSError), path.open("ab") as file:
        file.write(b"\n" * _is_torn(path) + b"".join(map(_line, shots)))


def _is_torn(path: Path) -> bool:
    """Whether the list does not end with a line's end."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read(1) not in (b"", b"\n")


def _rewrite(store: Store, shots: list[Snapshot]) -> None:
    """Write the list anew, without what is not needed."""
    temp = store.own / f".{secrets.token_hex(8)}.tmp"
    try:
        temp.write_bytes(b"".join(map(_line, shots)))
        os.rename(temp, store.own / NAME)  # noqa: PTH104  (one call to watch)
    except OSError:
        with contextlib.suppress(OSError):
            temp.unlink()
