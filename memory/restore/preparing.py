"""Finding out what a restore means now; nothing is written by it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.git.objects import id_of
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restoring import planning, present
from jenny.workspace.snapshots.restoring.sources import Source
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import FileRow
from jenny.workspace.versions import scan, tracked
from jenny.workspace.versions.sieve import LeftOut, Sifted
from memory import files, forgotten, ledger
from memory.forgotten import restoring, stones
from memory.merging import Merged, is_history, is_ledger, merge_ledgers
from memory.restore.values import Prepared

_FOLDER = "memory"


def prepare(
    root: Path, store: Store, repo: Objects, source: Source, *, path: str = "", is_same: bool = True
) -> Prepared:
    """What bringing back what is at *path* (empty: everything) as *source* has it would do to the
    workspace in the real folder *root*. *repo*: the store, open.

    Raises:
        SnapshotUnknown: the source has nothing at that path.
        StoreBroken: it is damaged.
        UndoRefused: what is forgotten cannot be read now.
    """
    now = present.look(store, repo, root)
    plan = planning.plan(now, source.rows(), path=path, is_ledger=is_ledger)
    merged = _merged(root, now, source, is_same=is_same)
    mine = Merged(
        {at: data for at, data in merged.files.items() if _is_in(path, at)}, (), merged.notes
    )
    texts, left_out, same = _texts(root, plan, source, mine)
    plan = replace(
        plan,
        changed=tuple(row for row in plan.changed if row.path not in same),
        same=plan.same + len(same),
    )
    touched = [row.path for row in (*plan.changed, *plan.added)]
    touched += [found.path for found in plan.removed]
    touches = any(is_remembered(root, at) for at in touched)
    return Prepared(
        plan=plan,
        present=now,
        texts=texts,
        left_out=left_out,
        merged=mine if mine.files else replace(mine, notes=()),
        reoffer=merged.reoffer if touches else (),
        touches_memory=touches,
    )


def is_remembered(root: Path, path: str) -> bool:
    """Whether facts may stand in the file at *path*: a memory file, or one of a skill."""
    return path.startswith(f"{files.SKILLS}/") or files.memory_file(root, path) is not None


def is_watched(root: Path, path: str) -> bool:
    """Whether the write rules have anything to say of the file: all they guard are files that
    Jenny remembers by, or is told how to work by."""
    if path.startswith((f"{_FOLDER}/", f"{files.SKILLS}/")) or tracked.is_tracked(path):
        return True
    return path == files.INSTRUCTIONS or files.memory_file(root, path) is not None


def _is_in(path: str, at: str) -> bool:
    return not path or at == path or at.startswith(f"{path}/")


def _merged(root: Path, now: present.Present, source: Source, *, is_same: bool) -> Merged:
    """All ledgers put together, whatever of them was asked for."""
    try:
        theirs = [row for row in source.below(_FOLDER) if is_ledger(row.path)]
    except SnapshotUnknown:
        theirs = []
    other, current = {}, {}
    for row in theirs:
        mine = now.files.get(row.path)
        if is_history(row.path) or mine is None or mine[1] != row.sha:
            other[row.path] = b"".join(source.content(row))
    for at in now.files:
        if is_history(at) or at in other or at == forgotten.PATH:
            data = scan.content(root, at)
            if data is not None:
                current[at] = data
    return merge_ledgers(current, other, is_same=is_same)


def _texts(
    root: Path, plan: planning.Plan, source: Source, merged: Merged
) -> tuple[dict[str, bytes], dict[str, tuple[LeftOut, ...]], set[str]]:
    """The memory's files as they are to be written, what is left out of them, and those that are
    like that already."""
    texts: dict[str, bytes] = {}
    left_out: dict[str, tuple[LeftOut, ...]] = {}
    same: set[str] = set()
    sieve = _sieve(root, merged)
    for row in (*plan.changed, *plan.added):
        if row.size > WRITE_BYTES or not is_watched(root, row.path):
            continue
        found = sieve(row, b"".join(source.content(row)))
        texts[row.path] = found.data
        if found.left_out:
            left_out[row.path] = found.left_out
            if id_of("blob", found.data) == _sha(plan, root, row):
                same.add(row.path)
    return texts, left_out, same


def _sha(plan: planning.Plan, root: Path, row: FileRow) -> str:
    """The id of what stands there now, if its permissions are right."""
    there = plan.there.get(row.path)
    if there is None or there.mode != row.mode:
        return ""
    data = scan.content(root, row.path)
    return id_of("blob", data or b"")


def _sieve(root: Path, merged: Merged) -> Callable[[FileRow, bytes], Sifted]:
    """What may come back of a file, by what is forgotten on either side."""
    data = merged.files.get(forgotten.PATH)
    state = stones.state(root) if data is None else stones.state_of(ledger.parsed(data))

    def sieve(row: FileRow, content: bytes) -> Sifted:
        if files.memory_file(root, row.path) is None and files.skill_of(row.path) is None:
            return Sifted(content)
        return restoring.sifted(content, state)

    return sieve
