"""What every page of the file browser begins with: whose files, and what is said when it fails."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from jenny.accounts import access
from jenny.accounts.models import Account
from jenny.accounts.models import Workspace as WorkspaceRow
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    LockTimeout,
    PathRefused,
    WorkspaceError,
    WriteFailed,
)
from jenny.workspace.files import Actor, Workspace, open_workspace
from jenny.workspace.listing import Entry
from memory import files as memory_files
from settings_ui.browsing import folders

TREE_FOLDERS = 100
_STATUS: tuple[tuple[type[WorkspaceError], HTTPStatus], ...] = (
    (FileMissing, HTTPStatus.NOT_FOUND),
    (PathRefused, HTTPStatus.NOT_FOUND),
    (FileTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (LockTimeout, HTTPStatus.SERVICE_UNAVAILABLE),
    (WriteFailed, HTTPStatus.SERVICE_UNAVAILABLE),
)


@dataclass(frozen=True)
class Desk:
    """The files of the workspace that the account works in. ``run`` names this one request in the
    log of writes, so that what it brought about can be told."""

    account: Account
    row: WorkspaceRow
    files: Workspace
    run: str

    @property
    def trash(self) -> Any:
        """Where what is deleted is kept."""
        return settings.JENNY_DATA.trash / str(self.row.pk)

    def local(self, seconds: float) -> datetime:
        """A time of the disk, in the account's zone."""
        return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(self.account.time_zone))


@dataclass(frozen=True)
class Row:
    """A file or folder as a list shows it."""

    entry: Entry
    href: str
    changed: datetime
    purpose: str
    is_hidden: bool


@dataclass(frozen=True)
class Branch:
    """A folder of the tree. ``depth`` from 0; *is_open*: its folders are listed below it."""

    name: str
    href: str
    depth: int
    is_open: bool
    is_current: bool


def desk(request: HttpRequest) -> Desk:
    """The files that this account may see: those of its current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    run = f"page:{secrets.token_hex(6)}"
    return Desk(person, row, open_workspace(row.root, Actor("browser", person.pk, run)), run)


def told[**P](view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Show the sentence of whatever stands in the way, as a page."""

    @wraps(view)
    def told_view(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(*args, **kwargs)
        except WorkspaceError as error:
            request = args[0]
            assert isinstance(request, HttpRequest)  # noqa: S101  (what every view begins with)
            return problem(request, error)

    return told_view


def problem(request: HttpRequest, error: WorkspaceError) -> HttpResponse:
    """The page that says what stands in the way."""
    return render(
        request, "files/problem.html", {"sentence": error.sentence}, status=status_of(error)
    )


def status_of(error: WorkspaceError) -> HTTPStatus:
    """The status that fits an error; a refused write answers like a wrong form."""
    return next(
        (status for kind, status in _STATUS if isinstance(error, kind)),
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def address(path: str, page: str = "workspace") -> str:
    """Where a path is looked at, or what *page* (``files/edit`` …) does with it."""
    end = "" if page == "workspace" or not path else "/"
    return f"/{page}/{quote(path)}{end}"


def rows(desk: Desk, entries: tuple[Entry, ...]) -> list[Row]:
    """Entries as a list shows them."""
    known = memory_files.BY_PATH
    return [
        Row(
            entry,
            address(entry.path),
            desk.local(entry.modified),
            known[entry.path].purpose if entry.path in known else "",
            folders.is_hidden(entry.path),
        )
        for entry in entries
    ]


def frame(desk: Desk, path: str, *, is_folder: bool) -> dict[str, Any]:
    """What every page about *path* shows around it: the way there, and the tree."""
    folder = path if is_folder else path.rpartition("/")[0]
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "crumbs": [(name, address(at)) for name, at in folders.crumbs(path)],
        "tree": list(_tree(desk, folder)),
        "up": address(path.rpartition("/")[0]),
        "links": {
            page: address(path, f"files/{page}")
            for page in ("edit", "raw", "download", "history", "move", "copy", "delete", "new")
        }
        | {"upload": address(path, "files/upload")},
    }


def _tree(desk: Desk, current: str, at: str = "", depth: int = 0) -> Any:
    """The folders on the way to *current*, each with its neighbours."""
    try:
        entries = desk.files.list(at)
    except WorkspaceError:
        return
    shown = [
        entry
        for entry in entries
        if entry.kind == "folder"
        and (desk.account.developer_mode or not folders.is_hidden(entry.path))
    ]
    for entry in shown[:TREE_FOLDERS]:
        is_open = current == entry.path or current.startswith(f"{entry.path}/")
        yield Branch(entry.name, address(entry.path), depth, is_open, current == entry.path)
        if is_open:
            yield from _tree(desk, current, entry.path, depth + 1)
