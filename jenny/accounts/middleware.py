"""Middleware for the first run, the login, and forms of another workspace."""

import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import access
from jenny.accounts.models import Account, LoginSession
from jenny.agent import clock
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

type GetResponse = Callable[[HttpRequest], HttpResponseBase]

# A browser or a health check may fetch these before there is an owner.
_OPEN_BEFORE_OWNER = (
    "/health/",
    "/metrics",
    "/static/",
    "/manifest.webmanifest",
    "/favicon.ico",
    "/offline/",
)
_SETUP = "/setup/"


class FirstRunMiddleware:
    """Redirects every page to the set-up while there is no account."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Redirect, or continue. It asks the database each time: no process holds state."""
        if (
            request.path == _SETUP
            or request.path.startswith(_OPEN_BEFORE_OWNER)
            or request.user.is_authenticated
            or Account.objects.exists()
        ):
            return self.get_response(request)
        return access.send_to(request, _SETUP)


class LoginMiddleware:
    """Requires a live session for every view that is not marked ``login_not_required``."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the account and its time zone, and forbid caches to store its pages."""
        user = request.user
        if not user.is_authenticated:
            return self.get_response(request)
        if not _is_listed(request, user):
            logout(request)
            return self.get_response(request)
        with timezone.override(clock.zone_of(user.time_zone)):
            response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> HttpResponse | None:
        """Redirect a visitor without login. The CSRF check has stopped forged forms before."""
        del args, kwargs
        if request.user.is_authenticated or not getattr(view, "login_required", True):
            return None
        return access.send_to_login(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer with the error's sentence when a workspace's files cannot be used."""
        if not isinstance(error, WorkspaceError):
            return None
        log.warning("workspace.unusable", extra={"cause": type(error).__name__})
        if access.is_script(request):
            return JsonResponse({"message": error.message}, status=503)
        context = {
            "heading": "Not done",
            "sentences": [error.message],
            "href": access.way_back(request),
            "act": "Try again",
        }
        return render(request, "error.html", context, status=503)


def _is_listed(request: HttpRequest, user: Account) -> bool:
    """True when the session is on the account's list; record the visit, and renew it once a day."""
    row = LoginSession.of(request.session.session_key or "", user)
    if row is None:
        return False
    can_write = row.note_visit(access.client_address(request))
    today = timezone.now().astimezone(dt.UTC).date().isoformat()
    if can_write and request.session.get("renewed") != today:
        request.session["renewed"] = today
    return True


class WorkspaceMiddleware:
    """Refuses a form whose page was made in another workspace.

    The person may have switched in another tab since. Forms that name their own object (a
    conversation) and forms about the whole account are accepted.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> HttpResponse | None:
        """Refuse a form for another workspace, and show the typed text again."""
        del view, args
        if request.method != "POST" or "conversation_id" in kwargs:
            return None
        if request.path.startswith(_ACCOUNT_WIDE) or not request.user.is_authenticated:
            return None
        named = request.headers.get("X-Workspace") or request.POST.get("in_workspace", "")
        current = access.current_workspace(request)
        if not named or current is None or named == str(current.pk):
            return None
        return _meant_elsewhere(request, named, current.name)


# Paths about the account as a whole, in any workspace.
_ACCOUNT_WIDE = ("/logout/", "/login/", "/operator/", "/settings/account/", "/settings/workspaces/")


def _meant_elsewhere(request: HttpRequest, named: str, now_in: str) -> HttpResponse:
    meant = access.own_workspace(request, named)
    name = f"“{meant.name}”" if meant else "another workspace, which is not there any more"
    message = f"Nothing was done: this page is of {name}, and you work in “{now_in}” now."
    page = access.way_back(request)
    if request.headers.get("HX-Request") == "true":
        access.keep_text(request)
        messages.error(request, message)
        return HttpResponseClientRedirect(page)
    if access.is_script(request):
        return JsonResponse({"message": f"{message} Load the page again."}, status=409)
    context = {
        "message": message,
        "meant": meant,
        "text": request.POST.get("text", ""),
        "page": page,
    }
    return render(request, "accounts/elsewhere.html", context, status=409)
