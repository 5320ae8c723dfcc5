"""Undo one version: revert its changes and nothing else, byte for byte.

Other packages register filters for lines that must not come back.
"""

import hashlib
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jenny.workspace import diffs, names, paths, transactions
from jenny.workspace.content import version_of
from jenny.workspace.errors import UndoRefused, VersionsOff
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import commits, messages, tracked_files
from jenny.workspace.versions.commits import Recorded
from jenny.workspace.versions.history import FileChange, History, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked_files import CURSOR


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line that does not come back, and the id by which a person can still restore it."""

    text: str
    id: str


@dataclass(frozen=True, slots=True)
class FilteredLines:
    """A file's content after filtering, and the lines that were left out."""

    data: bytes
    left_out: tuple[LeftOut, ...] = ()


RestoreFilter = Callable[[Path, str, bytes], FilteredLines]
_filters: dict[str, RestoreFilter] = {}


def register_restore_filter(restore_filter: RestoreFilter) -> None:
    """Add a filter for lines that undo would write to a file.

    It gets the workspace's folder, the file's path and its content, is called for plans too, and
    writes nothing.
    """
    _filters[f"{restore_filter.__module__}.{restore_filter.__qualname__}"] = restore_filter


def apply_restore_filters(
    root: Path, path: str, data: bytes | None
) -> tuple[bytes | None, tuple[LeftOut, ...]]:
    """Return the part of *data* that may be written to the file at *path*, and the lines left out.

    Raises:
        WorkspaceError: a filter cannot decide now.
    """
    left_out: tuple[LeftOut, ...] = ()
    if data is None:
        return None, left_out
    for restore_filter in list(_filters.values()):
        found = restore_filter(root, path, data)
        data, left_out = found.data, left_out + found.left_out
    return data, left_out


type Label = Literal["clean", "moved on", "already there"]


@dataclass(frozen=True)
class Step:
    """The effect of an undo on one file.

    ``clean``: the file is as the version left it. ``moved on``: it was changed since, by the
    versions ``later`` (newest first) or not in a version yet (``is_pending``); that change is lost
    too. ``already there``: it is as it was before the version. ``found``, ``made`` and ``before``:
    its contents now, after the version, and before it (``None``: no file). ``wanted``: the new
    content, which is ``before`` without the lines that must not come back (``left_out``).
    """

    path: str
    label: Label
    found: bytes | None
    made: bytes | None
    before: bytes | None
    wanted: bytes | None
    left_out: tuple[LeftOut, ...] = ()
    later: tuple[Version, ...] = ()
    is_pending: bool = False

    @property
    def lost(self) -> FileChange:
        """The change of the file since the version, which undo also reverts."""
        return FileChange(self.path, self.made, self.found)

    @property
    def verb(self) -> str:
        if self.label == "already there":
            return "left"
        if self.wanted is None:
            return "removed"
        return "brought back" if self.found is None else "put back"


@dataclass(frozen=True)
class CursorStep:
    """The effect of an undo on Dream's cursor: ``before`` → ``after``; equal when it stays.

    ``entries``: the run's own history entries (first, last), if known: they are requeued when the
    cursor moves, else they can be put on the list of entries to requeue.
    """

    before: int | None
    after: int | None
    entries: tuple[int, int] | None = None

    @property
    def moves(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class UndoPlan:
    """A planned undo. ``token`` changes when any part of it does."""

    version: Version
    steps: tuple[Step, ...]
    cursor: CursorStep
    token: str

    @property
    def is_done(self) -> bool:
        """True when everything is already as it was before the version."""
        return all(step.label == "already there" for step in self.steps)

    @property
    def moved_on(self) -> tuple[Step, ...]:
        """The files whose later changes are reverted too."""
        return tuple(step for step in self.steps if step.label == "moved on")

    @property
    def left_out(self) -> dict[str, tuple[LeftOut, ...]]:
        return {step.path: step.left_out for step in self.steps if step.left_out}


@dataclass(frozen=True)
class Undone:
    """The result of an undo.

    ``version`` is the new one, ``None`` when nothing had to be done or when it could not be made
    now (``problem`` says why; the files are written all the same). ``pending``: versions that were
    made first, of uncommitted changes. ``written``: the steps that changed a file. ``dropped``:
    lines that the version had added and that are gone now, by path; Dream must not learn them
    again.
    """

    plan: UndoPlan
    pending: tuple[Version, ...]
    version: Version | None
    written: tuple[Step, ...]
    dropped: dict[str, list[str]]
    problem: str = ""

    @property
    def left_out(self) -> dict[str, tuple[LeftOut, ...]]:
        return self.plan.left_out


def plan_undo(root: Path, sha: str) -> UndoPlan:
    """Plan the undo of the version with the full id *sha*. Nothing is written.

    Raises:
        UndoRefused: it may not be undone, or something blocks it; the sentence says what.
        VersionsOff: the store cannot be used.
    """
    real = paths.real_root(root)
    with open_history(real) as history:
        return _plan(real, history, sha)


def undo(root: Path, sha: str, *, account: int | None = None, expect: str | None = None) -> Undone:
    """Undo the version with the full id *sha* in one transaction under the workspace's lock.

    Uncommitted changes get a version first, so that nothing is lost; the files are written through
    the workspace's rules; a new version records the undo, and can itself be undone. *expect*: the
    ``token`` of the plan that the person confirmed.

    Raises:
        UndoRefused: as ``plan_undo``, or the plan has changed. Nothing was undone.
        WorkspaceError: a rule, a lock or the disk refused. Nothing was undone.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        first = plan_undo(real, sha)
        if first.is_done:
            return Undone(first, (), None, (), {})
        if expect is not None and first.token != expect:
            message = "Something changed since this was shown. Nothing was undone. Look again."
            raise UndoRefused(message)
        pending = commits.commit_pending(real).versions
        plan = plan_undo(real, sha)
        # The lines a person removed were recorded just now and must not come back.
        if plan.is_done:
            return Undone(plan, pending, None, (), {})
        written = tuple(step for step in plan.steps if step.label != "already there")
        _write(real, plan, written, account)
        made, problem = _commit(real)
    by_undo = [row for row in made.versions if row.undoes == sha]
    return Undone(
        plan, pending, by_undo[-1] if by_undo else None, written, _dropped(written), problem
    )


def _write(root: Path, plan: UndoPlan, steps: tuple[Step, ...], account: int | None) -> None:
    """Write the files, and the cursor if it moves back, in one transaction."""
    actor = Actor("restore", account, f"{messages.UNDO_RUN}{plan.version.sha}")
    files = {step.path: step.wanted for step in steps}
    expect = {step.path: None if step.found is None else version_of(step.found) for step in steps}
    if plan.cursor.moves:
        files[CURSOR] = b"%d\n" % (plan.cursor.after or 0)
    open_workspace(root, actor).write_many(files, expect=expect)


def _commit(root: Path) -> tuple[Recorded, str]:
    """Make the new version; if that fails, the write log keeps the changes for the next one."""
    try:
        return commits.commit_pending(root), ""
    except VersionsOff as error:
        return Recorded(), error.message


def _dropped(steps: tuple[Step, ...]) -> dict[str, list[str]]:
    """Return the lines that the version had added and that are not in the files any more."""
    found: dict[str, list[str]] = {}
    for step in steps:
        left = set(diffs.added_lines(None, step.wanted))
        lines = diffs.added_lines(step.before, step.made)
        gone = [line for line in lines if line.strip() and line not in left]
        if gone:
            found[step.path] = gone
    return found


def _plan(root: Path, history: History, sha: str) -> UndoPlan:
    version = history.version(sha)
    _refuse_kind(version)
    changes = [row for row in history.changes(version) if row.path != CURSOR]
    refuse_in_the_way(root, [row.path for row in changes])
    found = {row.path: tracked_files.read_tracked_file(root, row.path) for row in changes}
    sifted = {row.path: _sifted(root, row, found[row.path]) for row in changes}
    label = {row.path: _label(row, found[row.path], sifted[row.path][0]) for row in changes}
    moved = [path for path, what in label.items() if what == "moved on"]
    later = history.touched_since(version, moved) if moved else {}
    newest = history.tip or version.sha
    steps = tuple(
        Step(
            path=row.path,
            label=label[row.path],
            found=found[row.path],
            made=row.new,
            before=row.old,
            wanted=sifted[row.path][0],
            left_out=sifted[row.path][1],
            later=tuple(later.get(row.path, ())),
            is_pending=row.path in later
            and not diffs.is_same_text(history.file_as_of(row.path, newest), found[row.path]),
        )
        for row in changes
    )
    cursor = _cursor(root, history, version)
    digest = hashlib.sha256(repr((sha, cursor)).encode())
    for step in steps:
        now = None if step.found is None else version_of(step.found)
        digest.update(repr((step.path, step.label, now, step.left_out)).encode())
    return UndoPlan(version, steps, cursor, digest.hexdigest())


def _sifted(
    root: Path, change: FileChange, found: bytes | None
) -> tuple[bytes | None, tuple[LeftOut, ...]]:
    """Return the file's new content, unchanged where none is needed, and the lines left out."""
    return (
        (found, ()) if found == change.old else apply_restore_filters(root, change.path, change.old)
    )


def _label(change: FileChange, found: bytes | None, wanted: bytes | None) -> Label:
    if found == wanted:
        return "already there"
    return "clean" if diffs.is_same_text(found, change.new) else "moved on"


def _refuse_kind(version: Version) -> None:
    """Refuse versions that are neither Dream's nor an undo."""
    if version.parent is None:
        message = (
            "This is the first version: there is nothing before it to go back to. "
            "Nothing was changed."
        )
        raise UndoRefused(message)
    if version.kind not in messages.UNDOABLE:
        who = "by another program" if version.kind == "foreign" else "outside a memory update"
        message = (
            f"This was changed {who}; only a memory update, and undoing one, can be undone here. "
            "Nothing was changed."
        )
        raise UndoRefused(message)


def _cursor(root: Path, history: History, version: Version) -> CursorStep:
    """Move Dream's cursor back only with its newest run that is not undone, and never forward."""
    data = None if in_the_way(root, CURSOR) else tracked_files.read_tracked_file(root, CURSOR)
    now = cursor_in(data)
    if not messages.has_read(version):
        return CursorStep(now, now)
    began, ended = version.cursor or (None, None)
    if began is None and version.parent is not None:
        began = cursor_in(history.file_as_of(CURSOR, version.parent) or b"")
        ended = cursor_in(history.file_as_of(CURSOR, version.sha) or b"")
    entries = (began + 1, ended) if began is not None and ended and ended > began else None
    is_newest = version.sha == _newest_standing(history)
    goes_back = is_newest and began is not None and now is not None and began < now
    return CursorStep(now, began if goes_back else now, entries)


def _newest_standing(history: History) -> str | None:
    """Return the id of Dream's newest version that is not undone (or whose undo was undone)."""
    undone: set[str] = set()
    for row in history.walk():
        if row.sha in undone:
            continue
        if row.kind == "restore" and row.undoes:
            undone.add(row.undoes)
        elif messages.has_read(row):
            return row.sha
    return None


def cursor_in(data: bytes | None) -> int | None:
    """Parse Dream's cursor file: 0 when it is absent or blank, ``None`` when it is invalid."""
    text = (data or b"").decode("utf-8", "replace").strip()
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None  # noqa: PLR2004 - digits of 64 bits


def refuse_in_the_way(root: Path, files: Iterable[str]) -> None:
    """Refuse when a path to be written or removed is not a plain file.

    Raises:
        UndoRefused: the sentence says what is there.
    """
    problems = [why for path in files if (why := in_the_way(root, path))]
    if problems:
        raise UndoRefused(f"{' '.join(problems)} Nothing was changed.")


def in_the_way(root: Path, path: str) -> str:
    """Return what blocks writing *path*, as a sentence; empty when nothing does."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        part = root.joinpath(*parts[:depth])
        try:
            mode = part.lstat().st_mode
        except FileNotFoundError:
            return ""
        except OSError:
            return f"{names.shown(path)} cannot be looked at."
        shown = names.shown("/".join(parts[:depth]))
        if stat.S_ISLNK(mode):
            return f"{shown} is a link now."
        if depth < len(parts) and not stat.S_ISDIR(mode):
            return f"{shown} is a file now where a folder was."
        if depth == len(parts) and not stat.S_ISREG(mode):
            return f"{shown} is {'a folder' if stat.S_ISDIR(mode) else 'no plain file'} now."
    return ""
