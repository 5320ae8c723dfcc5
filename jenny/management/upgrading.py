"""Settings of workspaces are brought to this version's form, with a way back."""

from collections.abc import Callable

from django.conf import settings
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.workspace import config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.taking import create

Say = Callable[[str], None]


def migrate_settings(say: Say) -> int:
    """Write each ``config.json`` of an older version anew, after a snapshot; how many were.

    One of a newer version is left as it is; pages of its workspace say so. What cannot be written
    is read in its new form all the same, and tried again at the next start.
    """
    done = 0
    for row in Workspace.objects.exclude(folder_made_at=None).order_by("slug"):
        try:
            if not config.is_old(row.root):
                continue
            store = Store(settings.JENNY_DATA.snapshots / f"{row.pk}.git")
            create(store, row.root, "upgrade", now=timezone.now())
            done += config.migrate(row.root)
        except WorkspaceError as error:
            say(f"The settings of {row.slug} were not brought up to date. {error.sentence}")
    if done:
        count = "one workspace" if done == 1 else f"{done} workspaces"
        say(f"The settings of {count} were brought up to date; snapshots hold the older ones.")
    return done
