"""Deletes what has expired: conversations in the trash, and files outside of workspaces."""

import contextlib
import shutil
import time
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.chat.services import attachments, deletion
from jenny.workspace import retention, trash
from settings_ui.services import delete_account, workspaces


def delete_expired_files() -> None:
    """Purge expired trash, workspaces deleted long ago, and abandoned uploads. It may run at any
    time and concurrently."""
    deletion.purge()
    attachments.clear_uploads()
    workspaces.purge(timezone.now())
    delete_account.clear()
    now = int(time.time())
    # The trash of a deleted workspace is kept while the workspace can be restored.
    kept = Workspace.all_objects.exclude(deleted_at__isnull=False, folder_made_at=None)
    known = {str(key) for key in kept.values_list("pk", flat=True)}
    for store in _folders(settings.JENNY_DATA.trash):
        if store.name in known:
            trash.purge(store, before=now - int(retention.TRASH.total_seconds()))
        else:
            shutil.rmtree(store, ignore_errors=True)
    for folder in _folders(settings.JENNY_DATA.uploads):
        for part in folder.glob("*.part"):
            with contextlib.suppress(OSError):
                if part.stat().st_mtime < now - retention.UPLOAD_PART.total_seconds():
                    part.unlink()


def _folders(parent: Path) -> list[Path]:
    try:
        return [path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
