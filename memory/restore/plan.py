"""Computes the effects of a restore without writing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jenny.text_normalisation import canonical
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.git.objects import id_of
from jenny.workspace.snapshots import restore_plan
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import Source
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import FileRow
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.undo import FilteredLines, LeftOut
from memory import files, ledgers, suppression
from memory.merge import Merged, is_history, is_ledger, merge_ledgers
from memory.restore.values import Prepared
from memory.suppression import restore_filter, tombstones

_FOLDER = "memory"


def prepare(
    root: Path, store: Store, repo: Objects, source: Source, *, path: str = "", is_same: bool = True
) -> Prepared:
    """Plan the restore of *path* (empty: everything) from *source* in the real folder *root*.
    *repo* is the open store.

    Raises:
        SnapshotUnknown: the source has nothing at that path.
        StoreBroken: it is damaged.
        UndoRefused: the tombstones cannot be read now.
    """
    now = restore_plan.read_current_state(store, repo, root)
    plan = restore_plan.plan_restore(now, source.rows(), path=path, is_ledger=is_ledger)
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
    """True for memory files and files of skills."""
    return path.startswith(f"{files.SKILLS}/") or files.memory_file(root, path) is not None


def is_watched(root: Path, path: str) -> bool:
    """True when a write rule concerns the file: it holds memory or instructions."""
    if path.startswith((f"{_FOLDER}/", f"{files.SKILLS}/")) or tracked_files.is_tracked(path):
        return True
    return path == files.INSTRUCTIONS or files.memory_file(root, path) is not None


def _is_in(path: str, at: str) -> bool:
    return not path or f"{canonical(at)}/".startswith(f"{canonical(path)}/")


def _merged(root: Path, now: restore_plan.CurrentState, source: Source, *, is_same: bool) -> Merged:
    """Merge all ledgers, whatever part of them is restored."""
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
        if is_history(at) or at in other or at == suppression.PATH:
            data = tracked_files.read_tracked_file(root, at)
            if data is not None:
                current[at] = data
    return merge_ledgers(current, other, is_same=is_same)


def _texts(
    root: Path, plan: restore_plan.Plan, source: Source, merged: Merged
) -> tuple[dict[str, bytes], dict[str, tuple[LeftOut, ...]], set[str]]:
    """Return the memory's files as they will be written, the lines left out, and the paths that
    need no change."""
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


def _sha(plan: restore_plan.Plan, root: Path, row: FileRow) -> str:
    """Return the id of the present file if its permissions are right."""
    there = plan.there.get(row.path)
    if there is None or there.mode != row.mode:
        return ""
    data = tracked_files.read_tracked_file(root, row.path)
    return id_of("blob", data or b"")


def _sieve(root: Path, merged: Merged) -> Callable[[FileRow, bytes], FilteredLines]:
    """Return a filter that removes what is forgotten on either side."""
    data = merged.files.get(suppression.PATH)
    state = tombstones.state(root) if data is None else tombstones.state_of(ledgers.parsed(data))

    def sieve(row: FileRow, content: bytes) -> FilteredLines:
        if files.memory_file(root, row.path) is None and files.skill_of(row.path) is None:
            return FilteredLines(content)
        return restore_filter.sifted(content, state)

    return sieve
