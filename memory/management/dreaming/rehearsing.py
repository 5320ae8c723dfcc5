"""A dry run of Dream in a workspace: on a page as a job, and as a command."""

import secrets
import time
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count

from jenny.accounts.management import working
from jenny.accounts.models import Job as PageJob
from jenny.accounts.models import Workspace
from jenny.agent.errors import AgentError
from jenny.agent.provider import Provider
from jenny.agent.watch import Watch
from jenny.workspace import config
from memory.dream import rehearsal
from memory.dream.job import Job
from memory.dream.rehearsal import DryBook, Past, Rehearsal
from memory.management.dreaming.book import RowBook
from memory.management.dreaming.heart import WATCHES
from memory.management.dreaming.model import DreamModel
from memory.management.dreaming.running import used_today
from memory.models import DreamRun

KIND = "rehearse"
# So many of the newest runs say what one takes.
_RUNS = 10
_IDLE = "agents.defaults.idleCompactAfterMinutes"
_APPROVE = "agents.defaults.dream.approve"
# After these nothing can be said of what a run would change.
FAILED = frozenset({"failed", "interrupted", "paused"})


def rehearse(workspace: Workspace, *, asks: bool = True) -> Rehearsal:
    """What the next run of Dream would be shown, take, and change. Nothing is written in the
    workspace, and no place moves; what the model uses counts as all use does. Without *asks* no
    model is asked, and only what it would be shown and take is told.

    :raises WorkspaceError: the workspace or its history cannot be read.
    """
    book = RowBook(DreamRun(workspace=workspace, pk=0))
    dry = DryBook(book.lists(), book)
    beside = settings.JENNY_DATA.cache / "rehearsals" / secrets.token_hex(8)
    with WATCHES.one() as watch, rehearsal.copied(workspace.root, beside) as root:
        model = DreamModel(workspace, config.load(workspace.root), "rehearsal")
        job = _job(workspace, root, dry, watch, model)
        started = time.monotonic()
        batch, estimate = rehearsal.estimated(job, past=_past(workspace), provider=_asked(model))
        if asks:
            settings_ = config.load(workspace.root)
            found = rehearsal.rehearsed(
                job,
                estimate_=estimate,
                idle_minutes=settings_.get(_IDLE),
                approves=settings_.get(_APPROVE) != "off",
            )
        else:
            found = Rehearsal(
                status="estimated",
                sentence="Nothing was asked, and nothing written.",
                entries=tuple(rehearsal.rows(batch)),
                waiting=batch.waiting,
                passed_over=len(batch.passed),
                estimate=estimate,
                seconds=round(time.monotonic() - started, 3),
            )
    provider = model.found
    return replace(
        found,
        notes=(*model.notes, *found.notes),
        model=provider.preset.model if provider else "",
        is_demo=provider.endpoint.is_demo if provider else False,
    )


def work(job: PageJob) -> working.Ended:
    """Carry a dry run out that was asked for on a page."""
    job.progress(1, 2, "The model works in a copy of the workspace")
    found = rehearse(job.workspace)
    page = {"label": "See what it would change", "href": f"/memory/rehearsals/{job.pk}/"}
    return working.Ended(found.sentence, found.json | {"links": [page]})


def _after_death(job: PageJob) -> str:
    del job
    return "Nothing was written. Start another dry run."


ABOUT = working.Kind(
    task="memory.rehearse",
    title="Dry run of Dream",
    home=("/memory/", "Memory"),
    after_death=_after_death,
)


def _job(workspace: Workspace, root: Any, book: DryBook, watch: Watch, model: DreamModel) -> Job:
    current = config.load(root)
    return Job(
        root=root,
        run=rehearsal.NAME,
        trigger="manual",
        book=book,
        config=current,
        watch=watch,
        snapshot=lambda: ("dry", rehearsal.SNAPSHOT),
        model=model,
        used_today=used_today(workspace, current),
        zone=workspace.owner.time_zone,
    )


def _asked(model: DreamModel) -> Provider | None:
    """Whoever would be asked, to count what it would be sent."""
    try:
        return model()
    except AgentError:
        return None  # the run itself says why


def _past(workspace: Workspace) -> Past:
    newest = DreamRun.objects.filter(workspace=workspace, steps__gt=0).order_by("-pk")[:_RUNS]
    rows = DreamRun.objects.filter(pk__in=list(newest.values_list("pk", flat=True)))
    found = rows.aggregate(runs=Count("pk"), steps=Avg("steps"), written=Avg("output_tokens"))
    if not found["runs"] or not found["written"]:
        return Past()
    return Past(runs=found["runs"], steps=found["steps"], written=found["written"])
