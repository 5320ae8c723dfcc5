"""Decisions on proposed changes: accept, edit, reject, suppress.

Every decision is made under the workspace's lock, under which runs stage as well, so tabs and
runs are ordered. A repeated decision has no second effect.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.workspace import paths, transactions
from jenny.workspace.errors import VersionsOff, WorkspaceError, WriteRefused
from jenny.workspace.versions import commits as version_commits
from jenny.workspace.versions.write_log import RunNote
from jenny.workspace.write_rules import Actor
from memory.approvals import merge
from memory.approvals.values import DecisionOutcome, Hunk, Piece
from memory.approvals.values import State as HunkState
from memory.dream import report
from memory.models import DreamRun, StagedHunk
from memory.services import approval_decisions
from memory.services.approval_decisions import (
    Decision,
    State,
    approve_skill,
    partners_of,
    skills_waiting,
    text_of,
    withdraw_skill,
)
from memory.services.large_prunes import bring_all_back, dismiss, large_prunes
from memory.services.proposals import (
    keep_marks,
    keep_unsourced_facts,
    open_rows,
    piece_of,
    withdraw_forgotten,
)

__all__ = [
    "accept_all",
    "accept_hunk",
    "approve_skill",
    "bring_all_back",
    "count",
    "decided",
    "dismiss",
    "find",
    "invalidate",
    "large_prunes",
    "reject_hunk",
    "remember_after_all",
    "skills_waiting",
    "suppress",
    "undo_acceptance",
    "waiting",
    "withdraw_skill",
]


_CHANGED = "Its place in the file has changed since Dream proposed it."


def list_waiting(workspace: Workspace, *, run_id: int | None = None) -> tuple[Hunk, ...]:
    """Return the pending hunks by file and place; of one run only, if asked."""
    every = resolve_hunk(workspace)
    texts = _Texts(workspace)
    rows = [row for row in every if run_id is None or row.run_id == run_id]
    return tuple(_hunk(row, texts, every) for row in rows)


def list_decided(
    workspace: Workspace, *, run_id: int | None = None, most: int = 200
) -> tuple[Hunk, ...]:
    rows = StagedHunk.objects.filter(workspace=workspace).exclude(state=State.WAITING)
    if run_id is not None:
        rows = rows.filter(run=run_id)
    return tuple(_plain(row) for row in rows.order_by("-decided_at", "-pk")[:most])


def count_waiting(workspace: Workspace) -> int:
    return open_rows(workspace).count()


def find_hunk(workspace: Workspace, hunk_id: int) -> Hunk | None:
    """Return one hunk in its present state; ``None`` without one."""
    row = StagedHunk.objects.filter(workspace=workspace, pk=hunk_id).first()
    if row is None or row.state != State.WAITING:
        return None if row is None else _plain(row)
    return _hunk(row, _Texts(workspace), list(open_rows(workspace)))


def resolve_hunk(workspace: Workspace) -> list[StagedHunk]:
    """Return pending rows; those whose file says the same already are stored as settled, those that
    would add what was forgotten since as forgotten.

    Read-only pages call this as well, so a full disk may prevent the storing; the next call
    repeats it.
    """
    texts = _Texts(workspace)
    rows = list(open_rows(workspace))
    done = [row for row in rows if texts.is_settled(row)]
    if done:
        mine = StagedHunk.objects.filter(pk__in=[row.pk for row in done], state=State.WAITING)
        try:
            mine.update(state=State.SETTLED, decided_at=Now())
        except DatabaseError as error:
            log.warning("approval.not_settled", extra={"cause": type(error).__name__})
    waiting = [row for row in rows if row not in done]
    try:
        return withdraw_forgotten(paths.real_root(workspace.root), waiting)
    except (DatabaseError, WorkspaceError) as error:
        log.warning("approval.not_withdrawn", extra={"cause": type(error).__name__})
        return waiting


class _Texts:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, str | None] = {}
        self._problems: dict[str, str] = {}

    def is_settled(self, row: StagedHunk) -> bool:
        text, problem = self.of(row.path)
        return not problem and merge.is_settled(text, piece_of(row))

    def of(self, path: str) -> tuple[str | None, str]:
        """Return a file's text, and why it cannot be read."""
        if path not in self._texts:
            try:
                self._texts[path] = text_of(self._workspace, path)
            except WorkspaceError as error:
                self._texts[path], self._problems[path] = None, error.message
        return self._texts[path], self._problems.get(path, "")


def _hunk(row: StagedHunk, texts: _Texts, every: Sequence[StagedHunk]) -> Hunk:
    piece = piece_of(row)
    text, problem = texts.of(row.path)
    is_placed = not problem and not merge.merge_hunks(text, [piece]).conflicts
    if is_placed:
        return _plain(row, together=[one.pk for one in partners_of(row, every)])
    now = "" if problem else merge.standing(text, piece)
    return _plain(row, why=problem or _CHANGED, now=now, state="conflict")


def _was_undone(row: StagedHunk) -> bool:
    """True when it waits again, and has the person's words of before."""
    return row.state == State.WAITING and bool(row.text) and not row.is_wish


def _plain(
    row: StagedHunk,
    *,
    why: str = "",
    now: str = "",
    state: HunkState | None = None,
    together: Sequence[int] = (),
) -> Hunk:
    piece: Piece = piece_of(row)
    return Hunk(
        id=row.pk,
        run_id=row.run_id,
        path=row.path,
        kind=piece.kind,
        before="\n".join(piece.before).strip("\n"),
        after="\n".join(piece.after).strip("\n"),
        context=(piece.previous, piece.following),
        heading=piece.heading,
        sources=tuple(row.sources),
        state=state or cast("HunkState", row.state),
        why=why,
        now=now,
        reason=row.reason,
        by_review=row.actor == "review",
        is_wish=row.is_wish,
        text=row.text if row.is_edited or _was_undone(row) else None,
        together_with=tuple(together),
        offered=tuple(row.offered),
        staged_at=row.staged_at,
        decided_at=row.decided_at,
    )


log = logging.getLogger(__name__)

SUBJECT = "dream: approved changes"
_DONE = {
    State.ACCEPTED: "accepted",
    State.REJECTED: "rejected",
    State.NEVER: "forgotten",
    State.SETTLED: "settled: its file came to say the same",
    State.SUPERSEDED: "replaced by a later run of Dream",
    State.VOID: "void since the workspace was restored",
}

_FORGOTTEN = (
    "You had this forgotten, so it was not written. If Jenny is to know it again, have it "
    "remembered after all."
)

waiting = list_waiting
decided = list_decided
count = count_waiting
find = find_hunk


@dataclass(frozen=True, slots=True)
class _DecisionRequest:
    """A requested decision: the hunk, and the person."""

    workspace: Workspace
    hunk_id: int
    account: Account | None
    kind: str


def accept_hunk(
    workspace: Workspace,
    hunk_id: int,
    *,
    account: Account | None,
    text: str | None = None,
    seen: str | None = None,
    kind: str = "browser",
) -> DecisionOutcome:
    """Write the hunk to its file through the write rules.

    *text* replaces its wording. *seen* is the present text that the person was shown at a
    conflict (``Hunk.now``) and that the hunk, or *text*, replaces; when another text is there by
    now, nothing is written. A conflict needs either; with neither it keeps waiting. *kind* is
    ``browser`` or ``command``.
    """
    made = _accepted(_DecisionRequest(workspace, hunk_id, account, kind), text, seen)
    return replace(made, message=f"{made.message}{_versioned(workspace, [made])}")


def remember_after_all(
    workspace: Workspace, hunk_id: int, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Accept a hunk that was forgotten since it was proposed: what it says may be known again."""
    root = paths.real_root(workspace.root)
    try:
        with transactions.lock_workspace(root):
            mine = StagedHunk.objects.filter(workspace=workspace, pk=hunk_id)
            row = mine.filter(state__in=(State.NEVER, State.WAITING)).first()
            if row is not None:
                approval_decisions.lift_tombstones(root, row, account, kind)
                mine.update(state=State.WAITING, decided_at=None, decided_by=None)
                keep_marks(workspace)
    except WorkspaceError as error:
        return DecisionOutcome(ok=False, message=error.message, hunk=find(workspace, hunk_id))
    return accept_hunk(workspace, hunk_id, account=account, kind=kind)


def undo_acceptance(
    workspace: Workspace, hunk_id: int, *, account: Account | None
) -> DecisionOutcome:
    """Take an accepted hunk out of its file again; it waits for a decision as before."""
    person = Actor("restore", account.pk if account else None, reason="an acceptance was undone")
    try:
        with transactions.lock_workspace(paths.real_root(workspace.root)):
            try:
                where = approval_decisions.take_back_hunk(workspace, hunk_id, person)
            finally:
                keep_marks(workspace)
    except WorkspaceError as error:
        return DecisionOutcome(ok=False, message=error.message, hunk=find(workspace, hunk_id))
    if where is None:
        message = "Undone already: the change waits for you."
        return DecisionOutcome(ok=True, message=message, hunk=find(workspace, hunk_id))
    # Without a version now, the next one has it.
    with contextlib.suppress(WorkspaceError):
        version_commits.commit_pending(workspace.root)
    message = f"Undone: {where} is as before, and the change waits for you again."
    return DecisionOutcome(ok=True, message=message, hunk=find(workspace, hunk_id))


def _accepted(
    asked: _DecisionRequest, text: str | None = None, seen: str | None = None
) -> DecisionOutcome:
    """Accept the hunk without committing a version."""

    def apply(decision: Decision) -> str:
        if decision.row.is_wish:
            return approval_decisions.forget_hunk(decision)
        approval_decisions.land_hunk(decision, text=text, seen=seen)
        goes = decision.row.kind == "remove" and not (text or "").strip() and not decision.partners
        where = " and ".join(dict.fromkeys(row.path for row in decision.rows))
        return f"Accepted: it is out of {where}." if goes else f"Accepted: {where} says it now."

    return _decide(asked, State.ACCEPTED, apply)


def reject_hunk(
    workspace: Workspace, hunk_id: int, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Reject this wording: Dream may not write it again. Its entries are requeued, since no file
    has their facts."""
    offered: tuple[int, ...] = ()

    def apply(decision: Decision) -> str:
        nonlocal offered
        if decision.row.is_wish:
            root = paths.real_root(workspace.root)
            approval_decisions.lift_tombstones(root, decision.row, account, kind)
        offered = approval_decisions.drop_hunk(decision)
        if decision.row.is_wish:
            return f"Rejected: {decision.row.path} stays as it is, and Jenny knows it as before."
        if decision.row.kind == "remove" or decision.partners:
            return f"Rejected: {decision.row.path} stays as it is. Dream does not ask again."
        if not offered:
            return "Rejected: it is not written, and not proposed again in these words."
        return (
            "Rejected: it is not written, and not proposed again in these words. What it was made "
            f"from will be tried again: {_entries(offered)} of the history."
        )

    return _decide(
        _DecisionRequest(workspace, hunk_id, account, kind), State.REJECTED, apply, lambda: offered
    )


def suppress(
    workspace: Workspace, hunk_id: int, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Suppress the hunk's text: an addition becomes forgotten; a removal is applied and
    forgotten."""

    def apply(decision: Decision) -> str:
        if decision.row.is_wish:
            return approval_decisions.forget_hunk(decision)
        gone = approval_decisions.suppress_hunk(decision)
        what = "1 statement is" if len(gone) == 1 else f"{len(gone)} statements are"
        return (
            f"Never stored: {what} noted as forgotten. Jenny does not learn it again by herself; "
            "what was forgotten can be lifted."
        )

    return _decide(_DecisionRequest(workspace, hunk_id, account, kind), State.NEVER, apply)


def accept_all(
    workspace: Workspace,
    *,
    account: Account | None,
    run_id: int | None = None,
    kind: str = "browser",
) -> tuple[DecisionOutcome, ...]:
    """Accept everything pending (of one run, if asked), removals first; what cannot be accepted
    keeps waiting, with a reason. The changes of each run are one version."""
    rows = waiting(workspace, run_id=run_id)
    numbers = [row.id for row in sorted(rows, key=lambda row: len(row.after) - len(row.before))]
    made = [_accepted(_DecisionRequest(workspace, number, account, kind)) for number in numbers]
    note = _versioned(workspace, made)
    return tuple(replace(row, message=f"{row.message}{note}") if row.ok else row for row in made)


def invalidate(workspace: Workspace) -> tuple[int, tuple[int, ...]]:
    """Invalidate everything pending after a restore and requeue its entries. Return the count of
    hunks and the entries.

    Raises:
        WorkspaceError: the workspace cannot be used; everything keeps waiting.
    """
    with transactions.lock_workspace(paths.real_root(workspace.root)):
        with transaction.atomic():
            rows = list(open_rows(workspace).select_for_update())
            offered = approval_decisions.requeue_sources(
                workspace, {one for row in rows for one in row.sources}
            )
            gone = StagedHunk.objects.filter(pk__in=[row.pk for row in rows])
            gone.update(state=State.VOID, decided_at=Now())
            keep_unsourced_facts(workspace, rows)
        keep_marks(workspace)
    return len(rows), offered


def _decide(
    request: _DecisionRequest,
    wanted: State,
    apply: Callable[[Decision], str],
    offered: Callable[[], tuple[int, ...]] = tuple,
) -> DecisionOutcome:
    """Apply a decision unless one was made."""
    workspace, hunk_id = request.workspace, request.hunk_id
    # Hunks whose file says the same already need no decision.
    resolve_hunk(workspace)
    try:
        with approval_decisions.open_decision(
            workspace, hunk_id, request.account, request.kind
        ) as found:
            if found is None:
                message = f"There is no change with the number {hunk_id}. Nothing was done."
                return DecisionOutcome(ok=False, message=message)
            if isinstance(found, StagedHunk):
                return _was_decided(workspace, found, wanted)
            message = apply(found)
    except WriteRefused as error:
        # The rule's own sentence speaks to a model.
        is_forgotten = error.rule == "forgotten"
        message = _FORGOTTEN if is_forgotten else error.message
        hunk = find(workspace, hunk_id)
        return DecisionOutcome(ok=False, message=message, hunk=hunk, is_forgotten=is_forgotten)
    except WorkspaceError as error:
        return DecisionOutcome(ok=False, message=error.message, hunk=find(workspace, hunk_id))
    return DecisionOutcome(
        ok=True, message=message, hunk=find(workspace, hunk_id), offered=offered()
    )


def _was_decided(workspace: Workspace, row: StagedHunk, wanted: State) -> DecisionOutcome:
    is_so = row.state == wanted or (wanted == State.ACCEPTED and row.state == State.SETTLED)
    is_forgotten = row.state == State.NEVER and wanted == State.ACCEPTED
    message = f"This change is {_DONE[State(row.state)]} already. Nothing was done."
    return DecisionOutcome(
        ok=is_so,
        message=_FORGOTTEN if is_forgotten else message,
        hunk=find(workspace, row.pk),
        offered=tuple(row.offered),
        is_forgotten=is_forgotten,
    )


def _versioned(workspace: Workspace, made: Sequence[DecisionOutcome]) -> str:
    """Commit accepted changes to versions, one for each run, and record them with the runs;
    return a sentence about problems."""
    numbers = [row.hunk.id for row in made if row.ok and row.hunk is not None]
    rows = StagedHunk.objects.filter(pk__in=numbers).select_related("run")
    runs = {approval_decisions.name_of(row): row.run for row in rows if row.run is not None}
    if not numbers:
        return ""
    try:
        # A run under way commits its versions itself.
        ended = [name for name, run in runs.items() if run.state == DreamRun.State.ENDED]
        found = version_commits.commit_pending(
            workspace.root, runs=[RunNote(name, SUBJECT) for name in ended]
        )
        for name in ended:
            commits = [one.sha for one in found.versions if name in one.runs]
            _note(runs[name], commits, report.archived_by(workspace.root, name))
    except VersionsOff as error:
        return f" Versions are off. {error.message}"
    except WorkspaceError as error:
        log.warning("approval.no_version", extra={"cause": type(error).__name__})
    return ""


def _note(run: DreamRun, commits: list[str], archived: tuple[str, ...]) -> None:
    """Record the accepted changes with their run."""
    with transaction.atomic():
        row = DreamRun.objects.select_for_update().get(pk=run.pk)
        row.commits = list(dict.fromkeys([*row.commits, *commits]))
        row.archived = list(dict.fromkeys([*row.archived, *archived]))
        row.save(update_fields=["commits", "archived"])


def _entries(cursors: tuple[int, ...]) -> str:
    word = "note" if len(cursors) == 1 else "notes"
    return f"{word} {', '.join(map(str, cursors[:10]))}" + (" …" if len(cursors) > 10 else "")  # noqa: PLR2004 - so many are named
