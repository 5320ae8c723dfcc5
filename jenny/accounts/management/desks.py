"""What pages over a workspace's files begin with: whose files they are, and what is said when
something stands in the way."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from http import HTTPStatus
from pathlib import Path
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

type Statuses = Mapping[type[WorkspaceError], HTTPStatus]

_STATUS: Statuses = {
    FileMissing: HTTPStatus.NOT_FOUND,
    PathRefused: HTTPStatus.NOT_FOUND,
    FileTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    LockTimeout: HTTPStatus.SERVICE_UNAVAILABLE,
    WriteFailed: HTTPStatus.SERVICE_UNAVAILABLE,
}


@dataclass(frozen=True)
class Desk:
    """The files of the workspace that the account works in. ``run`` names this one request in the
    log of writes, so that what it brought about can be told."""

    account: Account
    row: WorkspaceRow
    files: Workspace
    run: str

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return self.files.root

    @property
    def trash(self) -> Path:
        """Where what is deleted is kept."""
        return settings.JENNY_DATA.trash / str(self.row.pk)

    def local(self, seconds: float) -> datetime:
        """A time of the disk, in the account's zone."""
        return datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(self.account.time_zone))


def desk(request: HttpRequest) -> Desk:
    """The files that this account may see: those of its current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    run = f"page:{secrets.token_hex(6)}"
    return Desk(person, row, open_workspace(row.root, Actor("browser", person.pk, run)), run)


class Told:
    """A lid for views: the sentence of whatever stands in the way is shown as a page."""

    def __init__(self, template: str, more: Statuses | None = None) -> None:
        """*more*: the statuses of further errors, of what these pages are about."""
        self._template = template
        self._status = {**_STATUS, **(more or {})}

    def __call__[**P](self, view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
        """The view with the lid on."""

        @wraps(view)
        def told_view(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                return view(*args, **kwargs)
            except WorkspaceError as error:
                request = args[0]
                assert isinstance(request, HttpRequest)  # noqa: S101  (what every view begins with)
                return self.page(request, error)

        return told_view

    def page(self, request: HttpRequest, error: WorkspaceError) -> HttpResponse:
        """The page that says what stands in the way."""
        context = {"sentence": error.sentence}
        return render(request, self._template, context, status=self.status_of(error))

    def status_of(self, error: WorkspaceError) -> HTTPStatus:
        """The status that fits an error; a refused write answers like a wrong form."""
        return next(
            (status for kind, status in self._status.items() if isinstance(error, kind)),
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
