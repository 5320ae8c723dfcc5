"""What is known of a run that ended, for its page: computed from what it wrote, and from the
versions that hold it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jenny.accounts.models import Workspace
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.versions.history import History, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked import CURSOR
from memory.errors import CursorBroken
from memory.history import cursors, lookup
from memory.models import DreamEntry, DreamRun
from settings_ui.pipeline import wording
from settings_ui.pipeline.differences import Difference, difference
from settings_ui.pipeline.wording import Word
from settings_ui.views.files.frame import Desk, address

EXCERPT = 300
# Of versions made since, so many are looked through for an undoing of the run.
_LOOKED_THROUGH = 2_000


@dataclass(frozen=True, slots=True)
class Read:
    """An entry that the run was shown, or passed over."""

    cursor: int
    word: Word
    reason: str
    excerpt: str
    is_there: bool
    tries: int
    is_again: bool
    is_digest: bool


@dataclass(frozen=True, slots=True)
class Write:
    """An attempted write. *is_open*: it was refused and never made good."""

    path: str
    ok: bool
    sources: tuple[int, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    rule: str
    sentence: str
    is_open: bool
    by_review: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """A file in one of the run's versions."""

    path: str
    href: str
    difference: Difference
    added: int
    removed: int
    is_new: bool
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One version of the run. *undone_by*: the version that took it back, while that stands."""

    version: Version
    files: tuple[Changed, ...]
    undone_by: Version | None
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """All of it. *problem*: why its versions cannot be shown."""

    entries: tuple[Read, ...]
    landed: tuple[Write, ...]
    refused: tuple[Write, ...]
    parts: tuple[Part, ...]
    moved: tuple[dict[str, Any], ...]
    archived: tuple[dict[str, Any], ...]
    diff: str
    problem: str
    to_offer: int

    @property
    def is_undone(self) -> bool:
        """Whether all that it changed was taken back."""
        return bool(self.parts) and all(part.undone_by for part in self.parts)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run that is under way."""

    text: str
    state: str


def steps(run: DreamRun) -> list[Step]:
    """How far a run is that has not ended."""
    reached = 0 if run.state == DreamRun.State.QUEUED else 1 if run.cursor_from is None else 2
    names = (
        "Waits for a worker",
        "Takes a snapshot, and keeps what others changed",
        "Reads what was said, and writes what is worth keeping",
        "Makes a version of it, and reports",
    )
    return [
        Step(name, "done" if at < reached else "now" if at == reached else "ahead")
        for at, name in enumerate(names)
    ]


def report(desk: Desk, run: DreamRun) -> Report:
    """The report of a run that ended."""
    told = run.report if isinstance(run.report, dict) else {}
    parts, problem = _parts(desk, run)
    review = run.review if isinstance(run.review, dict) else {}
    writes = [
        *(
            _write(row, review.get("report") or {}, by_review=True)
            for row in review.get("writes", ())
        ),
        *(_write(row, told) for row in run.writes),
    ]
    found = Report(
        entries=tuple(_read(desk.row, run)),
        landed=tuple(row for row in writes if row.ok),
        refused=tuple(row for row in writes if not row.ok),
        parts=parts,
        moved=(*(review.get("moved") or ()), *(told.get("moved") or ())),
        archived=_archived(run, told),
        diff="" if parts else str(told.get("diff") or ""),
        problem=problem,
        to_offer=0,
    )
    if not found.is_undone:
        return found
    return Report(**{**_fields(found), "to_offer": len(cursors_to_offer(desk.row, run))})


def commits_of(run: DreamRun) -> list[str]:
    """The ids of the run's versions, those of its review pass first."""
    review = run.review if isinstance(run.review, dict) else {}
    return list(dict.fromkeys([*(review.get("commits") or ()), *run.commits]))


def cursors_to_offer(workspace: Workspace, run: DreamRun) -> set[int]:
    """Entries of the run that Dream's place is past, and that are not on offer."""
    try:
        read_to = cursors.dream_cursor(workspace.root)
    except (CursorBroken, WorkspaceError):
        return set()
    shown = {row["cursor"] for row in run.entries if row.get("verdict") != "passed_over"}
    again = DreamEntry.objects.filter(workspace=workspace, cursor__in=shown)
    on_offer = set(again.values_list("cursor", flat=True))
    return {cursor for cursor in shown if cursor <= read_to} - on_offer


def _fields(found: Report) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Report.__slots__}


def _read(workspace: Workspace, run: DreamRun) -> Iterable[Read]:
    try:
        there = lookup.by_cursor(workspace.root, {row["cursor"] for row in run.entries})
    except WorkspaceError:
        there = {}
    for row in run.entries:
        entry = there.get(row["cursor"])
        text = wording.lines(entry.content) if entry else ""
        yield Read(
            cursor=row["cursor"],
            word=wording.verdict(row.get("verdict", "")),
            reason=row.get("reason", ""),
            excerpt=text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…",
            is_there=entry is not None,
            tries=row.get("tries", 0),
            is_again=bool(row.get("reoffered")),
            is_digest=bool(row.get("digested")),
        )


def _write(row: dict[str, Any], told: dict[str, Any], *, by_review: bool = False) -> Write:
    still = {(one.get("path"), one.get("rule")) for one in told.get("refused") or ()}
    return Write(
        path=row["path"],
        ok=row["ok"],
        sources=tuple(row.get("sources", ())),
        added=tuple(row.get("added", ())),
        removed=tuple(row.get("removed", ())),
        rule=wording.rule(row.get("rule", "")),
        sentence=row.get("sentence", ""),
        is_open=not row["ok"] and (row["path"], row.get("rule")) in still,
        by_review=by_review,
    )


def _archived(run: DreamRun, told: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """What it moved to the archive; of what the report does not tell, the id alone."""
    review = run.review.get("report", {}) if isinstance(run.review, dict) else {}
    rows = (*(review.get("archived") or ()), *(told.get("archived") or ()))
    known = {row["id"]: row for row in rows}
    ids = dict.fromkeys([*known, *run.archived])
    return tuple(known.get(one, {"id": one, "text": "", "source": ""}) for one in ids)


def _parts(desk: Desk, run: DreamRun) -> tuple[tuple[Part, ...], str]:
    commits = commits_of(run)
    if not commits:
        return (), ""
    try:
        with open_history(desk.files.root) as history:
            undone = _undoings(history, commits)
            return tuple(_part(history, sha, undone) for sha in commits), ""
    except WorkspaceError as error:
        return (), error.sentence


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
    """By version of the run: the newest undoing of it, unless that was undone itself."""
    sought = set(wanted)
    taken_back: set[str] = set()
    found: dict[str, Version] = {}
    for number, row in enumerate(history.walk()):
        if row.sha in sought or number == _LOOKED_THROUGH:
            # What is older than the run's newest version cannot have undone it.
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
