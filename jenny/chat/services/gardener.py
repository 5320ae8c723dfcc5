"""Runs the gardener: turns new lines of a project's log into pages, on request or by schedule.

A snapshot is taken first. The log is never changed; how far it was read is stored only when the
model finished, so that a failed or interrupted run reads the same lines again.
"""

import logging
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs, usage
from jenny.accounts.services.jobs import JobEnd
from jenny.accounts.services.notices import Notice
from jenny.agent.errors import OVERRUN, AgentError, Cancelled
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.models.projects import FAILURES, SPACING, ProjectState
from jenny.chat.prompt import zone_of
from jenny.chat.services import gardener_run, projects, send_message
from jenny.chat.services.gardener_run import TAKEN_BACK, GardenerCancelled, MadeRoom, NotTidied
from jenny.chat.services.publish import Publisher
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.files import Workspace as Files
from memory.recall import escape_text
from memory.services import snapshots
from wikis import addresses, gardener, pages, project
from wikis import project as log_of
from wikis.errors import WikiMissing
from wikis.gardener import GardenContext, Written

log = logging.getLogger(__name__)

KIND = projects.TIDY
_DIFF_CHARS = 20_000
_NO_ACCOUNT = "The model wrote nothing and did not say what became of the lines."
_BEGUN = "Tidying…"
_NOTHING = "There is nothing new in the log of {name}: its pages are left as they are."
_LOG_STAYS = "The log is as it was, and the same lines are read again next time."
_INTERVAL = "agents.defaults.gardener.intervalMinutes"
# Causes outside the project: no model was asked.
_NOT_COUNTED = frozenset({"paused", "spent", "no_key", "workspace"})


def run_tidy_job(job_id: int) -> None:
    """Run a tidying job and report its outcome in the reply to the person who asked."""
    job = jobs.run_job(job_id, work)
    if job is not None:
        job.refresh_from_db()
        _tell(job)


def request_due_tidying() -> None:
    """Start the scheduled run: in each workspace with the gardener on, for the project that waited
    longest.
    """
    due = ProjectState.objects.filter(due_at__lte=Now(), workspace__deleted_at=None)
    seen: set[object] = set()
    for row in due.select_related("workspace__owner").order_by("attempted_at", "due_at")[:200]:
        if row.workspace_id not in seen and _is_to_be_tidied(row):
            seen.add(row.workspace_id)
            request_tidy(row.workspace, None, row.name)


def request_tidy(
    workspace: Workspace, account: Account | None, name: str, *, reply: int | None = None
) -> Job:
    """Have a project tidied. Return the workspace's open job if there is one.

    The message *reply* will report the outcome.
    """
    return jobs.begin_job(workspace, account, KIND, {"project": name, "reply": reply})


def run_tidy(
    chat: Conversation, _argument: str, client_key: str = "", /, *, in_process: bool = False
) -> str:
    """Answer ``/tidy``, and enqueue the job or execute it *in_process*.

    Returns the last sentence that is known by then.
    """
    reply = send_message.accept_command(chat, "/tidy", _BEGUN, client_key)
    job = request_tidy(chat.workspace, chat.workspace.owner, chat.project, reply=reply.pk)
    if not job.is_new:
        other = escape_text(str(job.arguments.get("project", "")))
        _say(chat, reply.pk, f"The gardener is at work already, in {other}: {_page(job)}.")
    if not in_process:
        return _BEGUN
    run_tidy_job(job.pk)
    job.refresh_from_db()
    return job.message or "The gardener is at work already."


def _tell(job: Job) -> None:
    reply = job.arguments.get("reply")
    rows = Message.objects.filter(pk=reply, conversation__workspace=job.workspace_id)
    for message in rows.select_related("conversation__workspace__owner") if reply else ():
        _say(message.conversation, message.pk, f"{escape_text(job.message)} {_page(job)}.")


def _say(chat: Conversation, reply: int, text: str) -> None:
    Message.objects.filter(pk=reply).update(text=text)
    Publisher(chat).message(Message.objects.get(pk=reply))


def _page(job: Job) -> str:
    return f"[What was written]({reverse('job', args=[job.pk])})"


def register() -> None:
    jobs.register_job_kind(
        KIND,
        jobs.JobKind("chat.tidy", "Tidying a project", ("/wikis/", "Wikis"), _after_death, _tell),
    )


def _after_death(job: Job) -> str:
    """Describe the state after the process died; the schedule tries the project again."""
    rows = ProjectState.objects.filter(workspace=job.workspace_id, due_at=None)
    rows.filter(name=str(job.arguments.get("project", ""))).update(due_at=Now() + SPACING)
    return f"Pages that it had written are there. {_LOG_STAYS}"


def notices(workspace: Workspace) -> list[Notice]:
    """List projects whose tidying failed several times in a row, as notices."""
    rows = ProjectState.objects.filter(workspace=workspace, failures__gte=FAILURES)
    return [
        Notice(
            key=f"tidy {row.name}",
            kind="warning",
            text=f"The log of {row.name} could not be made into pages {row.failures} times in a "
            f"row. {row.why} {_LOG_STAYS}",
            href="/settings/projects/",
        )
        for row in rows[:3]
    ]


def work(job: Job) -> JobEnd:
    workspace, name = job.workspace, str(job.arguments.get("project", ""))
    pages.open_wiki(workspace.root, name)
    row = ProjectState.of(workspace, name)
    ProjectState.objects.filter(pk=row.pk).update(attempted_at=Now(), due_at=None)
    job.progress(1, 4, f"Reading the log of {name}.")
    run = f"tidy:{job.pk}"
    opened = open_workspace(
        workspace.root, Actor("gardener", run=run), within=project.folder_of(name)
    )
    found = gardener.select_unread(opened, row.read)
    if not found.lines:
        return JobEnd(_nothing(name, opened), {"links": [_link(name)]})
    job.progress(2, 4, "Taking a snapshot.")
    taken = snapshots.before_tidying(workspace)
    job.progress(3, 4, f"Making pages of {len(found.lines)} lines.")
    context = GardenContext(opened, zone=str(_zone(workspace)), lines=len(found.lines))
    with gardener.watch_writes(run) as written:
        try:
            try:
                gardener_run.ask_gardener(workspace, name, context, found)
            except AgentError as error:
                half = len(found.lines) // 2
                if error.kind not in OVERRUN or not half or written.files:
                    raise
                # The model cannot read so many lines at once: try half of them, once.
                found = gardener.select_unread(opened, row.read, most=half)
                context = GardenContext(opened, zone=str(_zone(workspace)), lines=len(found.lines))
                gardener_run.ask_gardener(workspace, name, context, found)
        except (AgentError, NotTidied, Cancelled) as error:
            raise _failed(row, error, written) from error
    if not (context.has_finished or written.files):
        raise _failed(row, NotTidied(_NO_ACCOUNT), written)
    read = {**row.read, **found.read}
    # A restore meanwhile cleared the timestamp: the lines must be read again.
    mine = ProjectState.objects.filter(pk=row.pk, attempted_at__isnull=False)
    if not mine.update(read=read, failures=0, why=""):
        raise _failed(row, GardenerCancelled(TAKEN_BACK), written)
    if found.left:
        row.happened()
    log.info("project.tidied", extra={"job": job.pk, "lines": len(found.lines)})
    return _report(row, found, context, written, taken)


def _failed(row: ProjectState, error: Exception, written: Written) -> NotTidied:
    """Count a failure and return the error for the person.

    Stopping for a conversation is not counted.
    """
    why = getattr(error, "advice", "") or getattr(error, "message", "") or "It was stopped."
    is_back = isinstance(error, GardenerCancelled)
    kept = "What was written before is in the pages. " if written.files and not is_back else ""
    rows = ProjectState.objects.filter(pk=row.pk)
    if (
        isinstance(error, MadeRoom | GardenerCancelled)
        or getattr(error, "kind", "") in _NOT_COUNTED
    ):
        row.happened()
    else:
        rows.update(failures=row.failures + 1, why=why, due_at=Now() + SPACING)
    return NotTidied(f"{why} {kept}{_LOG_STAYS}")


def _report(
    row: ProjectState,
    found: gardener.Batch,
    context: GardenContext,
    written: Written,
    taken: snapshots.SnapshotAttempt,
) -> JobEnd:
    """Report what was done, computed from the writes, and how far the log was read."""
    name = row.name
    files = [path for path, (old, new) in sorted(written.files.items()) if old != new]
    lines = f"{len(found.lines)} {'line' if len(found.lines) == 1 else 'lines'}"
    if files:
        count = f"{len(files)} {'page' if len(files) == 1 else 'pages'}"
        message = f"{lines} of the log of {name} went into {count}."
    else:
        were = "was" if len(found.lines) == 1 else "were"
        message = f"{lines} of the log of {name} {were} read; the pages needed no change."
    if found.left:
        message += f" {found.left:,} more wait for the next time."
    shot = (
        [
            {
                "label": "The snapshot before",
                "href": reverse("snapshot", args=[taken.outcome.snapshot.id]),
            }
        ]
        if taken.outcome
        else []
    )
    lists: list[dict[str, Any]] = [
        {"title": "Pages written", "rows": [_written_page(name, path, written) for path in files]},
        {"title": "What Jenny says about it", "rows": [context.summary]},
        {"title": "Lines that no page needed", "rows": list(context.left_out)},
        {"title": "Not read", "rows": log_of.unread_log(context.workspace)},
        {"title": "There is no snapshot", "rows": [taken.message] if not shot else []},
    ]
    result: dict[str, Any] = {
        "lists": [row for row in lists if any(row["rows"])],
        "links": [_link(name), *shot],
        "diff": written.diff(_DIFF_CHARS),
        "read_before": row.read,
    }
    return JobEnd(message, result)


def _nothing(name: str, opened: Files) -> str:
    """Say that nothing is new, and which files could not be read."""
    return " ".join([_NOTHING.format(name=name), *log_of.unread_log(opened)])


def _written_page(name: str, path: str, written: Written) -> dict[str, str]:
    """Return a written page with its address; a deleted one has no address."""
    inside = path.removeprefix(f"{project.folder_of(name)}/")
    is_there = written.files[path][1] is not None
    return {"text": inside, "href": addresses.page_url(name, inside) if is_there else ""}


def _link(name: str) -> dict[str, str]:
    return {"label": f"Open {name}", "href": addresses.wiki_url(name)}


def _zone(workspace: Workspace) -> object:
    config = workspace_config.load_config(workspace.root)
    return zone_of(config.get("agents.defaults.timezone") or workspace.owner.time_zone)


def _is_to_be_tidied(row: ProjectState) -> bool:
    """True when the project may be tidied now; otherwise set a later time."""
    rows = ProjectState.objects.filter(pk=row.pk)
    try:
        config = workspace_config.load_config(row.workspace.root)
        is_on = bool(config.get("agents.defaults.gardener.enabled"))
        interval = timedelta(minutes=config.get(_INTERVAL))
        pages.open_wiki(row.workspace.root, row.name)
    except WikiMissing:
        rows.update(due_at=None)
        return False
    except WorkspaceError:
        is_on = False
    if not is_on:
        rows.update(due_at=None)
        return False
    spaced = Q(attempted_at=None) | Q(attempted_at__lte=Now() - SPACING)
    talk = Conversation.objects.filter(workspace=row.workspace, project=row.name)
    is_busy = Turn.objects.filter(conversation__in=talk, state__in=Turn.LIVE).exists()
    # One project at a time: another one of the workspace ran within the interval.
    beside = ProjectState.objects.filter(
        workspace=row.workspace, attempted_at__gt=Now() - interval
    ).exclude(pk=row.pk)
    is_held = bool(usage.calls_stopped(row.workspace.root))  # all calls to models are paused
    if is_held or is_busy or beside.exists() or not rows.filter(spaced).exists():
        rows.update(due_at=Now() + interval)
        return False
    return True
