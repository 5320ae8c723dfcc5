"""What jobs need done by themselves."""

from celery import shared_task

from jenny.accounts.management import working


@shared_task(name="jobs.reap")
def reap() -> None:
    """End jobs whose process has died, and send again what no worker ever got."""
    working.reap()
