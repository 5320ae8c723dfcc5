"""The list of runs, and the page of one run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import F, JSONField
from django.db.models.fields.json import KeyTransform
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts.models import Workspace
from jenny.markdown.render import render as markdown
from jenny.workspace.diffs import difference
from jenny.workspace.errors import UndoRefused, WorkspaceError
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.undo import Step, Undone, UndoPlan, plan_undo
from memory.approvals.values import Hunk
from memory.models import DreamRun, StagedHunk
from memory.services import approvals, dream_run_store
from memory.services.snapshots import store_of
from memory.versions import left_out_lines, undo_run
from settings_ui import dream_pages
from settings_ui.dream_pages import Word, run_number
from settings_ui.views.memory import report
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    answered_anew,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)
from settings_ui.views.memory.report import commits_of

# Rows of run lists, loaded without the large columns.


# Files that are named; more are counted.
NAMED = 3
_COLUMNS = (
    "id",
    "state",
    "status",
    "trigger",
    "created_at",
    "started_at",
    "ended_at",
    "seconds",
    "cost",
    "is_demo",
    "entries",
)


@dataclass(frozen=True, slots=True)
class FileCount:
    """A file with the lines that came and went."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list.

    *tokens* counts all tokens. *freed* counts the characters that its review removed, ``None``
    without one. *times* counts consecutive runs without entries that this row stands for.
    """

    id: int
    word: Word
    is_live: bool
    trigger: str
    when: datetime
    entries: int
    files: tuple[FileCount, ...]
    more_files: int
    refused: int
    freed: int | None
    tokens: int
    cost: Decimal | None
    seconds: float
    is_demo: bool
    times: int = 1


def page_of_runs(
    workspace: Workspace, *, before: int = 0, most: int = 20
) -> tuple[list[RunRow], int]:
    """Return the newest runs, or those before run *before*, and the number to continue from (0:
    none).

    Consecutive runs without entries are one row.
    """
    rows = DreamRun.objects.filter(workspace=workspace).annotate(
        all_tokens=F("input_tokens")
        + F("output_tokens")
        + F("cache_read_tokens")
        + F("cache_write_tokens"),
        files=KeyTransform("files", "report", output_field=JSONField()),
        refused=KeyTransform("refused", "report", output_field=JSONField()),
        freed=KeyTransform("freed", "review", output_field=JSONField()),
    )
    rows = rows.order_by("-pk").values(*_COLUMNS, "all_tokens", "files", "refused", "freed")
    found: list[dict[str, Any]] = []
    while len(found) <= most:
        some = list((rows.filter(pk__lt=before) if before else rows)[: most + 1])
        for row in some:
            _fold(found, row)
        if len(some) <= most:
            break
        before = some[-1]["id"]
    waits = {row["id"] for row in found if row["status"] == "waiting"}
    if waits:
        open_ = StagedHunk.objects.filter(run__in=waits, state=StagedHunk.State.WAITING)
        waits = set(open_.values_list("run", flat=True))
    accepted = _accepted([row["id"] for row in found if not row["files"]])
    for row in found:
        row["files"] = row["files"] or accepted.get(row["id"], [])
    shown = [_row(row, still_waits=row["id"] in waits) for row in found[:most]]
    return shown, found[most - 1]["oldest"] if len(found) > most else 0


def _fold(found: list[dict[str, Any]], row: dict[str, Any]) -> None:
    row |= {"times": 1, "oldest": row["id"], "is_empty": _is_empty(row)}
    if found and row["is_empty"] and found[-1]["is_empty"]:
        found[-1]["times"] += 1
        found[-1]["oldest"] = row["id"]
    else:
        found.append(row)


def _is_empty(row: dict[str, Any]) -> bool:
    """True when a run had no entries, changed nothing and used no tokens."""
    has_more = row["files"] or row["all_tokens"] or row["freed"]
    return row["status"] == DreamRun.NOTHING and not has_more


def _accepted(runs: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the changes that a person accepted of each run: files with their lines."""
    rows = StagedHunk.objects.filter(run__in=runs, state=StagedHunk.State.ACCEPTED)
    counts: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows.order_by("path").only("run_id", "path", "piece", "is_edited", "text"):
        files = counts.setdefault(row.run_id or 0, {})
        file = files.setdefault(row.path, {"path": row.path, "added": 0, "removed": 0})
        file["added"] += len(row.text.splitlines() if row.is_edited else row.piece["after"])
        file["removed"] += len(row.piece["before"])
    return {run: list(files.values()) for run, files in counts.items()}


def _row(row: dict[str, Any], *, still_waits: bool) -> RunRow:
    files = [_count(one) for one in _list(row["files"]) if isinstance(one, dict)]
    is_live = row["state"] != DreamRun.State.ENDED
    return RunRow(
        id=row["id"],
        word=dream_pages.status(
            row["state"] if is_live else row["status"], still_waits=still_waits
        ),
        is_live=is_live,
        trigger=dream_pages.TRIGGER.get(row["trigger"], row["trigger"]),
        when=row["started_at"] or row["created_at"],
        entries=len(_list(row["entries"])),
        files=tuple(files[:NAMED]),
        more_files=max(0, len(files) - NAMED),
        refused=len(_list(row["refused"])),
        freed=row["freed"] if isinstance(row["freed"], int) else None,
        tokens=row["all_tokens"],
        cost=row["cost"],
        seconds=row["seconds"],
        is_demo=row["is_demo"],
        times=row["times"],
    )


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _count(row: dict[str, Any]) -> FileCount:
    return FileCount(str(row.get("path", "")), int(row.get("added", 0)), int(row.get("removed", 0)))


A_PAGE = 25
# htmx stops polling at this status.
_STOP_POLLING = 286
_LARGEST = 2**62


@require_safe
@workspace_error_page
def listing(request: HttpRequest) -> HttpResponseBase:
    mine = get_workspace_context(request)
    before = number_in(request.GET.get("before", ""))
    found, older = page_of_runs(mine.row, before=before, most=A_PAGE)
    context = base_context(mine, "runs") | {"runs": found, "older": older, "is_first": not before}
    return render(request, "memory/runs.html", context)


@require_safe
@workspace_error_page
def run_page(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Show a run's progress or report. The page polls while it runs."""
    mine = get_workspace_context(request)
    if (elsewhere := answered_anew(request, mine)) is not None:
        return elsewhere
    run = run_of(mine, run_id)
    if not is_fragment(request):
        return render(request, "memory/run.html", base_context(mine, "runs") | _context(mine, run))
    if request.GET.get("seen") == _stamp(run):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer = render(request, "memory/run.html#fragment", _context(mine, run))
    if run.state == DreamRun.State.ENDED:
        answer.status_code = _STOP_POLLING
    return answer


@require_POST
@workspace_error_page
def offer(request: HttpRequest, run_id: int) -> HttpResponseBase:
    mine = get_workspace_context(request)
    run = run_of(mine, run_id)
    cursors = report.cursors_to_offer(mine.row, run)
    if cursors:
        dream_run_store.queue_entries(mine.row, cursors)
        what = "1 note" if len(cursors) == 1 else f"{len(cursors):,} notes"
        messages.success(request, f"{what} will be tried again with the next update.")
    else:
        messages.info(request, "Nothing was changed: its notes will be tried again already.")
    return redirect("memory_run", run.pk)


def decided(hunks: Iterable[Hunk]) -> list[dict[str, Any]]:
    return [{"hunk": row, "word": dream_pages.HUNK.get(row.state, row.state)} for row in hunks]


def run_of(mine: WorkspaceContext, run_id: int) -> DreamRun:
    """Return the workspace's run of that number.

    Raises:
        Http404: there is none.
    """
    run = DreamRun.objects.filter(workspace=mine.row, pk=min(run_id, _LARGEST)).first()
    if run is None:
        raise Http404
    return run


def _context(mine: WorkspaceContext, run: DreamRun) -> dict[str, Any]:
    is_live = run.state != DreamRun.State.ENDED
    found: dict[str, Any] = {
        "run": run,
        "word": dream_pages.status(run.state if is_live else run.status),
        "trigger": dream_pages.TRIGGER.get(run.trigger, run.trigger),
        "is_live": is_live,
        "stamp": _stamp(run),
    }
    if is_live:
        is_dead = DreamRun.dead().filter(pk=run.pk).exists()
        return found | {"is_dead": is_dead, "steps": report.steps(run)}
    waiting = len(approvals.waiting(mine.row, run_id=run.pk))
    return (
        found
        | {"word": dream_pages.status(run.status, still_waits=bool(waiting)), "waiting": waiting}
        | {"message": markdown(run.message), "notes": [markdown(note) for note in run.notes]}
        | {"report": report.report(mine, run), "read_notes": report.read_notes(run)}
        | {"has_snapshot": _has_snapshot(mine, run)}
        | {"review": markdown(str(run.review.get("message", "")))}
        | {"prunes": approvals.large_prunes(mine.row, run_id=run.pk)}
        | {"decided": decided(approvals.decided(mine.row, run_id=run.pk))}
    )


def _has_snapshot(mine: WorkspaceContext, run: DreamRun) -> bool:
    try:
        return bool(run.snapshot) and store_of(mine.row).resolve(run.snapshot) == run.snapshot
    except WorkspaceError:
        return False


def _stamp(run: DreamRun) -> str:
    """Return a value that changes with the shown progress of a run."""
    return f"{run.state}-{run.cursor_from}-{run.tokens}"


# The undo page of a version of the memory files: of a Dream run, or of an earlier undo.


_ID = re.compile(r"[0-9a-f]{40}")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def undo_update(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Undo a version (``version``) of a run, or redo it: the version of its undo."""
    mine = get_workspace_context(request)
    run = run_of(mine, run_id)
    sent = request.POST if request.method == "POST" else request.GET
    version = _version(mine, sent.get("version", "") or ",".join(commits_of(run)))
    if not {version.sha, version.undoes} & set(commits_of(run)):
        raise Http404
    return _undo(request, mine, version, run)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def undo_version(request: HttpRequest, sha: str) -> HttpResponseBase:
    mine = get_workspace_context(request)
    version = _version(mine, sha)
    return _undo(request, mine, version, run_of_version(mine.row, version))


def run_of_version(workspace: Workspace, version: Version) -> DreamRun | None:
    """Return the run that made a version; ``None`` for other versions and unknown runs."""
    if version.kind != "dream":
        return None
    numbers = [number for name in version.runs if (number := run_number(name))]
    return DreamRun.objects.filter(workspace=workspace, pk__in=numbers[:1]).first()


def _version(mine: WorkspaceContext, sha: str) -> Version:
    """Return the version with that full id.

    Raises:
        Http404: there is none.
    """
    if not _ID.fullmatch(sha):
        raise Http404
    try:
        with open_history(mine.files.root) as history:
            return history.version(sha)
    except WorkspaceError as error:
        raise Http404 from error


def _undo(
    request: HttpRequest, mine: WorkspaceContext, version: Version, run: DreamRun | None
) -> HttpResponse:
    """Show what undoing the version would do; a POST with the ``token`` of that plan does it."""
    root = mine.files.root
    if request.method != "POST":
        return _page(request, mine, run, plan_undo(root, version.sha))
    try:
        token, is_again = request.POST.get("token", ""), request.POST.get("notes") == "again"
        done = undo_run(
            root, version.sha, account=mine.account.pk, expect=token, keep_out=not is_again
        )
    except UndoRefused as error:
        plan = plan_undo(root, version.sha)
        return _page(request, mine, run, plan, problem=error.message)
    again = is_again and _try_again(mine, done)
    redo = ""
    if done.version is not None:
        redo = reverse("memory_undo_version", args=[done.version.sha])
    messages.success(request, _outcome(done, is_again=again, redo=redo))
    if run is not None:
        return redirect("memory_run", run.pk)
    return redirect("snapshot_version", (done.version or version).sha)


def _try_again(mine: WorkspaceContext, done: Undone) -> bool:
    """Have the notes of the undone run read again by the next one. ``False``: it had none."""
    cursor = done.plan.cursor
    if cursor.entries and not cursor.moves:
        first, last = cursor.entries
        dream_run_store.queue_entries(mine.row, frozenset(range(first, last + 1)))
    return bool(cursor.entries)


def _page(
    request: HttpRequest,
    mine: WorkspaceContext,
    run: DreamRun | None,
    plan: UndoPlan,
    *,
    problem: str = "",
) -> HttpResponse:
    back = reverse("snapshot_version", args=[plan.version.sha])
    context = base_context(mine, "runs") | {
        "run": run,
        "back_href": reverse("memory_run", args=[run.pk]) if run else back,
        "plan": plan,
        "when": datetime.fromtimestamp(plan.version.when, UTC),
        "files": [_file(step) for step in plan.steps],
        "left_out": left_out_lines(plan.left_out),
        "problem": problem,
        "is_redo": plan.version.kind == "restore",
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "memory/undo.html", context, status=status)


def _file(step: Step) -> dict[str, Any]:
    """Return a file's change from its present content."""
    later = ""
    if step.label == "moved on":
        counts = step.lost.counts
        later = (
            f"This file was changed since (+{counts.added} −{counts.removed} lines), and that "
            "goes, too. An earlier state keeps it."
        )
    return {"step": step, "explanation": later, "difference": difference(step.found, step.wanted)}


def _outcome(done: Undone, *, is_again: bool, redo: str) -> str:
    forgotten = _left_out_told(done)
    if not done.written:
        but = ", but for what you had forgotten" if forgotten else ""
        same = f"every file is as it was before already{but}."
        return f"Nothing had to be done: {same} {forgotten}".rstrip()
    files = ", ".join(f"{step.path} is {step.verb}" for step in done.written)
    again = " Its notes will be tried again." if is_again else ""
    if not again and done.plan.version.kind != "restore":
        again = " What it had added is not saved again, unless you say it anew."
    later = "" if redo else f" {done.problem}"
    return f"Undone: {files}.{again}{later} {forgotten}".rstrip()


def _left_out_told(done: Undone) -> str:
    rows = left_out_lines(done.left_out)
    if not rows:
        return ""
    named = ", ".join(f"“{text}”" for _, text, _ in rows[:5])
    return (
        f"Left out, since you had it forgotten: {named}{' …' if rows[5:] else ''}. Memory → "
        "Forgotten lets it come back."
    )
