from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.urls import reverse

from jenny.accounts import access
from jenny.accounts.models import Account, Workspace
from jenny.accounts.services.workspace_context import WorkspaceErrorPage
from jenny.workspace import file_times
from jenny.workspace.errors import SnapshotUnknown, StoreBroken, VersionsOff, VersionUnknown
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.objects import Objects
from jenny.workspace.snapshots.store import Store
from jenny.workspace.snapshots.values import Snapshot
from memory.services import snapshots
from settings_ui.browsing import folders

workspace_error_page = WorkspaceErrorPage(
    "snapshots/problem.html",
    {
        SnapshotUnknown: HTTPStatus.NOT_FOUND,
        VersionUnknown: HTTPStatus.NOT_FOUND,
        StoreBroken: HTTPStatus.SERVICE_UNAVAILABLE,
        VersionsOff: HTTPStatus.SERVICE_UNAVAILABLE,
    },
)
_PATH_CHARS = 2_000


@dataclass(frozen=True)
class SnapshotContext:
    """The snapshots of the workspace that the account works in."""

    account: Account
    row: Workspace
    store: Store

    def local(self, when: datetime) -> datetime:
        return when.astimezone(ZoneInfo(self.account.time_zone))

    def local_seconds(self, seconds: float) -> datetime:
        """A time of the disk, in the account's zone."""
        return self.local(file_times.moment_of(seconds))

    def every(self) -> list[Snapshot]:
        return reader.list_snapshots(self.store) if self.store.exists else []

    @contextmanager
    def opened(self, asked: str) -> Iterator[tuple[Objects, Snapshot]]:
        """Open the store and the named snapshot.

        Raises:
            SnapshotUnknown: there is none.
        """
        name = self.store.resolve(asked)
        shelved = next((shot for shot in self.every() if shot.id == name), None)
        with self.store.open() as repo:
            yield repo, shelved or self.store.get(repo, name)


def get_snapshot_context(request: HttpRequest) -> SnapshotContext:
    """The snapshots that this account may see: those of its current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    return SnapshotContext(person, row, snapshots.store_of(row))


def asked_path(request: HttpRequest) -> str:
    """Return the path that the address names; empty for everything."""
    return request.GET.get("path", "").strip("/")[:_PATH_CHARS]


def address(page: str, name: str, path: str = "", **more: str) -> str:
    """Return the address of a page about a snapshot or a *path* in it; empty when no address can
    hold the name."""
    if not _is_addressable(path):
        return ""
    query = {"path": path, **more} if path else more
    return reverse(page, args=[name]) + (f"?{urlencode(query)}" if query else "")


def about(ctx: SnapshotContext, shot: Snapshot, path: str = "") -> dict[str, Any]:
    return {
        "shot": shot,
        "when": ctx.local(shot.when),
        "path": path,
        "name": path.rpartition("/")[2],
        "crumbs": [(part, at_address(shot.id, at)) for part, at in folders.crumbs(path)],
        "links": {
            "top": at_address(shot.id, ""),
            "restore": address("snapshot_restore", shot.id, path),
            "diff": address("snapshot_diff", shot.id, path),
            "before": address("snapshot_diff", shot.id, path, to=shot.before or ""),
        },
    }


def at_address(name: str, path: str) -> str:
    """Return the address of a file or folder of a snapshot; empty when no address can hold the
    name."""
    if not path:
        return reverse("snapshot", args=[name])
    return reverse("snapshot_at", args=[name, path]) if _is_addressable(path) else ""


def _is_addressable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
