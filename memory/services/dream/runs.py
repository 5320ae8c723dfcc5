"""Claims a queued run, runs it in this process, and stores the result."""

import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, time
from time import sleep

from django.db.models import F, Sum
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.accounts.time_zones import zone
from jenny.agent.cancellation import OPEN_TOKENS, CancellationToken
from jenny.agent.tokens import Prices
from jenny.db_connections import release_db_connection
from jenny.workspace import config as workspace_config
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from memory.dream import limits
from memory.dream import run as dream_run
from memory.dream.reports import outcomes
from memory.dream.run_input import LeaseLost, RunInput, RunResult
from memory.models import DreamEntry, DreamRun
from memory.services import large_prunes, origins, snapshots
from memory.services.dream import alerts
from memory.services.dream.lease import LeaseRenewer
from memory.services.dream.model import DreamModel
from memory.services.dream.recovery import notify_untold, take_over
from memory.services.dream.run_store import DjangoRunStore, held
from memory.services.proposals import DjangoProposalStore, mode_of

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
    seconds = _SECONDS if config is None else limits.deadline_seconds(config)
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
        shelf=DjangoProposalStore(run, mode_of(config)),
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
    own = zone(config.get("agents.defaults.timezone") or workspace.owner.time_zone)
    midnight = datetime.combine(timezone.now().astimezone(own).date(), time(), own)
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
    alerts.store_alarms(run, done.standing, done.alarms)
    large_prunes.note_large_prune(run)
    notify_untold(run)
    prune_empty_runs(run)
    return run


def _sentence(run: DreamRun, done: RunResult, config: Config | None) -> str:
    aside = DreamEntry.Place.SET_ASIDE
    count = DreamEntry.objects.filter(workspace=run.workspace_id, place=aside).count()
    idle = config.get("agents.defaults.idleCompactAfterMinutes") if config else 0
    waits = outcomes.why_nothing(idle_minutes=idle, passed=len(done.batch.passed), set_aside=count)
    return outcomes.message(
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
        was_told=True,
        writes=[],
        commits=[],
        notes=[],
        input_tokens=0,
        output_tokens=0,
    ).order_by("-pk")
    old = empty.values_list("pk", flat=True)[KEPT_EMPTY:]
    DreamRun.objects.filter(pk__in=list(old)).delete()
