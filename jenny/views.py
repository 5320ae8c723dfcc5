"""Health checks, error pages, the base template's context, and the web app's files."""

import errno
import sys
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from jenny.accounts.access import current_workspace, has_others, model_is_demo, way_back
from jenny.accounts.access import workspace as workspace_of
from jenny.accounts.models import Account
from jenny.accounts.services import health, notices

# --- Context of every page -------------------------------------------------------------------


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Return ``demo notices version account workspace`` for base.html, also without a login."""
    user = getattr(request, "user", None)
    account = user if isinstance(user, Account) else None
    workspace = current_workspace(request) if account else None
    return {
        "version": settings.JENNY_VERSION,
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "account": account,
        "workspace": workspace,
        "has_workspaces": workspace is not None and has_others(workspace),
        "demo": bool(account) and model_is_demo(request),
        "notices": notices.shown_notices(workspace, request.session)
        if workspace and workspace.folder_made_at
        else [],
    }


@require_http_methods(["GET", "HEAD", "POST"])
def standing_notices(request: HttpRequest) -> HttpResponse:
    """Render the notices alone; by POST, hide the one named ``key`` until its cause changes."""
    if request.method == "POST":
        notices.hide(workspace_of(request), request.session, request.POST.get("key", ""))
        if request.headers.get("HX-Request") != "true":
            # Without the page it came from: this address is only a part of a page.
            page = way_back(request)
            return redirect("/" if page == request.path else page)
    context = {"quiet": "quiet" in request.GET}
    return render(request, "includes/notices.html#standing", context)


# --- Health ----------------------------------------------------------------------------------


@login_not_required
@never_cache
@require_safe
def live(_request: HttpRequest) -> HttpResponse:
    """Answer that the process runs.

    It checks nothing else: a broken database must not restart it.
    """
    return JsonResponse({"live": True})


@login_not_required
@never_cache
@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """Check whether a chat would work now: database, migrations, Redis. 503 names the failures."""
    checks = {one.name: one.is_fine for one in health.checks()}
    is_ready = all(checks.values())
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"ready": is_ready, "checks": checks}, status=status)


# --- Error pages -----------------------------------------------------------------------------

# Each by its heading and sentences.
_ERRORS = {
    HTTPStatus.BAD_REQUEST: (
        "Not understood",
        (
            "This request could not be read, or it came to a name that Jenny does not answer to."
            " Nothing was changed."
        ),
        (
            "If you reach Jenny under a name of your own, whoever runs her has to add that name to"
            " JENNY_ALLOWED_HOSTS."
        ),
    ),
    HTTPStatus.FORBIDDEN: (
        "Not for you",
        "This account may not see or do that. Nothing was changed.",
    ),
    HTTPStatus.NOT_FOUND: (
        "Nothing here",
        (
            "There is no page at this address, or what it showed was deleted. Your conversations"
            " and files are where they were."
        ),
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        "That went wrong here",
        (
            "The fault is Jenny’s, and it is in her log. What you had sent before is kept; this one"
            " request may not be."
        ),
        "Go back and try again. If it happens again, the log says why.",
    ),
    HTTPStatus.INSUFFICIENT_STORAGE: (
        "The disk is full",
        "Jenny has no room to write. What you had sent before is kept; this one request is not.",
        (
            "Make room on the disk of the data folder, then go back and send it again. What waits"
            " goes on by itself."
        ),
    ),
}
# Words of SQLite's and PostgreSQL's errors when the disk is full.
_FULL = ("disk is full", "No space left on device")


@login_not_required
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Render the page for an unreadable request, or for a host that is not ours."""
    # Rendered without the request: its host may be invalid, and the template asks for it.
    del request, exception
    return _error_page(None, HTTPStatus.BAD_REQUEST)


@login_not_required
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    del exception
    return _error_page(request, HTTPStatus.FORBIDDEN)


@login_not_required
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Render the page for a missing object, or one of another account."""
    del exception
    return _error_page(request, HTTPStatus.NOT_FOUND)


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    """Render the page for an internal error or a full disk.

    Without a request: the database may have failed.
    """
    del request
    if _is_disk_full(sys.exception()):
        return _error_page(None, HTTPStatus.INSUFFICIENT_STORAGE)
    return _error_page(None, HTTPStatus.INTERNAL_SERVER_ERROR)


def _error_page(request: HttpRequest | None, status: HTTPStatus) -> HttpResponse:
    heading, *sentences = _ERRORS[status]
    context = {"heading": heading, "sentences": sentences}
    return render(request, "error.html", context, status=status)


def _is_disk_full(error: BaseException | None) -> bool:
    """True when the disk is full; databases report it in words only."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        if isinstance(error, DatabaseError) and any(said in str(error) for said in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


# --- The installable app ---------------------------------------------------------------------


@login_not_required
@require_safe
def manifest(_request: HttpRequest) -> HttpResponseBase:
    """Return the web app manifest, so that a phone can install the page."""
    icons = [
        {"src": static(f"icons/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    return JsonResponse(
        {
            "name": "Jenny",
            "short_name": "Jenny",
            "start_url": "/chat/",
            "scope": "/",
            "display": "standalone",
            "background_color": "#faf8f4",
            "theme_color": "#faf8f4",
            "icons": icons,
        },
        content_type="application/manifest+json",
    )


@login_not_required
@require_safe
def favicon(_request: HttpRequest) -> HttpResponse:
    """Return the icon that browsers request by default, also for pages that name none."""
    return redirect(static("icons/icon-32.png"))


@login_not_required
@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    sentence = (
        "This device has no connection to the machine that Jenny runs on. What you typed and did"
        " not send is kept in this browser."
    )
    heading = "Jenny is not reachable"
    context = {"heading": heading, "sentences": [sentence], "act": "Try again"}
    return render(request, "error.html", context)


@login_not_required
@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """Return the service worker, served so that its scope is all pages; it shows the offline
    page.
    """
    script = render_to_string("worker.js")
    headers = {"Service-Worker-Allowed": "/", "Cache-Control": "no-cache"}
    return HttpResponse(script, content_type="text/javascript", headers=headers)
