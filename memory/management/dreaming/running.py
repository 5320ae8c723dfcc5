"""A queued run is claimed, carried out in this process, and its row says what came of it."""

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
from jenny.accounts.zones import zone
from jenny.agent.pricing import Prices
from jenny.agent.watch import Watch
from jenny.workspace import config as workspace_config
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from memory.dream import cycle, limits
from memory.dream.job import Done, Job, Lost
from memory.dream.reporting import outcomes
from memory.management import origins, pruning, snapshots
from memory.management.dreaming import alarms
from memory.management.dreaming.book import RowBook, held
from memory.management.dreaming.heart import WATCHES, Heart
from memory.management.dreaming.lending import give_back
from memory.management.dreaming.model import DreamModel
from memory.management.dreaming.reaping import take_over, tell
from memory.management.staging import RowShelf, mode_of
from memory.models import DreamEntry, DreamRun

log = logging.getLogger(__name__)

# Where the settings cannot be read, a claim lasts as long as their default says.
_SECONDS = 1_320.0
_LOOK_SECONDS = 0.1


def execute(run_id: int) -> DreamRun | None:
    """Claim and carry out a queued run; ``None``: somebody has it, it is over, or was lost."""
    waiting = DreamRun.objects.filter(pk=run_id, state=DreamRun.State.QUEUED)
    found = waiting.select_related("workspace__owner").first()
    if found is None:
        return None
    config = _config(found.workspace)
    seconds = _SECONDS if config is None else limits.deadline_seconds(config)
    run = DreamRun.claim(run_id, holder(), seconds)
    if run is None:
        return None
    with WATCHES.one() as watch, held(run), Heart(run, watch):
        asked = DreamModel(run.workspace, config)
        try:
            done = _broken() if config is None else cycle.run(_job(run, config, watch, asked))
        except Lost:
            log.warning("dream.lost", extra={"run": run.pk})
            return None
        return _ended(run, done, asked, config)


def outcome_of(run: DreamRun) -> DreamRun:
    """The run once it is over, whoever carries it out or takes it over."""
    while True:
        run.refresh_from_db()
        if run.state == DreamRun.State.ENDED:
            return run
        take_over(run)
        sleep(_LOOK_SECONDS)


def holder() -> str:
    """Who holds a claim: this process, and no other that ever had its number."""
    return f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"


def _job(run: DreamRun, config: Config, watch: Watch, asked: DreamModel) -> Job:
    workspace = run.workspace
    book = RowBook(run)

    def snapshot() -> tuple[str, str]:
        attempt = snapshots.before_dream(workspace)
        taken = "" if attempt.outcome is None else attempt.outcome.snapshot.id
        return taken, attempt.sentence

    return Job(
        root=workspace.root,
        run=run.name,
        trigger=run.trigger,  # type: ignore[arg-type]  # a text of the row
        book=book,
        config=config,
        watch=watch,
        snapshot=snapshot,
        model=asked,
        used_today=used_today(workspace, config),
        zone=workspace.owner.time_zone,
        rests_on=rests_on(workspace),
        shelf=RowShelf(run, mode_of(config)),
    )


def rests_on(workspace: Workspace) -> Callable[[Sequence[str]], tuple[int, ...]]:
    """On which entries lines rest, by the ledger of origins."""

    def found(digests: Sequence[str]) -> tuple[int, ...]:
        try:
            origins.settle(workspace)
            writings = origins.writings(workspace, *digests)
        finally:
            give_back()
        return tuple({cursor for row in writings for cursor in row.sources})

    return found


def used_today(workspace: Workspace, config: Config) -> int:
    """Tokens that the workspace's runs used since its midnight."""
    own = zone(config.get("agents.defaults.timezone") or workspace.owner.time_zone)
    midnight = datetime.combine(timezone.now().astimezone(own).date(), time(), own)
    rows = DreamRun.objects.filter(workspace=workspace, created_at__gte=midnight)
    every = F("input_tokens") + F("output_tokens") + F("cache_read_tokens")
    total: int | None = rows.aggregate(sum=Sum(every + F("cache_write_tokens")))["sum"]
    return total or 0


def _config(workspace: Workspace) -> Config | None:
    try:
        return workspace_config.load(workspace.root)
    except WorkspaceError:
        return None


def _broken() -> Done:
    """A run of a workspace whose folder or settings cannot be read."""
    done = Done()
    why = "The workspace's folder or its settings cannot be read."
    done.decision = type(done.decision)(status="failed", why=why)
    return done


def _ended(run: DreamRun, done: Done, asked: DreamModel, config: Config | None) -> DreamRun | None:
    """Store how it ended, raise the alarm when it is due, and tell whoever asked."""
    decision = done.decision
    found = asked.found
    prices: Prices | None = found.preset.prices if found else None
    facts = {
        "status": decision.status,
        "why": decision.why,
        "sentence": _sentence(run, done, config),
        "cursor_from": done.cursor_from,
        "cursor_to": done.cursor_to,
        "entries": _entries(done),
        "writes": [asdict(row) for row in done.attempts],
        "set_aside": sorted(decision.set_aside),
        "commits": list(done.commits),
        "archived": list(done.archived),
        "snapshot": done.snapshot,
        "notes": [*asked.notes, *done.notes],
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
    alarms.keep(run, done.standing, done.alarms)
    pruning.note(run)
    tell(run)
    return run


def _sentence(run: DreamRun, done: Done, config: Config | None) -> str:
    aside = DreamEntry.Place.SET_ASIDE
    count = DreamEntry.objects.filter(workspace=run.workspace_id, place=aside).count()
    idle = config.get("agents.defaults.idleCompactAfterMinutes") if config else 0
    waits = outcomes.why_nothing(idle_minutes=idle, passed=len(done.batch.passed), set_aside=count)
    return outcomes.sentence(
        done.decision, seconds=done.seconds, waits=waits, is_capped=done.is_capped
    )


def _entries(done: Done) -> list[dict[str, object]]:
    """The batch with what became of each entry."""
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
