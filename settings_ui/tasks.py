"""Celery tasks of the settings app."""

from celery import shared_task

from jenny.accounts.services import jobs
from settings_ui.services import accounts, workspaces
from settings_ui.services.backups import exporter, import_job, storage


@shared_task(name="files.tidy")
def tidy() -> None:
    accounts.delete_expired_files()


@shared_task(name="backup.export")
def export(job_id: int) -> None:
    jobs.run_job(job_id, exporter.work)


@shared_task(name="backup.import")
def import_backup(job_id: int) -> None:
    """Check or import a backup as the page asked."""
    jobs.run_job(job_id, import_job.work)


@shared_task(name="workspace.check")
def check_files(job_id: int) -> None:
    jobs.run_job(job_id, workspaces.check_files)


@shared_task(name="backup.tidy")
def tidy_backups() -> None:
    """Delete expired backups and keys, and recover imports that could not be recovered earlier."""
    import_job.settle_left()
    storage.tidy()
