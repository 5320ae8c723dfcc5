"""Health, error pages, what every page's frame needs, and the installable app's two files."""

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
from django.views.decorators.http import require_safe

from jenny.accounts.access import current_workspace, has_others, model_is_demo
from jenny.accounts.management import health, notices
from jenny.accounts.models import Account

# --- What every page's frame needs -----------------------------------------------------------


def page_context(request: HttpRequest) -> dict[str, Any]:
    """``demo notices version account workspace`` for base.html, also for a stranger's page."""
    user = getattr(request, "user", None)
    account = user if isinstance(user, Account) else None
    workspace = current_workspace(request) if account else None
    return {
        "version": settings.JENNY_VERSION,
        "account": account,
        "workspace": workspace,
        "has_workspaces": workspace is not None and has_others(workspace),
        "demo": bool(account) and model_is_demo(request),
        "notices": notices.of(workspace) if workspace and workspace.folder_made_at else [],
    }


# --- Health ----------------------------------------------------------------------------------


@login_not_required
@never_cache
@require_safe
def live(_request: HttpRequest) -> HttpResponse:
    """The process answers. Asks nothing else, so that a broken database does not restart it."""
    return JsonResponse({"live": True})


@login_not_required
@never_cache
@require_safe
def ready(_request: HttpRequest) -> HttpResponse:
    """Whether a chat would work now: database, its migrations, Redis. 503 names what does not."""
    checks = {one.name: one.is_fine for one in health.checks()}
    is_ready = all(checks.values())
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"ready": is_ready, "checks": checks}, status=status)


# --- Error pages -----------------------------------------------------------------------------

# What SQLite and PostgreSQL say when there is no room.
_FULL = ("disk is full", "No space left on device")


@login_not_required
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The request could not be read, or named a host that is not ours."""
    # Without the request: its host may be what is wrong, and the page's frame asks for it.
    del request, exception
    return render(None, "400.html", status=HTTPStatus.BAD_REQUEST)


@login_not_required
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Somebody may not see this."""
    del exception
    return render(request, "403.html", status=HTTPStatus.FORBIDDEN)


@login_not_required
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """There is nothing here, or nothing for this account."""
    del exception
    return render(request, "404.html", status=HTTPStatus.NOT_FOUND)


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of ours, or a full disk. Rendered without a request: the database may be what
    failed."""
    del request
    if _is_disk_full(sys.exception()):
        return render(None, "507.html", status=HTTPStatus.INSUFFICIENT_STORAGE)
    return render(None, "500.html", status=HTTPStatus.INTERNAL_SERVER_ERROR)


def _is_disk_full(error: BaseException | None) -> bool:
    """Whether there was no room; databases say so in words."""
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
    """The web app manifest, so that a phone can install the page."""
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
    """Where browsers look for an icon unasked, also of pages that name none."""
    return redirect(static("icons/icon-32.png"))


@login_not_required
@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """What the installed app shows without a connection."""
    return render(request, "offline.html")


@login_not_required
@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """The service worker of all pages, though it lies below them: it shows the offline page."""
    script = render_to_string("worker.js")
    headers = {"Service-Worker-Allowed": "/", "Cache-Control": "no-cache"}
    return HttpResponse(script, content_type="text/javascript", headers=headers)
