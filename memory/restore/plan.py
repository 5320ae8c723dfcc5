"""Plans a restore with memory's rules, without writing, and says in sentences what it does."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from jenny.text_normalisation import canonical
from jenny.workspace import names
from jenny.workspace.content import WRITE_BYTES
from jenny.workspace.errors import SnapshotUnknown
from jenny.workspace.git.objects import id_of
from jenny.workspace.snapshots import restore_plan
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.restore_plan import CurrentState, Plan, Source
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import FileRow, Snapshot, counted
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.undo import FilteredLines, LeftOut
from memory import files, ledgers, suppression
from memory.merge import Merged, is_history, is_ledger, merge_ledgers
from memory.suppression import tombstones, write_rule

# Percent done, and a sentence.
type Progress = Callable[[int, str], None]


@dataclass(frozen=True)
class Prepared:
    """The plan of a restore.

    ``plan`` has the change of each file. ``texts`` are the memory's files as they will be
    written, without the lines in ``left_out`` (by path). ``merged`` are the merged ledgers.
    ``reoffer`` are entries that Dream is shown again.
    """

    plan: Plan
    present: CurrentState = field(repr=False)
    texts: dict[str, bytes] = field(default_factory=dict, repr=False)
    left_out: dict[str, tuple[LeftOut, ...]] = field(default_factory=dict)
    merged: Merged = field(default_factory=Merged)
    reoffer: tuple[int, ...] = ()
    touches_memory: bool = False

    @property
    def is_nothing(self) -> bool:
        return self.plan.is_nothing and not self.merged.files


@dataclass(frozen=True, kw_only=True)
class RestoreServices:
    """Operations that need the database; all are called under the workspace's lock.

    ``stop`` ends a Dream run under way and returns a sentence about it. ``requeue`` shows entries
    to Dream again. ``invalidate`` invalidates pending changes and returns their count;
    ``revalidate`` reverts that when nothing was changed. ``check`` raises when the job was given
    up. ``note_changes`` is given the files that change before they do.
    """

    stop: Callable[[], str]
    requeue: Callable[[tuple[int, ...]], None]
    invalidate: Callable[[], int]
    check: Callable[[], None]
    note_changes: Callable[[Iterable[str]], None] = lambda _paths: None
    revalidate: Callable[[], None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class RestoreRequest:
    """A request. ``path`` is empty for everything. ``name`` describes the source (``snapshot
    12-1a2b3c4d``). ``expect`` is the ``token`` of the confirmed plan, empty without one.
    ``is_same``: the source is of this workspace."""

    name: str
    path: str = ""
    trigger: Literal["restore", "import"] = "restore"
    account: int | None = None
    expect: str = ""
    is_same: bool = True

    @property
    def label(self) -> str:
        return f"{self.path or 'everything'} from {self.name}"


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The result. ``before`` is the snapshot of the previous state; ``version`` is the new
    version of the memory files, if any of them changed."""

    prepared: Prepared
    before: Snapshot
    version: Version | None = None
    voided: int = 0
    notes: tuple[str, ...] = ()


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
    restore_filter = _restore_filter(root, merged)
    for row in (*plan.changed, *plan.added):
        if row.size > WRITE_BYTES or not is_watched(root, row.path):
            continue
        found = restore_filter(row, b"".join(source.content(row)))
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


def _restore_filter(root: Path, merged: Merged) -> Callable[[FileRow, bytes], FilteredLines]:
    """Return a filter that removes what is forgotten on either side."""
    data = merged.files.get(suppression.PATH)
    state = tombstones.state(root) if data is None else tombstones.state_of(ledgers.parsed(data))

    def restore_filter(row: FileRow, content: bytes) -> FilteredLines:
        if files.memory_file(root, row.path) is None and files.skill_of(row.path) is None:
            return FilteredLines(content)
        return write_rule.sifted(content, state)

    return restore_filter


_SHOWN_CHARS = 160
# Lines that are named in the answer.
_LINES_NAMED = 5


def entries_sentence(cursors: tuple[int, ...], *, done: bool) -> str:
    """Say what happens to entries that Dream had read since; empty without any."""
    if not cursors:
        return ""
    verb = "will be" if not done else "is" if len(cursors) == 1 else "are"
    notes = counted(len(cursors), "note")
    return f"{notes} that Dream had read since {verb} tried again with the next memory update."


def voided_sentence(count: int) -> str:
    """Say what happens to changes that waited for a person; empty without any."""
    if not count:
        return ""
    changes = counted(count, "memory change")
    return f"{changes} to review cannot be made any more; what was said is tried again."


def left_out(prepared: Prepared) -> list[tuple[str, str, str]]:
    """List lines that stay away: file, displayed line, id of the tombstone."""
    rows = []
    for path, lines in prepared.left_out.items():
        for line in lines:
            text = " ".join(line.text.split())
            shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
            rows.append((path, shown, line.id))
    return rows


def ledger_sentence(prepared: Prepared) -> str:
    """Say that what was said is not rewound; empty when no ledger is restored."""
    if not prepared.plan.ledgers:
        return ""
    return (
        "The history, the archive and what you had forgotten are never taken back: both sides of "
        "them are kept."
    )


def restored_text(name: str, path: str, done: Restored) -> str:
    what = names.shown(path) if path else "Everything"
    forgotten = forgotten_sentence(done.prepared)
    but = ", but for what you had forgotten" if forgotten else ""
    if done.prepared.is_nothing:
        same = f"{what} is already as it was in {name}{but}. Nothing was written."
        return f"{same} {forgotten}".rstrip()
    plan = done.prepared.plan.message
    return " ".join([f"{what} is as it was in {name}{but}: {plan}", *_more(done)])


def forgotten_sentence(prepared: Prepared) -> str:
    """List the lines that stayed away and the way to bring them back; empty without any."""
    rows = left_out(prepared)
    if not rows:
        return ""
    named = ", ".join(f"“{text}” ({one})" for _, text, one in rows[:_LINES_NAMED])
    more = f", and {len(rows) - _LINES_NAMED:,} more" if len(rows) > _LINES_NAMED else ""
    they = "it" if len(rows) == 1 else "them"
    return (
        f"{counted(len(rows), 'line')} stayed away, since you had {they} forgotten: {named}{more}. "
        f"To have {they} back, choose “Allow again” on the page of this restore, or "
        f"`manage.py forget --lift ID`, and restore once more."
    )


def _more(done: Restored) -> Iterator[str]:
    yield "How it was before is kept in a snapshot."
    for message in (
        forgotten_sentence(done.prepared),
        entries_sentence(done.prepared.reoffer, done=True),
        voided_sentence(done.voided),
        *done.notes,
    ):
        if message:
            yield message
