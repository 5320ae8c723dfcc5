"""The door to what waits for a person: listed, accepted, edited, rejected, never stored.

Every verdict is made under the workspace's lock, in which also a run stages: two tabs, or a run and
a page, come one after the other. A verdict given twice is given once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.workspace import acts, paths
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions import record
from jenny.workspace.versions.writes import RunNote
from memory.approval.values import Outcome
from memory.dream.reporting import traces
from memory.management import deciding, hunks
from memory.management.agreeing import approve_skill, skills_waiting, withdraw_skill
from memory.management.deciding import Case, State
from memory.management.pruning import bring_all_back, dismiss, large_prunes
from memory.management.staging import keep_marks, open_rows
from memory.models import DreamRun, StagedHunk

__all__ = [
    "accept",
    "accept_all",
    "approve_skill",
    "bring_all_back",
    "count",
    "decided",
    "dismiss",
    "find",
    "large_prunes",
    "never",
    "reject",
    "skills_waiting",
    "void",
    "waiting",
    "withdraw_skill",
]

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

waiting = hunks.waiting
decided = hunks.decided
count = hunks.count
find = hunks.find


@dataclass(frozen=True, slots=True)
class _Asked:
    """A verdict as it is asked for: of which hunk, and by whom."""

    workspace: Workspace
    hunk_id: int
    account: Account | None
    kind: str


def accept(
    workspace: Workspace,
    hunk_id: int,
    *,
    account: Account | None,
    text: str | None = None,
    seen: str | None = None,
    kind: str = "browser",
) -> Outcome:
    """Write the hunk to its file, through the rules of every write.

    *text*: other words to write in its place. *seen*: of a conflict, what the person was shown as
    standing there (``Hunk.now``), and what the hunk, or *text*, is to stand in the place of; when
    something else stands there by now, nothing is written. A conflict is solved by either; with
    neither it goes on waiting. *kind*: ``browser`` or ``command``, where the person is.
    """
    made = _accepted(_Asked(workspace, hunk_id, account, kind), text, seen)
    return replace(made, sentence=f"{made.sentence}{_versioned(workspace, [made])}")


def _accepted(asked: _Asked, text: str | None = None, seen: str | None = None) -> Outcome:
    """The verdict, without a version of what it wrote."""

    def judge(case: Case) -> str:
        deciding.land(case, text=text, seen=seen)
        goes = case.row.kind == "remove" and not (text or "").strip() and not case.partners
        where = " and ".join(dict.fromkeys(row.path for row in case.rows))
        return f"Accepted: it is out of {where}." if goes else f"Accepted: {where} says it now."

    return _decide(asked, State.ACCEPTED, judge)


def reject(
    workspace: Workspace, hunk_id: int, *, account: Account | None, kind: str = "browser"
) -> Outcome:
    """Reject this wording: it is not written, and Dream may not write it again. The entries it
    rests on are offered to Dream again, since their facts are in no file."""
    offered: tuple[int, ...] = ()

    def judge(case: Case) -> str:
        nonlocal offered
        offered = deciding.drop(case)
        if case.row.kind == "remove" or case.partners:
            return f"Rejected: {case.row.path} stays as it is. Dream does not ask again."
        if not offered:
            return "Rejected: it is not written, and not proposed again in these words."
        return (
            "Rejected: it is not written, and not proposed again in these words. Dream looks again "
            f"at what it was made from: {_entries(offered)} of the history."
        )

    return _decide(
        _Asked(workspace, hunk_id, account, kind), State.REJECTED, judge, lambda: offered
    )


def never(
    workspace: Workspace, hunk_id: int, *, account: Account | None, kind: str = "browser"
) -> Outcome:
    """Never store this: what the hunk would add becomes forgotten; of a removal, the line goes and
    is forgotten."""

    def judge(case: Case) -> str:
        gone = deciding.bury(case)
        what = "1 statement is" if len(gone) == 1 else f"{len(gone)} statements are"
        return (
            f"Never stored: {what} noted as forgotten. Jenny does not learn it again by herself; "
            "what was forgotten can be lifted."
        )

    return _decide(_Asked(workspace, hunk_id, account, kind), State.NEVER, judge)


def accept_all(
    workspace: Workspace,
    *,
    account: Account | None,
    run_id: int | None = None,
    kind: str = "browser",
) -> tuple[Outcome, ...]:
    """Accept everything that waits (of one run, if asked), what makes room first; what cannot be
    accepted goes on waiting, and its outcome says why. What each run proposed is one version."""
    rows = waiting(workspace, run_id=run_id)
    numbers = [row.id for row in sorted(rows, key=lambda row: len(row.after) - len(row.before))]
    made = [_accepted(_Asked(workspace, number, account, kind)) for number in numbers]
    note = _versioned(workspace, made)
    return tuple(replace(row, sentence=f"{row.sentence}{note}") if row.ok else row for row in made)


def void(workspace: Workspace) -> tuple[int, tuple[int, ...]]:
    """After a restore: nothing waits any more, and the entries behind it are offered again. How
    many hunks, and which entries.

    Raises:
        WorkspaceError: the workspace is not to be had; all still waits.
    """
    with acts.locked(paths.real_root(workspace.root)):
        with transaction.atomic():
            rows = list(open_rows(workspace).select_for_update())
            offered = deciding.offer(workspace, {one for row in rows for one in row.sources})
            gone = StagedHunk.objects.filter(pk__in=[row.pk for row in rows])
            gone.update(state=State.VOID, decided_at=Now())
        keep_marks(workspace)
    return len(rows), offered


def _decide(
    case: _Asked,
    wanted: State,
    judge: Callable[[Case], str],
    offered: Callable[[], tuple[int, ...]] = tuple,
) -> Outcome:
    """Give a verdict, unless one was given."""
    workspace, hunk_id = case.workspace, case.hunk_id
    # What its file says already needs none any more.
    hunks.settle(workspace)
    try:
        with deciding.case(workspace, hunk_id, case.account, case.kind) as found:
            if found is None:
                sentence = f"There is no change with the number {hunk_id}. Nothing was done."
                return Outcome(ok=False, sentence=sentence)
            if isinstance(found, StagedHunk):
                return _was_decided(workspace, found, wanted)
            sentence = judge(found)
    except WorkspaceError as error:
        return Outcome(ok=False, sentence=error.sentence, hunk=find(workspace, hunk_id))
    return Outcome(ok=True, sentence=sentence, hunk=find(workspace, hunk_id), offered=offered())


def _was_decided(workspace: Workspace, row: StagedHunk, wanted: State) -> Outcome:
    """There is nothing to decide any more: what was asked for is so, or something else is."""
    is_so = row.state == wanted or (wanted == State.ACCEPTED and row.state == State.SETTLED)
    sentence = f"This change is {_DONE[State(row.state)]} already. Nothing was done."
    return Outcome(
        ok=is_so, sentence=sentence, hunk=find(workspace, row.pk), offered=tuple(row.offered)
    )


def _versioned(workspace: Workspace, made: Sequence[Outcome]) -> str:
    """Put what was accepted into versions, one for each run, and note them with their runs; what a
    person should know of that."""
    numbers = [row.hunk.id for row in made if row.ok and row.hunk is not None]
    rows = StagedHunk.objects.filter(pk__in=numbers).select_related("run")
    runs = {deciding.name_of(row): row.run for row in rows if row.run is not None}
    if not numbers:
        return ""
    try:
        # A run that is under way says by itself what it is.
        ended = [name for name, run in runs.items() if run.state == DreamRun.State.ENDED]
        found = record.commit_pending(
            workspace.root, runs=[RunNote(name, SUBJECT) for name in ended]
        )
        for name in ended:
            commits = [one.sha for one in found.versions if name in one.runs]
            _note(runs[name], commits, traces.archived_by(workspace.root, name))
    except VersionsOff as error:
        return f" Versions are off. {error.sentence}"
    except WorkspaceError as error:
        log.warning("approval.no_version", extra={"cause": type(error).__name__})
    return ""


def _note(run: DreamRun, commits: list[str], archived: tuple[str, ...]) -> None:
    """What of a run was accepted is told with it."""
    with transaction.atomic():
        row = DreamRun.objects.select_for_update().get(pk=run.pk)
        row.commits = list(dict.fromkeys([*row.commits, *commits]))
        row.archived = list(dict.fromkeys([*row.archived, *archived]))
        row.save(update_fields=["commits", "archived"])


def _entries(cursors: tuple[int, ...]) -> str:
    word = "entry" if len(cursors) == 1 else "entries"
    return f"{word} {', '.join(map(str, cursors[:10]))}" + (" …" if len(cursors) > 10 else "")  # noqa: PLR2004 - so many are named
