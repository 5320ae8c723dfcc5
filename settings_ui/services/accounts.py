"""An account: its time zone, and its deletion with everything that is its own.

The rows are deleted in one transaction; runs lose their leases and sessions end with them, and
queued tasks find nothing. Folders are removed afterwards, and again for a day, in case a run
under way wrote something late. A slug is never used again.
"""

import contextlib
import logging
import shutil
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from axes.utils import reset
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from jenny.accounts.models import Account, Leftover, Workspace
from jenny.chat.services import attachments, deletion
from jenny.workspace import config, retention, trash
from settings_ui.errors import AccountRefused
from settings_ui.services import workspaces
from settings_ui.services.backups import storage

# One time zone for an account: all its pages and workspaces use it.


KEY = "agents.defaults.timezone"


def set_time_zone(person: Account, zone: str) -> None:
    """Set the zone of the account and of its workspaces that name one.

    Raises:
        WorkspaceError: a workspace cannot be written; the others may be changed already.
    """
    Account.objects.filter(pk=person.pk).update(time_zone=zone)
    for row in Workspace.objects.filter(owner=person).exclude(folder_made_at=None):
        _set_workspace_zone(row, zone)


def _set_workspace_zone(row: Workspace, zone: str) -> None:
    named = config.load_config(row.root).agents.defaults.timezone
    if not named or named == zone:
        return

    def mutate(data: config.Raw) -> None:
        data["agents"]["defaults"]["timezone"] = zone

    config.change_config(row.root, mutate)


log = logging.getLogger(__name__)

_AGAIN_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DeletionSummary:
    workspaces: tuple[tuple[str, str], ...]
    keys: int
    sessions: int

    def as_json(self) -> dict[str, object]:
        return {
            "workspaces": [{"name": name, "inside": inside} for name, inside in self.workspaces],
            "keys": self.keys,
            "sessions": self.sessions,
        }


def deletion_summary(person: Account) -> DeletionSummary:
    """Summarise what would be deleted, with deleted workspaces that can still be brought back."""
    rows = [*workspaces.live(person), *workspaces.deleted(person)]
    return DeletionSummary(
        workspaces=tuple((row.name, workspaces.inside(row).message) for row in rows),
        keys=person.api_keys.count(),
        sessions=person.login_sessions.count(),
    )


def others(person: Account) -> list[Account]:
    if not person.is_superuser:
        return []
    rows = Account.objects.filter(is_active=True).exclude(pk=person.pk)
    return list(rows.order_by("username"))


def delete_account(person: Account, successor: Account | None = None) -> None:
    """Delete the account; *successor* becomes owner in its place.

    Raises:
        AccountRefused: it is the owner's, other accounts exist, and no successor was named.
    """
    with transaction.atomic():
        row = Account.objects.select_for_update().get(pk=person.pk)
        if row.is_superuser and others(row):
            if successor is None or successor not in others(row):
                raise AccountRefused(
                    "This account is the owner's, and there are others. Say which of them is the "
                    "owner from then on. Nothing was deleted."
                )
            # The database refuses two owners at a time.
            Account.objects.filter(pk=row.pk).update(is_superuser=False)
            Account.objects.filter(pk=successor.pk).update(is_superuser=True)
        for one in Workspace.all_objects.filter(owner=row):
            # A restored database may already list the slug as removed.
            Leftover.objects.update_or_create(
                slug=one.slug,
                defaults={"name": str(one.pk), "deleted_at": Now(), "cleared_at": None},
            )
        Leftover.objects.create(name=str(row.pk))
        row.end_sessions()
        row.delete()
    reset(username=person.username.casefold())
    log.info("account.deleted", extra={"account": person.pk})
    clear()


def clear() -> int:
    """Remove the folders of deleted accounts and return how many are done. It may be interrupted
    and repeated."""
    late = Q(cleared_at=None) | Q(deleted_at__gte=Now() - _AGAIN_FOR)
    done = 0
    for row in Leftover.objects.filter(late):
        folders = _folders(row)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        if row.slug and folders:
            workspaces.clear_index(row.name)
        if folders and not row.slug and row.name.isdecimal():
            storage.drop_of(int(row.name))
        if any(folder.exists() for folder in folders):
            log.warning("account.not_cleared", extra={"leftover": row.pk})
            continue
        if row.cleared_at is None:
            Leftover.objects.filter(pk=row.pk).update(cleared_at=Now())
            done += 1
    return done


def _folders(row: Leftover) -> list[Path]:
    # A restored database may have the row again; a folder that belongs to somebody is kept.
    data = settings.JENNY_DATA
    if not row.slug:
        is_taken = Account.objects.filter(pk=row.name).exists()
        return [] if is_taken else [data.uploads / row.name]
    if Workspace.all_objects.filter(Q(slug=row.slug) | Q(pk=row.name)).exists():
        return []
    return [data.workspaces / row.slug, data.snapshots / f"{row.name}.git", data.trash / row.name]


# Deletes what has expired: conversations in the trash, and files outside of workspaces.


def delete_expired_files() -> None:
    """Purge expired trash, workspaces deleted long ago, and abandoned uploads. It may run at any
    time and concurrently."""
    deletion.purge()
    attachments.clear_uploads()
    workspaces.purge(timezone.now())
    clear()
    now = int(time.time())
    # The trash of a deleted workspace is kept while the workspace can be restored.
    kept = Workspace.all_objects.exclude(deleted_at__isnull=False, folder_made_at=None)
    known = {str(key) for key in kept.values_list("pk", flat=True)}
    for store in _lost_folders(settings.JENNY_DATA.trash):
        if store.name in known:
            trash.purge(store, before=now - int(retention.TRASH.total_seconds()))
        else:
            shutil.rmtree(store, ignore_errors=True)
    for folder in _lost_folders(settings.JENNY_DATA.uploads):
        for part in folder.glob("*.part"):
            with contextlib.suppress(OSError):
                if part.stat().st_mtime < now - retention.UPLOAD_PART.total_seconds():
                    part.unlink()


def _lost_folders(parent: Path) -> list[Path]:
    try:
        return [path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
