"""Celery tasks of the memory."""

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from jenny.accounts.services import jobs
from jenny.agent.cancellation import OPEN_TOKENS
from memory.services import (
    dream_recovery,
    dream_runs,
    dream_scheduler,
    origins,
    restores,
    snapshots,
)


@shared_task(name="memory.snapshots")
def look_at_workspaces() -> None:
    snapshots.scan_due_workspaces()


@shared_task(name="memory.restore")
def restore(job_id: int) -> None:
    jobs.run_job(job_id, restores.run_restore)


@shared_task(name="memory.origins")
def keep_origins() -> None:
    origins.save_all_origins()


@shared_task(name="memory.dream")
def dream(run_id: int) -> None:
    """Run a queued Dream run, unless it is claimed already or over."""
    dream_runs.execute_run(run_id)


@shared_task(name="memory.rehearse")
def rehearse(job_id: int) -> None:
    jobs.run_job(job_id, dream_runs.work_dry_run)


@shared_task(name="memory.due")
def begin_due() -> None:
    """Start the Dream runs that are due: one indexed query when there are none."""
    dream_scheduler.start_due_runs(dream_scheduler.enqueue_run, timezone.now())


@shared_task(name="memory.reap")
def recover_runs() -> None:
    """Take over runs of dead holders, send missing notifications, and send queued runs again that
    no worker received."""
    dream_recovery.recover_runs()
    dream_scheduler.enqueue_waiting_runs()


@worker_shutting_down.connect
def _end_runs(**_signal: object) -> None:
    """End the runs under way as interrupted, with their writes in a version."""
    OPEN_TOKENS.cancel_all(is_ending=True)
