"""The workspace of a page about files, and its error page."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from jenny.accounts import access
from jenny.accounts.models import Account
from jenny.accounts.models import Workspace as WorkspaceRow
from jenny.workspace import stat_signature
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
class WorkspaceContext:
    """The files of the workspace that the account works in.

    ``run`` names the request in the write log, so that its writes can be found.
    """

    account: Account
    row: WorkspaceRow
    files: Workspace
    run: str

    @property
    def root(self) -> Path:
        return self.files.root

    @property
    def trash(self) -> Path:
        return settings.JENNY_DATA.trash / str(self.row.pk)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.account.time_zone)

    def local(self, seconds: float) -> datetime:
        """Return a time of the disk in the account's zone."""
        return stat_signature.moment_of(seconds).astimezone(self.zone)


def get_workspace_context(request: HttpRequest) -> WorkspaceContext:
    """Return the files of the account's current workspace."""
    person = access.account(request)
    row = access.workspace(request)
    run = f"page:{secrets.token_hex(6)}"
    return WorkspaceContext(
        person, row, open_workspace(row.root, Actor("browser", person.pk, run)), run
    )


class WorkspaceErrorPage:
    """A decorator of views that shows a workspace error's message as a page."""

    def __init__(self, area: str, home: str, more: Statuses | None = None) -> None:
        """*area*: what its heading says; *home*: the route of its first page; *more*: the
        statuses of further errors that these pages can raise."""
        self._area, self._home = area, home
        self._status = {**_STATUS, **(more or {})}

    def __call__[**P](self, view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
        @wraps(view)
        def guarded_view(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                return view(*args, **kwargs)
            except WorkspaceError as error:
                request = args[0]
                assert isinstance(request, HttpRequest)  # noqa: S101  (what every view begins with)
                return self.page(request, error)

        return guarded_view

    def page(self, request: HttpRequest, error: WorkspaceError) -> HttpResponse:
        status = self.status_of(error)
        if request.headers.get("HX-Request") == "true":
            # htmx would look for its part of a page in this one. The text becomes a notice.
            if status == HTTPStatus.UNPROCESSABLE_ENTITY:
                status = HTTPStatus.CONFLICT
            return HttpResponse(error.message, "text/plain; charset=utf-8", status=status)
        return self.render(request, error.message, status)

    def render(self, request: HttpRequest, message: str, status: HTTPStatus) -> HttpResponse:
        context = {
            "message": message,
            "is_missing": status == HTTPStatus.NOT_FOUND,
            "area": self._area,
            "home": reverse(self._home),
        }
        return render(request, "problem.html", context, status=status)

    def status_of(self, error: WorkspaceError) -> HTTPStatus:
        """Return the status of an error; a refused write has that of an invalid form."""
        return next(
            (status for kind, status in self._status.items() if isinstance(error, kind)),
            HTTPStatus.UNPROCESSABLE_ENTITY,
        )
