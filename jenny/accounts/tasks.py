"""Celery tasks of the accounts app."""

from celery import shared_task

from jenny.accounts.services import jobs


@shared_task(name="jobs.reap")
def recover_jobs() -> None:
    """End jobs whose process has died, and enqueue again what no worker ever got."""
    jobs.recover_jobs()
