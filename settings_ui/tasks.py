"""What the pages' files need done by itself."""

import contextlib
import shutil
import time
from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from jenny.accounts.management import working
from jenny.accounts.models import Workspace
from jenny.workspace import trash
from settings_ui.management import closing, workspaces
from settings_ui.management.backups import making, shelf, taking_in

# A file that was arriving in pieces and has got none for so long will not be finished.
UPLOAD_SECONDS = 24 * 3600


@shared_task(name="files.tidy")
def tidy() -> None:
    """Let go of what has been in the trash for long enough, of workspaces that were deleted long
    ago, and of uploads that broke off.

    Safe to run at any time and twice at once: what is gone is gone.
    """
    now = int(time.time())
    stores = settings.JENNY_DATA.trash
    workspaces.purge(timezone.now())
    closing.clear()
    # The trash of a deleted workspace stays as long as that can be brought back.
    kept = Workspace.all_objects.exclude(deleted_at__isnull=False, folder_made_at=None)
    known = {str(key) for key in kept.values_list("pk", flat=True)}
    for store in _folders(stores):
        if store.name in known:
            trash.purge(store, before=now - trash.KEPT_DAYS * 86_400)
        else:
            shutil.rmtree(store, ignore_errors=True)
    for folder in _folders(settings.JENNY_DATA.uploads):
        for part in folder.glob("*.part"):
            with contextlib.suppress(OSError):
                if part.stat().st_mtime < now - UPLOAD_SECONDS:
                    part.unlink()


@shared_task(name="backup.export")
def export(job_id: int) -> None:
    """Carry out an export that was asked for on the page."""
    working.carry_out(job_id, making.work)


@shared_task(name="backup.import")
def take_in(job_id: int) -> None:
    """Look at a backup, or take it in, as was asked for on the page."""
    working.carry_out(job_id, taking_in.work)


@shared_task(name="backup.tidy")
def tidy_backups() -> None:
    """Let go of backups that nobody fetched in time, and of keys that nobody took; settle imports
    that died when they could not be settled."""
    taking_in.settle_left()
    shelf.tidy()


def _folders(parent: Path) -> list[Path]:
    try:
        return [path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
