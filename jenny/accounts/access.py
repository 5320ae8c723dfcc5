"""Access checks at the start of views: the account, its workspace and model, logins, and origins.

The text of a form that was sent with an expired session is kept in the new session, until the page
of the form shows it again.
"""

import functools
import ipaddress
import uuid
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware import csrf
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import endpoints
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Account, LoginSession, Workspace
from jenny.accounts.services import usage
from jenny.agent.errors import AgentError
from jenny.agent.preset import Endpoint, Preset
from jenny.workspace.config import load_config
from jenny.workspace.errors import WorkspaceError

KEPT_FORM = "kept_text"
# Characters of all kept texts: more than anybody types, small enough for a session row.
KEPT_FORM_CHARS = 200_000


def keep_form(session: MutableMapping[str, Any], path: str, text: str) -> None:
    """Keep *text* for the page at *path*, newest first; texts beyond the limit are dropped."""
    if not text.strip():
        return
    texts = [item for item in session.get(KEPT_FORM, []) if item["path"] != path]
    texts.insert(0, {"path": path, "text": text[:KEPT_FORM_CHARS]})
    room = KEPT_FORM_CHARS
    kept = []
    for item in texts:
        room -= len(item["text"])
        if room < 0:
            break
        kept.append(item)
    session[KEPT_FORM] = kept


def take_form(session: MutableMapping[str, Any], path: str) -> str:
    """Return the text kept for the page at *path* and delete it; empty when there is none."""
    texts = session.get(KEPT_FORM, [])
    found = next((item["text"] for item in texts if item["path"] == path), "")
    if found:
        session[KEPT_FORM] = [item for item in texts if item["path"] != path]
    return str(found)


def newest_form(session: MutableMapping[str, Any]) -> str:
    """Return the text kept last, for the login page; empty when there is none."""
    texts = session.get(KEPT_FORM, [])
    return str(texts[0]["text"]) if texts else ""


_LONGEST_WAY_BACK = 2_000
# A parameter of the login page's address: a form was sent with an expired session.
NOTHING_STORED = "unsaved"
# The session's key for the workspace that was chosen in it.
_CHOSEN = "workspace"


# --- Account and workspace -------------------------------------------------------------------


def account(request: HttpRequest) -> Account:
    """Return the logged-in account.

    :raises PermissionDenied: nobody is logged in (the middleware redirects to the login before).
    """
    user = getattr(request, "user", None) or get_user(request)
    if not user.is_authenticated or not isinstance(user, Account):
        raise PermissionDenied
    return user


def workspace(request: HttpRequest) -> Workspace:
    """Return the session's workspace; only ever one of the account's own.

    :raises WorkspaceError: its folder does not exist yet and cannot be made now.
    """
    person = account(request)
    current = current_workspace(request)
    if current is None:
        return made_workspace(person)
    current.make_folder()
    return current


def current_workspace(request: HttpRequest) -> Workspace | None:
    """Return the session's workspace without making its folder.

    A session keeps the workspace that was chosen in it; a new one begins with the account's newest
    choice. ``None``: nobody is logged in, or the account was deleted meanwhile.
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
    """Return the account's workspace with that id; ``None``: it has none, or deleted it."""
    try:
        wanted = uuid.UUID(str(key))
    except ValueError:
        return None
    return account(request).workspaces(manager="objects").filter(pk=wanted).first()


def has_others(row: Workspace) -> bool:
    return Workspace.objects.filter(owner=row.owner_id).exclude(pk=row.pk).exists()


def choose_workspace(request: HttpRequest, row: Workspace) -> None:
    """Select *row* for this session and for new ones; other sessions keep their workspace."""
    person = account(request)
    request.session[_CHOSEN] = str(row.pk)
    person.current_workspace = row
    person.save(update_fields=["current_workspace"])


def made_workspace(person: Account) -> Workspace:
    """Return the account's current workspace, and make its folder when needed.

    :raises WorkspaceError: the folder does not exist yet and cannot be made now.
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


# --- Model -----------------------------------------------------------------------------------


def environment() -> endpoints.Environment:
    return endpoints.Environment.read(
        settings.JENNY_API_KEY, settings.JENNY_API_BASE_URL, settings.JENNY_MODEL
    )


def model_for(
    row: Workspace, preset_name: str = "", *, kind: str = "chat"
) -> tuple[Endpoint, Preset]:
    """Return endpoint and preset of a conversation's model, with the key of the workspace's owner.

    *preset_name* empty: the workspace's default. Usage is counted as that *kind* of run
    (``jenny.agent.run_kinds``).

    :raises CallsPaused: calls from this workspace are paused, or used up today (``CallsSpent``).
    :raises AgentError: the model cannot be asked; the sentence says why.
    """
    usage.check_calls_allowed(row)
    try:
        endpoint, preset = endpoints.resolve(
            load_config(row.root), preset_name, row.owner.keys(), environment()
        )
    except ConnectionProblem as error:
        raise AgentError("connection", error.message) from error
    meter = usage.RowMeter(row.owner_id, kind, is_free=endpoint.is_demo)
    return replace(
        endpoint, stops=functools.partial(usage.calls_stopped, row.root), meter=meter
    ), preset


def model_is_demo(request: HttpRequest) -> bool:
    """True when the demo model answers in the account's workspace, for the label on each page."""
    row = current_workspace(request)
    if row is None or row.folder_made_at is None:
        return not environment().is_set
    origins = set(row.owner.api_keys.values_list("origin", flat=True))
    try:
        return endpoints.choose(load_config(row.root), "", origins, environment()).is_demo
    except (ConnectionProblem, WorkspaceError):
        return False


# --- Sessions --------------------------------------------------------------------------------


def session_is_live(session_key: str) -> bool:
    """True while somebody is logged in with that session. Event streams ask at each heartbeat."""
    return (
        LoginSession.objects.filter(session_key=session_key, account__is_active=True).exists()
        and Session.objects.filter(session_key=session_key, expire_date__gt=timezone.now()).exists()
    )


def note_login(sender: object, request: HttpRequest, user: Account, **_: Any) -> None:
    """Add the new session to the account's list (signal ``user_logged_in``).

    It keeps the workspace that it begins with, whatever other sessions choose later.
    """
    del sender
    if user.current_workspace_id is not None:
        request.session[_CHOSEN] = str(user.current_workspace_id)
    LoginSession.begin(request, user, client_address(request))


def note_logout(sender: object, request: HttpRequest, **_: Any) -> None:
    """Remove the session from the list (signal ``user_logged_out``)."""
    del sender
    LoginSession.objects.filter(session_key=request.session.session_key or "").delete()


def client_address(request: HttpRequest) -> str | None:
    """Return the client's address, as the web server reports it.

    ``X-Forwarded-For`` can be forged unless one of our proxies wrote it. The web server checks that
    (``jenny.runtime.asgi_middleware``); the header is never read here.
    """
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None


def throttled_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return the name that failed logins are counted for, in one spelling."""
    given = credentials or request.POST
    return str(given.get("username", ""))[:150].casefold()


# --- Visitors without a login ----------------------------------------------------------------


def is_own_url(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def is_same_site(request: HttpRequest) -> bool:
    """True when the browser says that a page of ours sent the request; in doubt False."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    source = request.headers.get("Origin") or request.headers.get("Referer", "")
    return bool(urlsplit(source).netloc) and is_own_url(request, source)


def is_script(request: HttpRequest) -> bool:
    """True when a page's script sent the request, which cannot follow a redirect to the login.

    A visit that the service worker passes on looks like a fetch, but asks for HTML.
    """
    accepted = request.headers.get("Accept", "")
    return (
        request.headers.get("X-Requested-With") == "XMLHttpRequest"
        or accepted.startswith(("application/json", "text/event-stream"))
        or (request.headers.get("Sec-Fetch-Dest") == "empty" and "text/html" not in accepted)
    )


def way_back(request: HttpRequest) -> str:
    """Return the path of the page that made the request, to return to after a login."""
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
    """Return the page of a form's address: ``/chat/<id>/send`` → ``/chat/<id>/``."""
    return path if path.endswith("/") else path.rsplit("/", 1)[0] + "/"


def keep_text(request: HttpRequest) -> str:
    """Keep the typed ``text`` of a form that could not be accepted, and return it.

    Only when a page of ours sent it: another site must neither put words into a composer nor
    replace the visitor's session by a new one.
    """
    text = request.POST.get("text", "") if request.method == "POST" else ""
    if text and is_same_site(request):
        keep_form(request.session, page_of(request.path), text)
    return text[:KEPT_FORM_CHARS]


def take_kept_text(request: HttpRequest, path: str) -> str:
    """Return the text kept for the page at *path* and delete it; empty when there is none."""
    return take_form(request.session, path)


def send_to(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect to *url* in the form that the client understands."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRedirect(url)
    if is_script(request):
        return JsonResponse(
            {"login": url, "message": "Your session has ended. Log in to go on."},
            status=401,
        )
    return HttpResponseRedirect(url, status=302 if request.method in {"GET", "HEAD"} else 303)


def send_to_login(request: HttpRequest) -> HttpResponse:
    """Redirect to the login, with the page to return to; the typed text is kept."""
    keep_text(request)
    query = {"next": way_back(request)}
    if request.method not in {"GET", "HEAD"}:
        query[NOTHING_STORED] = "1"
    return send_to(request, f"{settings.LOGIN_URL}?{urlencode(query)}")


_PLACE = "docs/deploy.md, Behind TLS"
# Each is a template of Django's; the text before the placeholder tells them apart.
_ORIGIN_REASONS = tuple(
    reason.partition("%s")[0]
    for reason in (
        csrf.REASON_BAD_ORIGIN,
        csrf.REASON_BAD_REFERER,
        csrf.REASON_NO_REFERER,
        csrf.REASON_MALFORMED_REFERER,
        csrf.REASON_INSECURE_REFERER,
    )
)


def get_origin_problem(request: HttpRequest, reason: str) -> str:
    """Return a sentence when Django refused the request's origin, else an empty text."""
    if not reason.startswith(_ORIGIN_REASONS):
        return ""
    origin = _get_origin(request)
    if not origin:
        return (
            "Nothing was done: your browser did not say which page sent this. Allow it to send "
            "the origin or referrer to this address (some privacy add-ons take it away), then "
            "repeat."
        )
    if not _may_be_own(request, origin):
        return (
            f"Nothing was done: this was sent by a page of another site, {origin}. Open Jenny at "
            "her own address and repeat it there if it was you."
        )
    trusted = [*settings.CSRF_TRUSTED_ORIGINS, origin]
    return (
        f"Nothing was done: it was sent by a page at {origin}, and Jenny does not know that as her "
        "own address. If it is the address in your browser's bar, whoever runs Jenny sets "
        f"JENNY_TRUSTED_ORIGINS={','.join(trusted)} and JENNY_ALLOWED_HOSTS="
        f"{urlsplit(origin).hostname}, and starts her again ({_PLACE})."
    )


def _get_origin(request: HttpRequest) -> str:
    """Return scheme, host and port of the page that sent the request; empty when unknown."""
    parts = urlsplit("")
    for given in (request.headers.get("Origin", ""), request.headers.get("Referer", "")):
        try:
            parts = urlsplit(given)
            _ = parts.port
        except ValueError:
            continue
        if parts.scheme in {"http", "https"} and parts.hostname and parts.netloc.isprintable():
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return ""


def _may_be_own(request: HttpRequest, origin: str) -> bool:
    """True when the page may be Jenny's own, behind a proxy that she does not know of.

    False for a page that the browser, or its host's name, calls another site: nobody is advised to
    trust it.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    hosts = {request.get_host(), request.headers.get("X-Forwarded-Host", "")}
    names = {urlsplit(f"//{host}").hostname for host in hosts if host}
    return urlsplit(origin).hostname in names
