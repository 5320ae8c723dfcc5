"""First run, login, logout, and the page for a form that was sent too late."""

import math
from typing import Any
from urllib.parse import urlencode

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login as log_in
from django.contrib.auth import logout as log_out
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import access, connections
from jenny.accounts.errors import OwnerExists
from jenny.accounts.forms import CodeForm, ConnectionForm, LoginForm, SetupForm, is_fit, waiting_key
from jenny.accounts.models import Account, RecoveryCode, TwoFactor
from jenny.accounts.services import first_run
from jenny.accounts.services import login as login_service
from jenny.accounts.services.first_run import describe_folder, find_folder
from jenny.accounts.services.login import LONGEST_WAIT_SECONDS
from jenny.agent import clock
from jenny.workspace.config import load_config
from jenny.workspace.errors import WorkspaceError

_PROOF = "setup_proof"
_WRONG = (
    "This is not the setup token. The right one is in the link that Jenny printed when she was "
    "started (with Docker: docker compose logs web) and in the file setup_token in the data "
    "folder."
)
_NO_CODE = (
    "This code is not right, or was used before. Wait for the next one of your app, or take a "
    "recovery code that you have not used."
)
_FEW_CODES = 3
_NO_GOALS = frozenset({"login", "login_code", "logout", "setup"})
_BACKEND = "django.contrib.auth.backends.ModelBackend"


# --- First run -------------------------------------------------------------------------------


@login_not_required
@sensitive_post_parameters("password", "token")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Create the owner and the first workspace; 404 once there is an account."""
    if Account.objects.exists():
        raise Http404
    token = first_run.current_token(settings.JENNY_DATA)
    given = request.GET.get("token", "")
    if given and first_run.matches_token(given, token):
        # Remove it from the address at once: addresses end up in histories and logs.
        request.session[_PROOF] = first_run.token_proof(token)
        return redirect("setup")
    is_proved = request.session.get(_PROOF) == first_run.token_proof(token)
    if request.method != "POST":
        form = SetupForm(token_is_proved=is_proved, initial={"token": given})
        return _setup_page(request, form, problem=_WRONG if given and not is_proved else "")
    form = SetupForm(request.POST, token_is_proved=is_proved)
    if not is_proved and not first_run.matches_token(request.POST.get("token", ""), token):
        return _setup_page(request, form, problem=_WRONG)
    if not form.is_valid():
        return _setup_page(request, form)
    found, choice = find_folder(form.cleaned_data["username"]), request.POST.get("folder", "")
    if found is not None and choice not in {"attach", "new"}:
        return _setup_page(request, form, found=describe_folder(found))
    attach = found is not None and choice == "attach"
    return _make_owner(request, form.cleaned_data, attach=attach)


def _setup_page(
    request: HttpRequest, form: SetupForm, *, problem: str = "", found: str = ""
) -> HttpResponse:
    """Render the form.

    *problem* is an error of the token; *found* describes a folder whose files may become the
    workspace.
    """
    status = 200 if not form.is_bound else 422
    context = {"form": form, "token_problem": problem, "found": found}
    return render(request, "accounts/setup.html", context, status=403 if problem else status)


def _make_owner(request: HttpRequest, data: dict[str, Any], *, attach: bool) -> HttpResponse:
    zone = clock.first_known_zone(data["zone"], settings.JENNY_TIME_ZONE)
    try:
        owner = Account.objects.make_owner(data["username"], data["password"], zone, attach=attach)
    except OwnerExists as error:
        raise Http404 from error
    request.session.pop(_PROOF, None)
    first_run.forget_token(settings.JENNY_DATA)
    log_in(request, owner, backend=_BACKEND)
    return redirect("setup_model")


@sensitive_post_parameters("apiKey")
@require_http_methods(["GET", "HEAD", "POST"])
def setup_model(request: HttpRequest) -> HttpResponse:
    """Ask for the model, right after the first run; Settings has the same choice."""
    person, root = access.account(request), access.workspace(request).root
    looks = "look" in request.POST
    found = connections.find_servers(own_port=settings.JENNY_PORT) if looks else None
    if looks and request.headers.get("HX-Request") == "true":
        fragment = {"found": found, "is_setup": True}
        return render(request, "includes/found_servers.html", fragment)
    form = ConnectionForm(
        request.POST if request.method == "POST" and not looks else None,
        taken=load_config(root).presets,
        origins=person.keys(),
        environment=access.environment(),
        waiting=waiting_key(request),
    )
    if form.is_bound and form.is_valid() and is_fit(request, form, person):
        try:
            form.save(person, root)
        except WorkspaceError as error:
            form.add_error(None, error.message)
        else:
            return redirect(settings.LOGIN_REDIRECT_URL)
    context = {"form": form, "found": found}
    status = 422 if form.is_bound else 200
    return render(request, "accounts/setup_model.html", context, status=status)


# --- Login, logout ---------------------------------------------------------------------------


@login_not_required
@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Log a person in and redirect to the page that they wanted."""
    goal = _goal(request)
    if request.user.is_authenticated:
        return redirect(goal)
    if request.method != "POST":
        return _login_page(request, LoginForm(request=request), goal)
    form = LoginForm(request.POST, request=request)
    if form.is_valid() and form.wait_seconds:
        return _locked_page(request, form.wait_seconds)
    if not form.is_valid() or form.account is None:
        return _login_page(request, form, goal, status=422)
    if TwoFactor.of(form.account) is not None:
        # Makes a session id that an attacker planted worthless.
        request.session.cycle_key()
        login_service.begin_pending_login(
            request.session, form.account.pk, form.account.get_session_auth_hash()
        )
        return redirect(f"{reverse('login_code')}?{urlencode({'next': goal})}")
    return _let_in(request, form.account, goal)


@login_not_required
@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_code(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor after the right password."""
    goal = _goal(request)
    if request.user.is_authenticated:
        return redirect(goal)
    person, factor = _halfway(request)
    if person is None or factor is None:
        return redirect(f"{settings.LOGIN_URL}?{urlencode({'next': goal})}")
    if request.method != "POST":
        return _code_page(request, CodeForm(), goal, minutes=factor.minutes_to_wait)
    if refused := _refused(request, factor, goal):
        return refused
    login_service.forget_pending_login(request.session)
    left = RecoveryCode.left(person)
    if left <= _FEW_CODES:
        count = "one recovery code" if left == 1 else f"{left or 'no'} recovery codes"
        messages.warning(
            request, f"You have {count} left. New ones: Settings → Account → Two-factor."
        )
    return _let_in(request, person, goal)


def _let_in(request: HttpRequest, person: Account, goal: str) -> HttpResponse:
    log_in(request, person, backend=_BACKEND)
    response = redirect(goal)
    login_service.remember_device(request, response, person)
    return response


def _refused(request: HttpRequest, factor: TwoFactor, goal: str) -> HttpResponse | None:
    """Return the answer to a refused code; ``None``: it is accepted."""
    form = CodeForm(request.POST)
    if form.is_valid():
        if factor.try_code(form.cleaned_data["code"]):
            return None
        factor.refresh_from_db()
        if minutes := factor.minutes_to_wait:
            return _code_page(request, CodeForm(), goal, minutes=minutes)
        form.add_error("code", _NO_CODE)
    return _code_page(request, form, goal, status=422)


def _halfway(request: HttpRequest) -> tuple[Account | None, TwoFactor | None]:
    """Return the account of the pending login, unless its password has changed since."""
    found = login_service.read_pending_login(request.session)
    person = Account.objects.filter(pk=found.account, is_active=True).first() if found else None
    if person is None or found is None:
        return None, None
    if not constant_time_compare(person.get_session_auth_hash(), found.proof):
        return None, None
    return person, TwoFactor.of(person)


def _code_page(
    request: HttpRequest, form: CodeForm, goal: str, *, status: int = 200, minutes: int = 0
) -> HttpResponse:
    context = {
        "form": form,
        "next": goal,
        "kept_text": access.newest_form(request.session),
        "locked_minutes": minutes,
    }
    response = render(
        request, "accounts/login_code.html", context, status=429 if minutes else status
    )
    if minutes:
        response["Retry-After"] = str(minutes * 60)
    return response


def _goal(request: HttpRequest) -> str:
    """Return the page after the login: only one of this site that can be opened by GET."""
    goal = request.POST.get("next") or request.GET.get("next") or ""
    if not goal.startswith("/") or not access.is_own_url(request, goal):
        return settings.LOGIN_REDIRECT_URL
    path = goal.partition("?")[0].partition("#")[0]
    if not path.endswith("/"):
        # A form's address takes no GET; its page does.
        goal = path = access.page_of(path)
    try:
        found = resolve(path)
    except Resolver404:
        return settings.LOGIN_REDIRECT_URL
    return settings.LOGIN_REDIRECT_URL if found.url_name in _NO_GOALS else goal


def _login_page(
    request: HttpRequest, form: LoginForm, goal: str, *, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "next": goal,
        "kept_text": access.newest_form(request.session),
        "nothing_stored": access.NOTHING_STORED in (request.GET | request.POST),
    }
    return render(request, "accounts/login.html", context, status=status)


def locked_out(
    request: HttpRequest,
    _response: HttpResponse | None,
    credentials: dict[str, Any] | None,
) -> HttpResponse:
    """Render the login page after too many failures, with the time to wait (called by axes)."""
    cool_off = settings.AXES_COOLOFF_TIME * 3600
    last = (
        AccessAttempt.objects.filter(
            username=access.throttled_name(request, credentials),
            ip_address=access.client_address(request),
        )
        .order_by("-attempt_time")
        .first()
    )
    passed = (timezone.now() - last.attempt_time).total_seconds() if last else 0
    return _locked_page(request, max(60, math.ceil(cool_off - passed)))


def _locked_page(request: HttpRequest, seconds: int) -> HttpResponse:
    minutes = math.ceil(seconds / 60)
    wait = f"{seconds} second" if seconds <= LONGEST_WAIT_SECONDS else f"{minutes} minute"
    context = {
        "form": LoginForm(request=request, initial={"username": request.POST.get("username", "")}),
        "next": _goal(request),
        "kept_text": access.newest_form(request.session),
        "locked_for": wait if wait.startswith("1 ") else f"{wait}s",
    }
    response = render(request, "accounts/login.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    access.account(request)
    log_out(request)
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRedirect(settings.LOGOUT_REDIRECT_URL)
    return redirect(settings.LOGOUT_REDIRECT_URL)


# --- A form that was sent too late ----------------------------------------------------------


@login_not_required
@never_cache
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form from before the last login, or from another site, with its text."""
    if problem := access.get_origin_problem(request, reason):
        return _refuse_origin(request, problem)
    text = access.keep_text(request)
    page = access.way_back(request)
    message = (
        "Nothing was sent: this page is older than your login. Your text is kept; load the page "
        "again to send it."
        if text
        else "Nothing was done: this page is older than your login. Load it again and repeat."
    )
    if request.headers.get("HX-Request") == "true" and access.is_same_site(request):
        return HttpResponseClientRedirect(page)
    if access.is_script(request):
        return JsonResponse({"reload": page, "message": message}, status=403)
    context = {"text": text, "page": page, "message": message}
    return render(request, "accounts/csrf.html", context, status=403)


def _refuse_origin(request: HttpRequest, message: str) -> HttpResponse:
    """Say why; loading the page again would not help."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(message, content_type="text/plain", status=403)
    if access.is_script(request):
        return JsonResponse({"message": message}, status=403)
    text = (
        request.POST.get("text", "")[: access.KEPT_FORM_CHARS]
        if access.is_same_site(request)
        else ""
    )
    context = {"text": text, "page": access.way_back(request), "message": message}
    return render(request, "accounts/csrf.html", context, status=403)
