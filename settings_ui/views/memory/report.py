from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jenny.accounts.models import Workspace
from jenny.accounts.services.workspace_context import WorkspaceContext
from jenny.workspace.diffs import Difference, difference
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.versions.history import History, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked_files import CURSOR
from memory.errors import CursorBroken
from memory.history import cursors, reader
from memory.models import DreamEntry, DreamRun
from settings_ui import dream_pages
from settings_ui.dream_pages import Word
from settings_ui.views.files import address

# Newer versions that are searched for a revert of the run.
_LOOKED_THROUGH = 2_000
_FORGOTTEN = "You had this forgotten, so it was not written."


@dataclass(frozen=True, slots=True)
class Read:
    cursor: int
    word: Word
    reason: str
    excerpt: str
    is_there: bool
    tries: int
    is_again: bool
    is_digest: bool
    is_to_be_tried: bool


@dataclass(frozen=True, slots=True)
class Write:
    """An attempted write. *is_open*: it was refused and not corrected later."""

    path: str
    ok: bool
    sources: tuple[int, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    rule: str
    message: str
    is_open: bool
    by_review: bool


@dataclass(frozen=True, slots=True)
class Changed:
    path: str
    href: str
    difference: Difference
    added: int
    removed: int
    is_new: bool
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One version of the run. *undone_by* is the version that reverts it, while that holds."""

    version: Version
    files: tuple[Changed, ...]
    undone_by: Version | None
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report. *problem* says why the versions cannot be shown. *is_staged*: its writes
    wait for approval, or were decided on."""

    entries: tuple[Read, ...]
    landed: tuple[Write, ...]
    refused: tuple[Write, ...]
    parts: tuple[Part, ...]
    moved: tuple[dict[str, Any], ...]
    archived: tuple[dict[str, Any], ...]
    diff: str
    problem: str
    to_offer: int
    is_staged: bool

    @property
    def summary(self) -> str:
        """Return what came of the run in a few words; empty when it read and wrote nothing."""
        if self.is_staged:
            return ""
        added = sum(len(row.added) for row in self.landed)
        removed = sum(len(row.removed) for row in self.landed)
        again = sum(row.is_to_be_tried for row in self.entries)
        parts = [
            f"wrote {_count(added, 'line')}" if added else "",
            f"removed {_count(removed, 'line')}" if removed else "",
            f"{_count(again, 'note')} will be tried again" if again else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def is_undone(self) -> bool:
        return bool(self.parts) and all(part.undone_by for part in self.parts)


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    state: str


def steps(run: DreamRun) -> list[Step]:
    reached = 0 if run.state == DreamRun.State.QUEUED else 1 if run.cursor_from is None else 2
    names = (
        "Takes in what was just said",
        "Takes a snapshot first, so that everything can be brought back",
        "Reads what was said, and writes what is worth keeping",
        "Finishes, and reports",
    )
    return [
        Step(name, "done" if at < reached else "now" if at == reached else "ahead")
        for at, name in enumerate(names)
    ]


def report(ctx: WorkspaceContext, run: DreamRun) -> Report:
    stored = run.report if isinstance(run.report, dict) else {}
    parts, problem = _parts(ctx, run)
    review = run.review if isinstance(run.review, dict) else {}
    writes = [
        *(
            _write(row, review.get("report") or {}, by_review=True)
            for row in review.get("writes", ())
        ),
        *(_write(row, stored) for row in run.writes),
    ]
    found = Report(
        entries=tuple(_read(ctx.row, run)),
        landed=tuple(row for row in writes if row.ok),
        refused=tuple(row for row in writes if not row.ok),
        parts=parts,
        moved=(*(review.get("moved") or ()), *(stored.get("moved") or ())),
        archived=_archived(run, stored),
        diff="" if parts else str(stored.get("diff") or ""),
        problem=problem,
        to_offer=0,
        is_staged=run.status == "waiting",
    )
    if not found.is_undone:
        return found
    return Report(**{**_fields(found), "to_offer": len(cursors_to_offer(ctx.row, run))})


def commits_of(run: DreamRun) -> list[str]:
    """List the ids of the run's versions, its review's first."""
    review = run.review if isinstance(run.review, dict) else {}
    return list(dict.fromkeys([*(review.get("commits") or ()), *run.commits]))


def cursors_to_offer(workspace: Workspace, run: DreamRun) -> set[int]:
    """Return the run's entries that are before Dream's cursor and not requeued."""
    try:
        read_to = cursors.dream_cursor(workspace.root)
    except (CursorBroken, WorkspaceError):
        return set()
    shown = {row["cursor"] for row in run.entries if row.get("verdict") != "passed_over"}
    again = DreamEntry.objects.filter(workspace=workspace, cursor__in=shown)
    on_offer = set(again.values_list("cursor", flat=True))
    return {cursor for cursor in shown if cursor <= read_to} - on_offer


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def read_notes(run: DreamRun) -> str:
    """Return which notes the run read, as words."""
    found = sorted(row["cursor"] for row in run.entries if row.get("verdict") != "passed_over")
    if not found:
        return ""
    if len(found) == 1:
        return f"read note {found[0]}"
    if len(found) == 2:  # noqa: PLR2004 - a pair
        return f"read notes {found[0]} and {found[1]}"
    return f"read {len(found)} notes, {found[0]} to {found[-1]}"


def _fields(found: Report) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Report.__slots__}


def _read(workspace: Workspace, run: DreamRun) -> Iterable[Read]:
    try:
        there = reader.find_by_cursor(workspace.root, {row["cursor"] for row in run.entries})
    except WorkspaceError:
        there = {}
    for row in run.entries:
        entry = there.get(row["cursor"])
        yield Read(
            cursor=row["cursor"],
            word=dream_pages.verdict(row.get("verdict", "")),
            reason=row.get("reason", ""),
            excerpt=dream_pages.excerpt(entry.content) if entry else "",
            is_there=entry is not None,
            tries=row.get("tries", 0),
            is_again=bool(row.get("reoffered")),
            is_digest=bool(row.get("digested")),
            is_to_be_tried=row.get("verdict") == "unaccounted",
        )


def _write(row: dict[str, Any], stored: dict[str, Any], *, by_review: bool = False) -> Write:
    still = {(one.get("path"), one.get("rule")) for one in stored.get("refused") or ()}
    return Write(
        path=row["path"],
        ok=row["ok"],
        sources=tuple(row.get("sources", ())),
        added=tuple(row.get("added", ())),
        removed=tuple(row.get("removed", ())),
        rule=dream_pages.rule(row.get("rule", "")),
        # The rule's own sentence speaks to a model.
        message=_FORGOTTEN if row.get("rule") == "forgotten" else row.get("message", ""),
        is_open=not row["ok"] and (row["path"], row.get("rule")) in still,
        by_review=by_review,
    )


def _archived(run: DreamRun, stored: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    review = run.review.get("report", {}) if isinstance(run.review, dict) else {}
    rows = (*(review.get("archived") or ()), *(stored.get("archived") or ()))
    known = {row["id"]: row for row in rows}
    ids = dict.fromkeys([*known, *run.archived])
    return tuple(known.get(one, {"id": one, "text": "", "source": ""}) for one in ids)


def _parts(ctx: WorkspaceContext, run: DreamRun) -> tuple[tuple[Part, ...], str]:
    commits = commits_of(run)
    if not commits:
        return (), ""
    try:
        with open_history(ctx.files.root) as history:
            undone = _undoings(history, commits)
            return tuple(_part(history, sha, undone) for sha in commits), ""
    except WorkspaceError as error:
        return (), error.message


def _part(history: History, sha: str, undone: dict[str, Version]) -> Part:
    version = history.version(sha)
    rows = [row for row in history.changes(version) if row.path != CURSOR]
    by = undone.get(sha)
    return Part(
        version,
        tuple(
            Changed(
                row.path,
                address(row.path),
                difference(row.old, row.new),
                row.counts.added,
                row.counts.removed,
                row.old is None,
                row.new is None,
            )
            for row in rows
        ),
        by,
        datetime.fromtimestamp(by.when, UTC) if by else None,
    )


def _undoings(history: History, wanted: Iterable[str]) -> dict[str, Version]:
    """Map each version of the run to its newest revert, unless that was reverted itself."""
    sought = set(wanted)
    taken_back: set[str] = set()
    found: dict[str, Version] = {}
    for number, row in enumerate(history.walk()):
        if row.sha in sought or number == _LOOKED_THROUGH:
            # Versions older than the run's newest cannot have reverted it.
            sought.discard(row.sha)
            if not sought or number == _LOOKED_THROUGH:
                break
        if row.kind != "restore" or not row.undoes:
            continue
        if row.sha in taken_back:
            continue
        taken_back.add(row.undoes)
        if row.undoes in sought:
            found.setdefault(row.undoes, row)
    return found
