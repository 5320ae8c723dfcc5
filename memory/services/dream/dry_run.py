"""Dry runs of Dream, as a job of a page and as a command."""

import secrets
import time
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count

from jenny.accounts.models import Job as PageJob
from jenny.accounts.models import Workspace
from jenny.accounts.services import jobs
from jenny.agent.cancellation import OPEN_TOKENS, CancellationToken
from jenny.agent.errors import AgentError
from jenny.agent.provider import Provider
from jenny.workspace import config
from memory.dream import dry_run
from memory.dream.dry_run import DryRunResult, NullRunStore, Past
from memory.dream.run_input import RunInput
from memory.models import DreamRun
from memory.services.dream.model import DreamModel
from memory.services.dream.run_store import DjangoRunStore
from memory.services.dream.runs import used_today

KIND = "rehearse"
# Newest runs from which the duration is estimated.
_RUNS = 10
_IDLE = "agents.defaults.idleCompactAfterMinutes"
_APPROVE = "agents.defaults.dream.approve"
# After these, nothing is known of a run's changes.
FAILED = frozenset({"failed", "interrupted", "paused"})


def run_dry(workspace: Workspace, *, asks: bool = True) -> DryRunResult:
    """Return what the next Dream run would be shown, cost and change.

    Nothing is written and no cursor moves; the model's usage counts as any. Without *asks* no
    model is asked, and only input and cost are returned.

    Raises:
        WorkspaceError: the workspace or its history cannot be read.
    """
    store = DjangoRunStore(DreamRun(workspace=workspace, pk=0))
    dry = NullRunStore(store.lists(), store)
    beside = settings.JENNY_DATA.cache / "rehearsals" / secrets.token_hex(8)
    with OPEN_TOKENS.open() as watch, dry_run.copied(workspace.root, beside) as root:
        model = DreamModel(workspace, config.load_config(workspace.root), "rehearsal")
        job = _job(workspace, root, dry, watch, model)
        started = time.monotonic()
        batch, estimate = dry_run.estimated(job, past=_past(workspace), provider=_asked(model))
        if asks:
            settings_ = config.load_config(workspace.root)
            found = dry_run.dry_run_in_copy(
                job,
                estimate_=estimate,
                idle_minutes=settings_.get(_IDLE),
                approves=settings_.get(_APPROVE) != "off",
            )
        else:
            found = DryRunResult(
                status="estimated",
                message="Nothing was asked, and nothing written.",
                entries=tuple(dry_run.rows(batch)),
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


def work(job: PageJob) -> jobs.JobEnd:
    """Run the dry run of a page's job."""
    job.progress(1, 2, "The model works in a copy of the workspace")
    found = run_dry(job.workspace)
    page = {"label": "See what it would change", "href": f"/memory/rehearsals/{job.pk}/"}
    return jobs.JobEnd(found.message, found.json | {"links": [page]})


def _after_death(job: PageJob) -> str:
    del job
    return "Nothing was written. Start another preview."


ABOUT = jobs.JobKind(
    task="memory.rehearse",
    title="Preview of a memory update",
    home=("/memory/overview/", "Memory"),
    after_death=_after_death,
)


def _job(
    workspace: Workspace,
    root: Any,
    store: NullRunStore,
    watch: CancellationToken,
    model: DreamModel,
) -> RunInput:
    current = config.load_config(root)
    return RunInput(
        root=root,
        run=dry_run.NAME,
        trigger="manual",
        store=store,
        config=current,
        watch=watch,
        snapshot=lambda: ("dry", dry_run.SNAPSHOT),
        model=model,
        used_today=used_today(workspace, current),
        zone=workspace.owner.time_zone,
    )


def _asked(model: DreamModel) -> Provider | None:
    """Return the provider of the run, for counting its request."""
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
