"""Tidying a project: what is new in its log becomes pages, for a person or by the clock.

A snapshot comes first. The log stays as it is; how far it was read is noted only when the model
came to its end, so that a run that fails or is cut short reads the same lines again.
"""

import logging
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse

from jenny.accounts.management import gate, working
from jenny.accounts.management.notices import Notice
from jenny.accounts.management.working import Ended
from jenny.accounts.models import Account, Job, Workspace
from jenny.agent.errors import AgentError, Cancelled
from jenny.chat.commands import Call
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.models.projects import FAILURES, SPACING, ProjectState
from jenny.chat.prompt import zone_of
from jenny.chat.tasks import accept, projects
from jenny.chat.tasks.gardening import asking
from jenny.chat.tasks.gardening.asking import TAKEN_BACK, MadeRoom, NotTidied, TakenBack
from jenny.chat.tasks.publish import Publisher
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.files import Workspace as Files
from memory.management import snapshots
from memory.recalling import literal
from wikis import addresses, pages
from wikis.errors import WikiMissing
from wikis.gardener import batch, border
from wikis.gardener.border import Written
from wikis.gardener.tools import GardenContext
from wikis.project import about
from wikis.project import log as log_of

log = logging.getLogger(__name__)

KIND = projects.TIDY
_DIFF_CHARS = 20_000
_NO_ACCOUNT = "The model wrote nothing and did not say what became of the lines."
_BEGUN = "Tidying…"
_NOTHING = "There is nothing new in the log of {name}: its pages are left as they are."
_LOG_STAYS = "The log is as it was, and the same lines are read again next time."
_INTERVAL = "agents.defaults.gardener.intervalMinutes"
# Causes that are no fault of a project's: nothing was asked of a model.
_NOT_COUNTED = frozenset({"paused", "spent", "no_key", "workspace"})


@shared_task(name="chat.tidy")
def tidy(job_id: int) -> None:
    """Carry out a job of tidying, and let the reply to who asked say what came of it."""
    job = working.carry_out(job_id, work)
    if job is not None:
        job.refresh_from_db()
        _tell(job)


@shared_task(name="chat.garden")
def garden() -> None:
    """The clock: of each workspace that has the gardener on, the project that waited longest."""
    due = ProjectState.objects.filter(due_at__lte=Now(), workspace__deleted_at=None)
    seen: set[object] = set()
    for row in due.select_related("workspace__owner").order_by("attempted_at", "due_at")[:200]:
        if row.workspace_id not in seen and _is_to_be_tidied(row):
            seen.add(row.workspace_id)
            ask(row.workspace, None, row.name)


def ask(
    workspace: Workspace, account: Account | None, name: str, *, reply: int | None = None
) -> Job:
    """Have a project tidied; the job is the open one of the workspace where there is one. The
    message *reply* will say what came of it."""
    return working.begin(workspace, account, KIND, {"project": name, "reply": reply})


def ask_for(chat: Conversation, call: Call, client_key: str = "") -> Job:
    """Answer ``/tidy``, and hand the work to the workers."""
    reply = accept.accept_command(chat, call, _BEGUN, client_key)
    job = ask(chat.workspace, chat.workspace.owner, chat.project, reply=reply.pk)
    if not job.is_new:
        other = literal(str(job.arguments.get("project", "")))
        _say(chat, reply.pk, f"The gardener is at work already, in {other}: {_page(job)}.")
    return job


def _tell(job: Job) -> None:
    """Let the reply say what came of it."""
    reply = job.arguments.get("reply")
    rows = Message.objects.filter(pk=reply, conversation__workspace=job.workspace_id)
    for message in rows.select_related("conversation__workspace__owner") if reply else ():
        _say(message.conversation, message.pk, f"{literal(job.sentence)} {_page(job)}.")


def _say(chat: Conversation, reply: int, text: str) -> None:
    Message.objects.filter(pk=reply).update(text=text)
    Publisher(chat).message(Message.objects.get(pk=reply))


def _page(job: Job) -> str:
    return f"[What was written]({reverse('job', args=[job.pk])})"


def register() -> None:
    """Make the job and the notice known."""
    working.register(
        KIND,
        working.Kind("chat.tidy", "Tidying a project", ("/wikis/", "Wikis"), _after_death, _tell),
    )


def _after_death(job: Job) -> str:
    """What is so when the process has died; the clock looks at the project again."""
    rows = ProjectState.objects.filter(workspace=job.workspace_id, due_at=None)
    rows.filter(name=str(job.arguments.get("project", ""))).update(due_at=Now() + SPACING)
    return f"Pages that it had written are there. {_LOG_STAYS}"


def notices(workspace: Workspace) -> list[Notice]:
    """Projects that could not be tidied several times in a row; a source of notices."""
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


def work(job: Job) -> Ended:
    """Tidy the project of a job; the report of it."""
    workspace, name = job.workspace, str(job.arguments.get("project", ""))
    pages.open_wiki(workspace.root, name)
    row = ProjectState.of(workspace, name)
    ProjectState.objects.filter(pk=row.pk).update(attempted_at=Now(), due_at=None)
    job.progress(1, 4, f"Reading the log of {name}.")
    run = f"tidy:{job.pk}"
    opened = open_workspace(
        workspace.root, Actor("gardener", run=run), within=about.folder_of(name)
    )
    found = batch.unread(opened, row.read)
    if not found.lines:
        return Ended(_nothing(name, opened), {"links": [_link(name)]})
    job.progress(2, 4, "Taking a snapshot.")
    taken = snapshots.before_tidying(workspace)
    job.progress(3, 4, f"Making pages of {len(found.lines)} lines.")
    context = GardenContext(opened, zone=str(_zone(workspace)), lines=len(found.lines))
    with border.watched(run) as written:
        try:
            asking.ask(workspace, name, context, found)
        except (AgentError, NotTidied, Cancelled) as error:
            raise _failed(row, error, written) from error
    if not (context.has_finished or written.files):
        raise _failed(row, NotTidied(_NO_ACCOUNT), written)
    read = {**row.read, **found.read}
    # A restore meanwhile has cleared the stamp: the lines are to be read again then.
    mine = ProjectState.objects.filter(pk=row.pk, attempted_at__isnull=False)
    if not mine.update(read=read, failures=0, why=""):
        raise _failed(row, TakenBack(TAKEN_BACK), written)
    if found.left:
        row.happened()
    log.info("project.tidied", extra={"job": job.pk, "lines": len(found.lines)})
    return _report(row, found, context, written, taken)


def _failed(row: ProjectState, error: Exception, written: Written) -> NotTidied:
    """Count a failure; what the person is told. Making room for somebody is none."""
    why = getattr(error, "advice", "") or getattr(error, "sentence", "") or "It was stopped."
    is_back = isinstance(error, TakenBack)
    kept = "What was written before is in the pages. " if written.files and not is_back else ""
    rows = ProjectState.objects.filter(pk=row.pk)
    if isinstance(error, MadeRoom | TakenBack) or getattr(error, "kind", "") in _NOT_COUNTED:
        row.happened()
    else:
        rows.update(failures=row.failures + 1, why=why, due_at=Now() + SPACING)
    return NotTidied(f"{why} {kept}{_LOG_STAYS}")


def _report(
    row: ProjectState,
    found: batch.Batch,
    context: GardenContext,
    written: Written,
    taken: snapshots.Attempt,
) -> Ended:
    """What was done, computed from the writes, and how far the log was read before."""
    name = row.name
    files = [path for path, (old, new) in sorted(written.files.items()) if old != new]
    lines = f"{len(found.lines)} {'line' if len(found.lines) == 1 else 'lines'}"
    if files:
        count = f"{len(files)} {'page' if len(files) == 1 else 'pages'}"
        sentence = f"{lines} of the log of {name} went into {count}."
    else:
        were = "was" if len(found.lines) == 1 else "were"
        sentence = f"{lines} of the log of {name} {were} read; the pages needed no change."
    if found.left:
        sentence += f" {found.left:,} more wait for the next time."
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
        {"title": "What the gardener says", "rows": [context.summary]},
        {"title": "Lines that no page needed", "rows": list(context.left_out)},
        {"title": "Not read", "rows": log_of.unread(context.workspace)},
        {"title": "There is no snapshot", "rows": [taken.sentence] if not shot else []},
    ]
    result: dict[str, Any] = {
        "lists": [row for row in lists if any(row["rows"])],
        "links": [_link(name), *shot],
        "diff": written.diff(_DIFF_CHARS),
        "read_before": row.read,
    }
    return Ended(sentence, result)


def _nothing(name: str, opened: Files) -> str:
    """That nothing is new, and what could not be read."""
    return " ".join([_NOTHING.format(name=name), *log_of.unread(opened)])


def _written_page(name: str, path: str, written: Written) -> dict[str, str]:
    """A page that was written, with its address unless it went."""
    inside = path.removeprefix(f"{about.folder_of(name)}/")
    is_there = written.files[path][1] is not None
    return {"text": inside, "href": addresses.page(name, inside) if is_there else ""}


def _link(name: str) -> dict[str, str]:
    return {"label": f"Open {name}", "href": addresses.wiki(name)}


def _zone(workspace: Workspace) -> object:
    config = workspace_config.load(workspace.root)
    return zone_of(config.get("agents.defaults.timezone") or workspace.owner.time_zone)


def _is_to_be_tidied(row: ProjectState) -> bool:
    """Whether the clock may have a project tidied now; when not, it is looked at later."""
    rows = ProjectState.objects.filter(pk=row.pk)
    try:
        config = workspace_config.load(row.workspace.root)
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
    # One project at a time: another one of the workspace was looked at within the interval.
    beside = ProjectState.objects.filter(
        workspace=row.workspace, attempted_at__gt=Now() - interval
    ).exclude(pk=row.pk)
    is_held = bool(gate.stops(row.workspace.root))  # all calls to models are paused
    if is_held or is_busy or beside.exists() or not rows.filter(spaced).exists():
        rows.update(due_at=Now() + interval)
        return False
    return True
