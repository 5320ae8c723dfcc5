"""Who asks, for which workspace, and where a stranger is sent: the first line of every view."""

import functools
import ipaddress
import uuid
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import endpoints, kept
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.management import gate, metering
from jenny.accounts.models import Account, LoginSession, Workspace
from jenny.agent.errors import AgentError
from jenny.agent.preset import Endpoint, Preset
from jenny.workspace.config import load
from jenny.workspace.errors import WorkspaceError

_LONGEST_WAY_BACK = 2_000
# The session's key for the workspace that was chosen in it.
_CHOSEN = "workspace"


# --- Who asks, and for what ------------------------------------------------------------------


def account(request: HttpRequest) -> Account:
    """Who is logged in. :raises PermissionDenied: nobody (the middleware sends them away first)."""
    user = getattr(request, "user", None) or get_user(request)
    if not user.is_authenticated or not isinstance(user, Account):
        raise PermissionDenied
    return user


def workspace(request: HttpRequest) -> Workspace:
    """The workspace that this session works in; only ever one of the account's own.

    :raises WorkspaceError: its folder was not made yet and cannot be made now.
    """
    person = account(request)
    current = current_workspace(request)
    if current is None:
        return made_workspace(person)
    current.make_folder()
    return current


def current_workspace(request: HttpRequest) -> Workspace | None:
    """The workspace that this session works in, as it is: nothing is made for it.

    A session keeps to the one that was chosen in it; a new one begins with the account's newest
    choice. ``None``: nobody is logged in, or the account's was deleted meanwhile.
    """
    person = getattr(request, "user", None)
    if not isinstance(person, Account):
        return None
    wanted = request.session.get(_CHOSEN)
    if wanted and wanted != str(person.current_workspace_id):
        found = person.workspaces(manager="objects").filter(pk=wanted).first()
        if found is not None:
            return found
    row = person.current_workspace
    is_own = row is not None and row.owner_id == person.pk and row.deleted_at is None
    return row if is_own else None


def own_workspace(request: HttpRequest, key: object) -> Workspace | None:
    """The account's workspace with that id; ``None``: it has none, or deleted it."""
    try:
        wanted = uuid.UUID(str(key))
    except ValueError:
        return None
    return account(request).workspaces(manager="objects").filter(pk=wanted).first()


def has_others(row: Workspace) -> bool:
    """Whether its owner has more workspaces than this one."""
    return Workspace.objects.filter(owner=row.owner_id).exclude(pk=row.pk).exists()


def choose_workspace(request: HttpRequest, row: Workspace) -> None:
    """Let this session, and new ones, work in *row*; other sessions stay where they are."""
    person = account(request)
    request.session[_CHOSEN] = str(row.pk)
    person.current_workspace = row
    person.save(update_fields=["current_workspace"])


def made_workspace(person: Account) -> Workspace:
    """The account's current workspace, with its folder.

    :raises WorkspaceError: the folder was not made yet and cannot be made now.
    """
    current = person.current_workspace
    if current is None or current.owner_id != person.pk or current.deleted_at is not None:
        current = person.workspaces(manager="objects").order_by("created_at").first()
        if current is None:
            current = Workspace.make(person, person.username)
        person.current_workspace = current
        person.save(update_fields=["current_workspace"])
    current.make_folder()
    return current


# --- Which model -----------------------------------------------------------------------------


def environment() -> endpoints.Environment:
    """What the instance's environment says about a model."""
    return endpoints.Environment.read(
        settings.JENNY_API_KEY, settings.JENNY_API_BASE_URL, settings.JENNY_MODEL
    )


def model_for(
    row: Workspace, preset_name: str = "", *, kind: str = "chat"
) -> tuple[Endpoint, Preset]:
    """Where and how a conversation of that workspace asks the model of that name (empty: the
    workspace's default), with the key of the workspace's owner. What it uses counts as that
    *kind* of run (``jenny.accounts.usage_kinds``).

    :raises CallsPaused: nothing is asked in this workspace for now, or today (``CallsSpent``).
    :raises AgentError: it cannot be asked; the sentence says why.
    """
    gate.check(row)
    try:
        endpoint, preset = endpoints.resolve(
            load(row.root), preset_name, row.owner.keys(), environment()
        )
    except ConnectionProblem as error:
        raise AgentError("connection", error.sentence) from error
    meter = metering.RowMeter(row.owner_id, kind, is_free=endpoint.is_demo)
    return replace(endpoint, stops=functools.partial(gate.stops, row.root), meter=meter), preset


def model_is_demo(request: HttpRequest) -> bool:
    """Whether the demo model answers in the account's workspace, for the label on every page."""
    row = current_workspace(request)
    if row is None or row.folder_made_at is None:
        return not environment().is_set
    origins = set(row.owner.api_keys.values_list("origin", flat=True))
    try:
        return endpoints.choose(load(row.root), "", origins, environment()).is_demo
    except (ConnectionProblem, WorkspaceError):
        return False


# --- Sessions --------------------------------------------------------------------------------


def session_is_live(session_key: str) -> bool:
    """Whether somebody is still logged in with that session.

    Event streams ask at each heartbeat.
    """
    return (
        LoginSession.objects.filter(session_key=session_key, account__is_active=True).exists()
        and Session.objects.filter(session_key=session_key, expire_date__gt=timezone.now()).exists()
    )


def note_login(sender: object, request: HttpRequest, user: Account, **_: Any) -> None:
    """Put the new session on the account's list (signal ``user_logged_in``). It stays in the
    workspace that it begins in, whatever other sessions choose later."""
    del sender
    if user.current_workspace_id is not None:
        request.session[_CHOSEN] = str(user.current_workspace_id)
    LoginSession.begin(request, user, client_address(request))


def note_logout(sender: object, request: HttpRequest, **_: Any) -> None:
    """Take the session off the list (signal ``user_logged_out``)."""
    del sender
    LoginSession.objects.filter(session_key=request.session.session_key or "").delete()


def client_address(request: HttpRequest) -> str | None:
    """The address that the request came from, as the web server says.

    ``X-Forwarded-For`` is the client's own word unless a proxy of ours wrote it, which the
    web server judges (``jenny.management.parts``); it is never read here.
    """
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None


def throttled_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The name that failed logins are counted for: in any case it is the same one."""
    given = credentials or request.POST
    return str(given.get("username", ""))[:150].casefold()


# --- Strangers -------------------------------------------------------------------------------


def is_own_url(request: HttpRequest, url: str) -> bool:
    """Whether *url* leads to this very site."""
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def is_same_site(request: HttpRequest) -> bool:
    """Whether a page of ours sent the request, as far as the browser tells; if in doubt, not."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    source = request.headers.get("Origin") or request.headers.get("Referer", "")
    return bool(urlsplit(source).netloc) and is_own_url(request, source)


def is_script(request: HttpRequest) -> bool:
    """Whether a script of the page asks, which cannot follow a redirect to a login page.

    A visit that the service worker passes on looks like a fetch, but asks for HTML.
    """
    accepted = request.headers.get("Accept", "")
    return (
        request.headers.get("X-Requested-With") == "XMLHttpRequest"
        or accepted.startswith(("application/json", "text/event-stream"))
        or (request.headers.get("Sec-Fetch-Dest") == "empty" and "text/html" not in accepted)
    )


def way_back(request: HttpRequest) -> str:
    """The path of the page that the request was made from, to return to after a login."""
    by_htmx = request.headers.get("HX-Request") == "true"
    if request.method in {"GET", "HEAD"} and not by_htmx and not is_script(request):
        return request.get_full_path()[:_LONGEST_WAY_BACK]
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    parts = urlsplit(page) if is_own_url(request, page) else urlsplit("")
    if parts.path.startswith("/"):
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return path[:_LONGEST_WAY_BACK]
    return page_of(request.path)


def page_of(path: str) -> str:
    """The page that a form's address belongs to: ``/chat/<id>/send`` → ``/chat/<id>/``."""
    return path if path.endswith("/") else path.rsplit("/", 1)[0] + "/"


def keep_text(request: HttpRequest) -> str:
    """Keep the typed ``text`` of a form that could not be taken, and return it.

    Only when a page of ours sent it: another site must neither put words into a composer
    nor replace the visitor's session by a new one.
    """
    text = request.POST.get("text", "") if request.method == "POST" else ""
    if text and is_same_site(request):
        kept.keep(request.session, page_of(request.path), text)
    return text[: kept.LIMIT]


def take_kept_text(request: HttpRequest, path: str) -> str:
    """The text that was kept for the page at *path*; handed out once, empty when there is none."""
    return kept.take(request.session, path)


def send_to(request: HttpRequest, url: str) -> HttpResponse:
    """Send whoever asks to the page at *url*, in the way that the asker understands."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRedirect(url)
    if is_script(request):
        return JsonResponse(
            {"login": url, "sentence": "Your session has ended. Log in to go on."},
            status=401,
        )
    return HttpResponseRedirect(url, status=302 if request.method in {"GET", "HEAD"} else 303)


def send_to_login(request: HttpRequest) -> HttpResponse:
    """Send a stranger to the login, with the way back; what they typed is kept."""
    keep_text(request)
    return send_to(request, f"{settings.LOGIN_URL}?{urlencode({'next': way_back(request)})}")
