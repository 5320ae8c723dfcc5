"""Runs the gardener: turns new lines of a project's log into pages, on request or by schedule.

A snapshot is taken first. The log is never changed; how far it was read is stored only when the
model finished, so that a failed or interrupted run reads the same lines again.
"""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from jenny.accounts.access import model_for
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import jobs, usage
from jenny.accounts.services.jobs import JobEnd
from jenny.accounts.services.notices import Notice
from jenny.agent import clock, loop, messages
from jenny.agent.cancellation import OPEN_TOKENS, CancellationToken
from jenny.agent.clock import zone_of
from jenny.agent.errors import OVERRUN, WAITS, AgentError, CallsPaused, Cancelled
from jenny.agent.limits import Limits
from jenny.agent.provider import Provider
from jenny.agent.tools import Toolbox
from jenny.chat.models import Conversation, Message, ProjectState, Turn
from jenny.chat.models.conversations import GARDENER_FAILURES, GARDENER_SPACING
from jenny.chat.prompt import build
from jenny.chat.services import projects, send_message
from jenny.chat.services.publish import Publisher
from jenny.chat.tools import tools_of
from jenny.db_connections import release_db_connection
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.files import Workspace as Files
from memory.recall import escape_text
from memory.services import snapshots
from wikis import gardener, names, pages, project
from wikis import project as log_of
from wikis.errors import WikiMissing
from wikis.gardener import Batch, GardenContext, Written

# Runs the gardener's model. It stops when a person begins to talk in the project.


LIMITS = Limits(max_steps=60, seconds=900, max_run_tokens=400_000, retries=2)
_REMINDER = "Write what is still to be written, then call finish_tidying."


class NotTidied(WorkspaceError):
    """The gardener did not finish; the message says why, and what happened to the pages."""


class MadeRoom(NotTidied):
    """The gardener stopped because a person talks in the project."""


class GardenerCancelled(NotTidied):
    """The gardener stopped because the project's files were restored."""


TAKEN_BACK = (
    "The project was restored meanwhile, so the gardener stopped. The pages are as they were then; "
    "what it wrote is in the snapshot before the restore."
)


def ask_gardener(workspace: Workspace, name: str, context: GardenContext, found: Batch) -> None:
    """Let the model work through the lines.

    Raises:
        AgentError, Cancelled: it could not be asked, or was stopped.
        NotTidied: it did not finish.
    """
    box = Toolbox(tools_of("gardener"), context)
    system = build("gardener", workspace.root, tool_names=box.names, project=name)
    endpoint, preset = model_for(workspace, kind="gardener")
    release_db_connection()
    with OPEN_TOKENS.open() as watch:
        watch.limit(LIMITS.seconds)
        context.watch = watch
        beside = _Beside(workspace, name, watch, context)
        outcome = loop.run(
            provider=Provider(endpoint, preset),
            system=system.wire(),
            history=[messages.text_message("user", _first(found, context.zone))],
            toolbox=box,
            listener=beside,
            inbox=beside.inbox,
            watch=watch,
            limits=LIMITS,
        )
    if outcome.ending in WAITS:
        raise CallsPaused(WAITS[outcome.ending])
    if outcome.error is not None:
        raise outcome.error
    if outcome.ending == "stopped" and beside.is_taken_back:
        raise GardenerCancelled(TAKEN_BACK)
    if outcome.ending == "stopped":
        message = "Somebody began to talk in the project, so the gardener made room."
        raise MadeRoom(message)
    if outcome.ending != "done":
        raise NotTidied(outcome.message or "The model did not come to an end.")


def _first(found: Batch, zone: str) -> str:
    now = clock.describe_now(datetime.now(UTC), clock.zone_of(zone))
    return f"Now: {now}\n\n# New lines of the log\n\n{found.text}"


class _SilentListener:
    """A listener for a run that no page shows; its report says what the tools did."""

    def step_started(self, step: int) -> None: ...

    def text(self, delta: str) -> None: ...

    def thinking(self, delta: str) -> None: ...

    def tool_started(self, call: Any) -> None: ...

    def tool_finished(self, call: Any, result: Any, seconds: float) -> None: ...

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None: ...

    def step_failed(self, step: int, message: str, retry_in: float | None) -> None: ...

    def note(self, message: str) -> None: ...


class _Beside(_SilentListener):
    """Stops the run when a person talks in the project; asks once for a missing report."""

    def __init__(
        self, workspace: Workspace, name: str, watch: CancellationToken, context: GardenContext
    ) -> None:
        self._live = Turn.objects.filter(
            conversation__workspace=workspace,
            conversation__project=name,
            state__in=Turn.LIVE,
        )
        # A restore clears the timestamp.
        self._taken_back = ProjectState.objects.filter(
            workspace=workspace, name=name, attempted_at=None
        )
        self.is_taken_back = False
        self._watch = watch
        self._context = context
        self._is_at_end = False
        self._has_reminded = False

    def step_finished(self, step: int, parts: Any, stop_reason: str, usage: Any) -> None:
        """Treat a step without a tool call as the end, unless a message comes in."""
        del step, stop_reason, usage
        self._is_at_end = not any(isinstance(part, messages.ToolUse) for part in parts)

    def inbox(self, step: int) -> list[messages.Message]:
        """Return the reminder, once; stop when a person talks."""
        del step
        try:
            self.is_taken_back = self._taken_back.exists()
            if self.is_taken_back or self._live.exists():
                self._watch.cancel("stop")
        finally:
            release_db_connection()
        if not self._is_at_end or self._context.has_finished or self._has_reminded:
            return []
        self._has_reminded = True
        return [messages.text_message("user", _REMINDER)]


log = logging.getLogger(__name__)

KIND = projects.TIDY
_DIFF_CHARS = 20_000
_NO_ACCOUNT = "The model wrote nothing and did not say what became of the lines."
_BEGUN = "Tidying…"
_NOTHING = "There is nothing new in the log of {name}: its pages are left as they are."
_LOG_STAYS = "The log is as it was, and the same lines are read again next time."
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


def _after_death(job: Job) -> str:
    """Describe the state after the process died; the schedule tries the project again."""
    rows = ProjectState.objects.filter(workspace=job.workspace_id, due_at=None)
    rows.filter(name=str(job.arguments.get("project", ""))).update(due_at=Now() + GARDENER_SPACING)
    return f"Pages that it had written are there. {_LOG_STAYS}"


ABOUT = jobs.JobKind("chat.tidy", "Tidying a project", ("/wikis/", "Wikis"), _after_death, _tell)


def notices(workspace: Workspace) -> list[Notice]:
    """List projects whose tidying failed several times in a row, as notices."""
    rows = ProjectState.objects.filter(workspace=workspace, failures__gte=GARDENER_FAILURES)
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
                ask_gardener(workspace, name, context, found)
            except AgentError as error:
                half = len(found.lines) // 2
                if error.kind not in OVERRUN or not half or written.files:
                    raise
                # The model cannot read so many lines at once: try half of them, once.
                found = gardener.select_unread(opened, row.read, most=half)
                context = GardenContext(opened, zone=str(_zone(workspace)), lines=len(found.lines))
                ask_gardener(workspace, name, context, found)
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
        rows.update(failures=row.failures + 1, why=why, due_at=Now() + GARDENER_SPACING)
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
    return {"text": inside, "href": names.page_url(name, inside) if is_there else ""}


def _link(name: str) -> dict[str, str]:
    return {"label": f"Open {name}", "href": names.wiki_url(name)}


def _zone(workspace: Workspace) -> object:
    config = workspace_config.load_config(workspace.root)
    return zone_of(config.agents.defaults.timezone or workspace.owner.time_zone)


def _is_to_be_tidied(row: ProjectState) -> bool:
    """True when the project may be tidied now; otherwise set a later time."""
    rows = ProjectState.objects.filter(pk=row.pk)
    try:
        config = workspace_config.load_config(row.workspace.root)
        is_on = bool(config.agents.defaults.gardener.enabled)
        interval = timedelta(minutes=config.agents.defaults.gardener.interval_minutes)
        pages.open_wiki(row.workspace.root, row.name)
    except WikiMissing:
        rows.update(due_at=None)
        return False
    except WorkspaceError:
        is_on = False
    if not is_on:
        rows.update(due_at=None)
        return False
    spaced = Q(attempted_at=None) | Q(attempted_at__lte=Now() - GARDENER_SPACING)
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
