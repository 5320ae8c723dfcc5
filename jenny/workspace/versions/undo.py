"""Taking back one version: what it changed and only that, byte for byte."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jenny.workspace import acts, diffs, paths
from jenny.workspace.content import version_of
from jenny.workspace.errors import UndoRefused, VersionsOff
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.versions import messages, obstacles, record, scan, sieve
from jenny.workspace.versions.history import FileChange, History, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.record import Recorded
from jenny.workspace.versions.sieve import LeftOut
from jenny.workspace.versions.tracked import CURSOR

type Label = Literal["clean", "moved on", "already there"]


@dataclass(frozen=True)
class Step:
    """What undoing means for one file.

    ``clean``: it is as the version left it. ``moved on``: it was changed since, by the versions
    ``later`` (newest first) or not in a version yet (``is_pending``); that goes with it.
    ``already there``: it is as it was before the version. ``found``, ``made`` and ``before``: its
    contents now, after the version, and before it (``None``: no file). ``wanted``: what it becomes,
    which is ``before`` without the lines that may not come back (``left_out``).
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
        """What was done to the file since the version: what undoing takes away besides."""
        return FileChange(self.path, self.made, self.found)

    @property
    def verb(self) -> str:
        """What becomes of the file."""
        if self.label == "already there":
            return "left"
        if self.wanted is None:
            return "removed"
        return "brought back" if self.found is None else "put back"


@dataclass(frozen=True)
class CursorStep:
    """What undoing means for Dream's cursor: ``before`` → ``after``; equal when it stays.

    ``entries``: the run's own history entries (first, last) when they are known: they are offered
    again when the cursor moves, else they can be put on the list of entries to offer again.
    """

    before: int | None
    after: int | None
    entries: tuple[int, int] | None = None

    @property
    def moves(self) -> bool:
        """Whether the cursor goes back."""
        return self.before != self.after


@dataclass(frozen=True)
class UndoPlan:
    """What undoing a version would do. ``token`` changes when any of it does."""

    version: Version
    steps: tuple[Step, ...]
    cursor: CursorStep
    token: str

    @property
    def is_done(self) -> bool:
        """Whether everything is already as it was before the version."""
        return all(step.label == "already there" for step in self.steps)

    @property
    def moved_on(self) -> tuple[Step, ...]:
        """The files whose later work goes too."""
        return tuple(step for step in self.steps if step.label == "moved on")

    @property
    def left_out(self) -> dict[str, tuple[LeftOut, ...]]:
        """The lines that may not come back, by path."""
        return {step.path: step.left_out for step in self.steps if step.left_out}


@dataclass(frozen=True)
class Undone:
    """What undoing did. ``version`` is the new one, ``None`` when nothing had to be done or when
    it could not be made now (``problem`` says why; the files are as wanted all the same).

    ``pending``: versions that were made first, of what was not in one. ``written``: the steps
    that changed a file. ``dropped``: lines that the version had added and that are gone now, by
    path: for Dream, not to learn them anew.
    """

    plan: UndoPlan
    pending: tuple[Version, ...]
    version: Version | None
    written: tuple[Step, ...]
    dropped: dict[str, list[str]]
    problem: str = ""

    @property
    def left_out(self) -> dict[str, tuple[LeftOut, ...]]:
        """The lines that did not come back, by path."""
        return self.plan.left_out


def plan_undo(root: Path, sha: str) -> UndoPlan:
    """What undoing the version with the full id *sha* would do now. Nothing is written.

    Raises:
        UndoRefused: it may not be undone, or something stands in the way; says what.
        VersionsOff: the store cannot be used.
    """
    real = paths.real_root(root)
    with open_history(real) as history:
        return _plan(real, history, sha)


def undo(root: Path, sha: str, *, account: int | None = None, expect: str | None = None) -> Undone:
    """Undo the version with the full id *sha*, as one act under the workspace's lock.

    What is not in a version yet gets one first, so that nothing is lost; the files are written
    through the workspace's rules; a new version says what was undone, and can itself be undone.
    *expect*: the ``token`` of the plan that the person agreed to.

    Raises:
        UndoRefused: as ``plan_undo``, or the plan is another one by now. Nothing was undone.
        WorkspaceError: a rule, a lock or the disk refused. Nothing was undone.
    """
    real = paths.real_root(root)
    with acts.locked(real):
        first = plan_undo(real, sha)
        if first.is_done:
            return Undone(first, (), None, (), {})
        if expect is not None and first.token != expect:
            message = "Something changed since this was shown. Nothing was undone. Look again."
            raise UndoRefused(message)
        pending = record.commit_pending(real).versions
        plan = plan_undo(real, sha)
        if plan.is_done:  # What a hand took out was noted just now as what may not come back.
            return Undone(plan, pending, None, (), {})
        written = tuple(step for step in plan.steps if step.label != "already there")
        _write(real, plan, written, account)
        made, problem = _commit(real)
    by_undo = [row for row in made.versions if row.undoes == sha]
    return Undone(
        plan, pending, by_undo[-1] if by_undo else None, written, _dropped(written), problem
    )


def _write(root: Path, plan: UndoPlan, steps: tuple[Step, ...], account: int | None) -> None:
    """Write the files, and the cursor where it goes back, as one act."""
    actor = Actor("restore", account, f"{messages.UNDO_RUN}{plan.version.sha}")
    files = {step.path: step.wanted for step in steps}
    expect = {step.path: None if step.found is None else version_of(step.found) for step in steps}
    if plan.cursor.moves:
        files[CURSOR] = b"%d\n" % (plan.cursor.after or 0)
    open_workspace(root, actor).write_many(files, expect=expect)


def _commit(root: Path) -> tuple[Recorded, str]:
    """Make the new version; when that fails the log of writes keeps it for the next one."""
    try:
        return record.commit_pending(root), ""
    except VersionsOff as error:
        return Recorded(), error.sentence


def _dropped(steps: tuple[Step, ...]) -> dict[str, list[str]]:
    """Lines that the version had added and that are in the files no more."""
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
    obstacles.refuse_in_the_way(root, [row.path for row in changes])
    found = {row.path: scan.content(root, row.path) for row in changes}
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
    """What the file becomes, and what is left out. One that need not be written is as it is."""
    return (found, ()) if found == change.old else sieve.sift(root, change.path, change.old)


def _label(change: FileChange, found: bytes | None, wanted: bytes | None) -> Label:
    if found == wanted:
        return "already there"
    return "clean" if diffs.is_same_text(found, change.new) else "moved on"


def _refuse_kind(version: Version) -> None:
    """Refuse what is not Dream's, nor an undoing."""
    if version.parent is None:
        message = (
            f"Version {version.short} is the first one: there is nothing before it to go back to. "
            "Nothing was changed."
        )
        raise UndoRefused(message)
    if version.kind not in messages.UNDOABLE:
        who = "by another program" if version.kind == "foreign" else "outside a Dream run"
        message = (
            f"Version {version.short} was made {who}; only what Dream did, and undoing it, can be "
            "undone here. Nothing was changed."
        )
        raise UndoRefused(message)


def _cursor(root: Path, history: History, version: Version) -> CursorStep:
    """Dream's cursor goes back only with its newest run that stands, and never forward."""
    data = None if obstacles.in_the_way(root, CURSOR) else scan.content(root, CURSOR)
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
    """The id of Dream's newest version that was not undone (or whose undoing was undone)."""
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
    """The number in Dream's cursor file: 0 when it is absent or blank, ``None`` when it is none."""
    text = (data or b"").decode("utf-8", "replace").strip()
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None  # noqa: PLR2004 - digits of 64 bits
