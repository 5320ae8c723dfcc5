"""Claims a queued run, runs it in this process, and stores the result."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from time import sleep
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count, F, Sum
from django.utils import timezone

from jenny.accounts.access import model_for
from jenny.accounts.models import Job as PageJob
from jenny.accounts.models import Workspace
from jenny.accounts.services import jobs
from jenny.agent.cancellation import OPEN_TOKENS, CancellationToken
from jenny.agent.clock import zone_of
from jenny.agent.errors import AgentError, CallsPaused, Cancelled
from jenny.agent.provider import Provider
from jenny.agent.tokens import Prices
from jenny.db_connections import release_db_connection
from jenny.workspace import config
from jenny.workspace import config as workspace_config
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from memory.dream import dry_run, model_turn, report
from memory.dream import run as dream_run
from memory.dream.dry_run import DryRunResult, NullRunStore, PastRuns
from memory.dream.run_context import LeaseLost, RunInput, RunResult
from memory.models import DreamEntry, DreamRun
from memory.services import dream_recovery, large_prunes, origins, snapshots
from memory.services.dream_recovery import LeaseRenewer, report_ended_run, take_over
from memory.services.dream_run_store import DjangoRunStore, held
from memory.services.proposals import DjangoProposalStore, mode_of

_OVERRIDE = "agents.defaults.dream.modelOverride"


class DreamModel:
    """The model of a run: the one set for Dream, or the main one."""

    def __init__(self, workspace: Workspace, config: Config | None, kind: str = "dream") -> None:
        self._workspace, self._kind = workspace, kind
        self._config = config
        self._found: Provider | None = None
        self.notes: list[str] = []

    def __call__(self) -> Provider:
        """Return the provider.

        Raises:
            AgentError: none can be asked.
            Cancelled: all calls are paused, which is no failure of the run.
        """
        try:
            if self._found is None:
                self._found = self._chosen()
        except CallsPaused as error:
            raise Cancelled(error.reason) from error
        finally:
            release_db_connection()
        return self._found

    @property
    def found(self) -> Provider | None:
        """Return the provider that was asked, if any."""
        return self._found

    def _chosen(self) -> Provider:
        workspace = self._workspace
        name = self._config.agents.defaults.dream.model_override if self._config else ""
        if self._config and (problem := self._config.problems.get(_OVERRIDE)):
            self.notes.append(problem)
        if name:
            try:
                return Provider(*model_for(workspace, name, kind=self._kind))
            except CallsPaused:
                raise
            except AgentError as error:
                self.notes.append(
                    f"The model for Dream, “{name}”, cannot be asked; the main one was. "
                    f"{error.message}"
                )
        try:
            return Provider(*model_for(workspace, kind=self._kind))
        except WorkspaceError as error:
            raise AgentError("workspace", error.message) from error


log = logging.getLogger(__name__)

# Duration of a claim when the settings cannot be read; their default.
_SECONDS = 1_320.0
_LOOK_SECONDS = 0.1


def execute_run(run_id: int) -> DreamRun | None:
    """Claim and run a queued run. ``None``: it is claimed already, over, or was lost."""
    waiting = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    found = waiting.select_related("workspace__owner").first()
    if found is None:
        return None
    config = _config(found.workspace)
    seconds = _SECONDS if config is None else model_turn.deadline_seconds(config)
    run = DreamRun.claim(run_id, holder(), seconds)
    if run is None:
        return None
    with OPEN_TOKENS.open() as watch, held(run), LeaseRenewer(run, watch):
        asked = DreamModel(run.workspace, config)
        try:
            done = (
                _broken()
                if config is None
                else dream_run.run_dream(_job(run, config, watch, asked))
            )
        except LeaseLost:
            log.warning("dream.lost", extra={"run": run.pk})
            return None
        return _ended(run, done, asked, config)


def outcome_of(run: DreamRun) -> DreamRun:
    """Wait until the run is over, whoever runs it, and return it."""
    while True:
        run.refresh_from_db()
        if run.state == DreamRun.State.ENDED:
            return run
        take_over(run)
        sleep(_LOOK_SECONDS)


def holder() -> str:
    """Return a unique name of this process for a claim; process ids repeat."""
    return f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"


def _job(run: DreamRun, config: Config, watch: CancellationToken, asked: DreamModel) -> RunInput:
    workspace = run.workspace
    store = DjangoRunStore(run)

    def snapshot() -> tuple[str, str]:
        attempt = snapshots.before_dream(workspace)
        taken = "" if attempt.outcome is None else attempt.outcome.snapshot.id
        return taken, attempt.message

    return RunInput(
        root=workspace.root,
        run=run.name,
        trigger=run.trigger,  # type: ignore[arg-type]  # a text of the row
        store=store,
        config=config,
        watch=watch,
        snapshot=snapshot,
        model=asked,
        used_today=used_today(workspace, config),
        zone=workspace.owner.time_zone,
        rests_on=rests_on(workspace),
        proposals=DjangoProposalStore(run, mode_of(config)),
    )


def rests_on(workspace: Workspace) -> Callable[[Sequence[str]], tuple[int, ...]]:
    """Return a function that finds the entries of lines in the table of origins."""

    def found(digests: Sequence[str]) -> tuple[int, ...]:
        try:
            origins.save_origins(workspace)
            writings = origins.writings(workspace, *digests)
        finally:
            release_db_connection()
        return tuple({cursor for row in writings for cursor in row.sources})

    return found


def used_today(workspace: Workspace, config: Config) -> int:
    """Return the tokens that the workspace's runs used since its midnight."""
    own = zone_of(config.agents.defaults.timezone or workspace.owner.time_zone)
    midnight = datetime.combine(timezone.now().astimezone(own).date(), datetime.min.time(), own)
    rows = DreamRun.objects.filter(workspace=workspace, created_at__gte=midnight)
    every = F("input_tokens") + F("output_tokens") + F("cache_read_tokens")
    total: int | None = rows.aggregate(sum=Sum(every + F("cache_write_tokens")))["sum"]
    return total or 0


def _config(workspace: Workspace) -> Config | None:
    try:
        return workspace_config.load_config(workspace.root)
    except WorkspaceError:
        return None


def _broken() -> RunResult:
    """Return the result for a workspace whose folder or settings cannot be read."""
    done = RunResult()
    why = "The workspace's folder or its settings cannot be read."
    done.decision = type(done.decision)(status="failed", why=why)
    return done


def _ended(
    run: DreamRun, done: RunResult, asked: DreamModel, config: Config | None
) -> DreamRun | None:
    """Store the result, raise due alarms, and notify the requester."""
    decision = done.decision
    found = asked.found
    prices: Prices | None = found.preset.prices if found else None
    facts = {
        "status": decision.status,
        "why": decision.why,
        "message": _sentence(run, done, config),
        "cursor_from": done.cursor_from,
        "cursor_to": done.cursor_to,
        "entries": _entries(done),
        "writes": [asdict(row) for row in done.attempts],
        "set_aside": sorted(decision.set_aside),
        "commits": list(done.commits),
        "archived": list(done.archived),
        "snapshot": done.snapshot,
        "notes": [*run.notes, *asked.notes, *done.notes],
        "report": done.report,
        "review": done.review.json if done.review else {},
        "model": found.preset.model if found else "",
        "preset": found.preset.name if found else "",
        "is_demo": found.endpoint.is_demo if found else False,
        "steps": done.steps,
        "input_tokens": done.usage.input,
        "output_tokens": done.usage.output,
        "cache_read_tokens": done.usage.cache_read,
        "cache_write_tokens": done.usage.cache_write,
        "cost": prices.cost(done.usage) if prices else None,
        "seconds": round(done.seconds, 3),
    }
    if not run.end(**facts):
        return None
    log.info(
        "dream.ended",
        extra={"run": run.pk, "status": run.status, "workspace": str(run.workspace_id)},
    )
    dream_recovery.store_alarms(run, done.standing, done.alarms)
    large_prunes.note_large_prune(run)
    report_ended_run(run)
    prune_empty_runs(run)
    return run


def _sentence(run: DreamRun, done: RunResult, config: Config | None) -> str:
    aside = DreamEntry.Place.SET_ASIDE
    count = DreamEntry.objects.filter(workspace=run.workspace_id, place=aside).count()
    idle = config.agents.defaults.idle_compact_after_minutes if config else 0
    waits = report.why_nothing(idle_minutes=idle, passed=len(done.batch.passed), set_aside=count)
    return report.run_message(
        done.decision, seconds=done.seconds, waits=waits, is_capped=done.is_capped
    )


def _entries(done: RunResult) -> list[dict[str, object]]:
    """Return the batch with the outcome of each entry."""
    said = {row.cursor: row for row in done.decision.verdicts}
    rows: list[dict[str, object]] = []
    for row in done.batch.entries:
        verdict = said.get(row.cursor)
        rows.append(
            {
                "cursor": row.cursor,
                "verdict": verdict.kind if verdict else "unaccounted",
                "reason": verdict.reason if verdict else "",
                "tries": row.tries,
                "reoffered": row.is_reoffered,
                "digested": row.digest is not None,
            }
        )
    rows += [
        {"cursor": row.cursor, "verdict": "passed_over", "reason": row.why}
        for row in done.batch.passed
    ]
    return rows


# Newest runs without entries that are kept: five days at one every two hours.
KEPT_EMPTY = 60


def prune_empty_runs(run: DreamRun) -> None:
    """Delete older runs of the workspace without entries beyond the newest ``KEPT_EMPTY``, after
    such a *run*. Runs that a person started, that wrote or that used anything stay."""
    if run.status != DreamRun.NOTHING:
        return
    empty = DreamRun.objects.filter(
        workspace=run.workspace_id,
        state=DreamRun.State.ENDED,
        status=DreamRun.NOTHING,
        trigger="scheduled",
        is_reported=True,
        writes=[],
        commits=[],
        notes=[],
        input_tokens=0,
        output_tokens=0,
    ).order_by("-pk")
    old = empty.values_list("pk", flat=True)[KEPT_EMPTY:]
    DreamRun.objects.filter(pk__in=list(old)).delete()


DRY_RUN_KIND = "rehearse"
# Newest runs from which the duration is estimated.
_RUNS = 10
# After these, nothing is known of a run's changes.
FAILED_STATUSES = frozenset({"failed", "interrupted", "paused"})


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
    with OPEN_TOKENS.open() as watch, dry_run.copy_workspace(workspace.root, beside) as root:
        model = DreamModel(workspace, config.load_config(workspace.root), "rehearsal")
        job = _dry_run_input(workspace, root, dry, watch, model)
        started = time.monotonic()
        batch, estimate = dry_run.estimate_run(
            job, past=_past_runs(workspace), provider=_provider_of(model)
        )
        if asks:
            settings_ = config.load_config(workspace.root)
            found = dry_run.dry_run_in_copy(
                job,
                estimate_=estimate,
                idle_minutes=settings_.agents.defaults.idle_compact_after_minutes,
                approves=settings_.agents.defaults.dream.approve != "off",
            )
        else:
            found = DryRunResult(
                status="estimated",
                message="Nothing was asked, and nothing written.",
                entries=tuple(dry_run.list_entries(batch)),
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


def work_dry_run(job: PageJob) -> jobs.JobEnd:
    """Run the dry run of a page's job."""
    job.progress(1, 2, "The model works in a copy of the workspace")
    found = run_dry(job.workspace)
    page = {"label": "See what it would change", "href": f"/memory/rehearsals/{job.pk}/"}
    return jobs.JobEnd(found.message, found.json | {"links": [page]})


def _after_death(job: PageJob) -> str:
    del job
    return "Nothing was written. Start another preview."


DRY_RUN_JOB = jobs.JobKind(
    task="memory.rehearse",
    title="Preview of a memory update",
    home=("/memory/overview/", "Memory"),
    after_death=_after_death,
)


def _dry_run_input(
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


def _provider_of(model: DreamModel) -> Provider | None:
    """Return the provider of the run, for counting its request."""
    try:
        return model()
    except AgentError:
        return None  # the run itself says why


def _past_runs(workspace: Workspace) -> PastRuns:
    newest = DreamRun.objects.filter(workspace=workspace, steps__gt=0).order_by("-pk")[:_RUNS]
    rows = DreamRun.objects.filter(pk__in=list(newest.values_list("pk", flat=True)))
    found = rows.aggregate(runs=Count("pk"), steps=Avg("steps"), written=Avg("output_tokens"))
    if not found["runs"] or not found["written"]:
        return PastRuns()
    return PastRuns(runs=found["runs"], steps=found["steps"], written=found["written"])
