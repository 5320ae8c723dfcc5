"""Settings → Models: which model answers, presets, keys, and whether a connection works."""

from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access, connections, endpoints, probe
from jenny.accounts.addresses import ANTHROPIC, origin
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.forms import ConnectionForm, is_fit, waiting_key
from jenny.accounts.models import Account, ApiKey
from jenny.agent.errors import AgentError
from jenny.workspace.config import Config, load
from jenny.workspace.errors import WorkspaceError
from settings_ui.forms import PresetForm

_PAGE = "settings_models"
_REMOVED = "removed_preset"


@dataclass(frozen=True)
class Row:
    """A model that can be chosen, as the page lists it. ``key`` says in words where its key is."""

    name: str
    model: str
    address: str
    key: str
    is_current: bool
    is_demo: bool
    can_change: bool


@sensitive_post_parameters("apiKey")
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """List what can be chosen; by POST, make a preset or choose another connection."""
    person, workspace = access.account(request), access.workspace(request)
    if request.method != "POST":
        waiting_key(request)
        return _page(request, person, load(workspace.root))
    config = load(workspace.root)
    form = ConnectionForm(
        request.POST,
        taken=config.presets,
        origins=person.keys(),
        environment=access.environment(),
        waiting=waiting_key(request),
    )
    if not form.is_valid() or not is_fit(request, form, person):
        return _page(request, person, config, form)
    try:
        name = form.save(person, workspace.root)
    except WorkspaceError as error:
        form.add_error(None, error.sentence)
        return _page(request, person, config, form)
    request.session.pop(_REMOVED, None)
    messages.success(request, f"Saved. New answers come from {name}, from the next message on.")
    return redirect(_PAGE)


@require_POST
def use(request: HttpRequest) -> HttpResponse:
    """Make one of the models the default."""
    workspace = access.workspace(request)
    config = load(workspace.root)
    name = request.POST.get("name", "")
    if name not in {choice.name for choice in endpoints.menu(config, access.environment())}:
        raise Http404
    try:
        changed = connections.choose(workspace.root, "" if name == endpoints.ENVIRONMENT else name)
    except WorkspaceError as error:
        messages.error(request, error.sentence)
        return redirect(_PAGE)
    request.session.pop(_REMOVED, None)
    said = "Saved. New answers come" if changed else "Nothing to change: answers come already"
    messages.success(request, f"{said} from {name}.")
    return redirect(_PAGE)


@require_POST
def test(request: HttpRequest) -> HttpResponse:
    """Make one real call and say how it went."""
    workspace = access.workspace(request)
    name = request.POST.get("name", "")
    try:
        answer = probe.ask_apart(*access.model_for(workspace, name, kind="test"))
    except AgentError as error:
        answer = probe.Answer(ok=False, sentence=error.sentence)
    if request.headers.get("HX-Request") == "true":
        return render(request, "settings/models.html#tested", {"answer": answer})
    (messages.success if answer.ok else messages.error)(request, answer.sentence)
    return redirect(_PAGE)


@sensitive_post_parameters("apiKey")
@require_http_methods(["GET", "HEAD", "POST"])
def preset(request: HttpRequest, name: str) -> HttpResponse:
    """Change a preset; an empty key field leaves the stored key alone."""
    person, workspace = access.account(request), access.workspace(request)
    row = load(workspace.root).presets.get(name)
    if row is None:
        raise Http404
    form = PresetForm(
        request.POST if request.method == "POST" else None,
        row=row,
        environment=access.environment(),
        waiting=waiting_key(request),
    )
    if request.method == "POST" and form.is_valid() and is_fit(request, form, person):
        try:
            changed = connections.put(workspace.root, name, form.values(), use=False)
            changed = form.keep_key(person) or changed
        except WorkspaceError as error:
            form.add_error(None, error.sentence)
        else:
            said = "is saved" if changed else "was like this already; nothing was written"
            messages.success(request, f"{name} {said}.")
            return redirect(_PAGE)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    context = {"form": form, "name": name, "key": _hint(person, row.base_url)}
    return render(request, "settings/preset.html", context, status=status)


@require_POST
def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Take a preset away; the page offers to put it back. Its key stays."""
    workspace = access.workspace(request)
    try:
        removed = connections.remove(workspace.root, name)
    except WorkspaceError as error:
        messages.error(request, error.sentence)
        return redirect(_PAGE)
    if removed is None:
        raise Http404
    request.session[_REMOVED] = {"workspace": str(workspace.pk), **asdict(removed)}
    return redirect(_PAGE)


@require_POST
def put_back(request: HttpRequest) -> HttpResponse:
    """Undo the removal of a preset."""
    workspace = access.workspace(request)
    kept = request.session.pop(_REMOVED, None)
    if kept is None or kept.pop("workspace") != str(workspace.pk):
        raise Http404
    removed = connections.Removed(**kept)
    try:
        done = connections.put_back(workspace.root, removed)
    except WorkspaceError as error:
        messages.error(request, error.sentence)
        return redirect(_PAGE)
    said = "is back" if done else "was made anew meanwhile; that one stays"
    messages.success(request, f"{removed.name} {said}.")
    return redirect(_PAGE)


@require_POST
def remove_key(request: HttpRequest, key_id: int) -> HttpResponseBase:
    """Forget a stored key."""
    person = access.account(request)
    row = person.api_keys.filter(pk=key_id).first()
    if row is None:
        raise Http404
    row.delete()
    messages.success(request, f"The key for {row.origin} is forgotten here. It still works there.")
    return redirect(_PAGE)


def _page(
    request: HttpRequest, person: Account, config: Config, form: ConnectionForm | None = None
) -> HttpResponse:
    environment = access.environment()
    stored = {row.origin: row for row in person.api_keys.order_by("origin")}
    status = HTTPStatus.OK if form is None else HTTPStatus.UNPROCESSABLE_ENTITY
    try:
        current = endpoints.choose(config, "", stored, environment).name
    except ConnectionProblem:
        current = ""
    context: dict[str, Any] = {
        "form": form
        or ConnectionForm(taken=config.presets, origins=stored, environment=environment),
        "rows": [
            _row(config, choice, stored, current=current)
            for choice in endpoints.menu(config, environment)
        ],
        "keys": [{"row": row, "is_readable": row.reveal() is not None} for row in stored.values()],
        "removed": request.session.get(_REMOVED),
        "environment_problem": environment.problem,
        "config_notices": config.notices,
        "config_problems": [
            said for key, said in config.problems.items() if key.startswith("modelPresets")
        ],
    }
    return render(request, "settings/models.html", context, status=status)


def _row(
    config: Config, choice: endpoints.Choice, stored: dict[str, ApiKey], *, current: str
) -> Row:
    return Row(
        name=choice.name,
        model=choice.preset.model,
        address=choice.preset.base_url,
        key="" if choice.is_demo else _key_in_words(choice, stored),
        is_current=choice.name == current,
        is_demo=choice.is_demo,
        can_change=choice.name in config.presets,
    )


def _key_in_words(choice: endpoints.Choice, stored: dict[str, ApiKey]) -> str:
    environment = access.environment()
    try:
        place = origin(choice.preset.base_url)
    except ConnectionProblem:
        return "none: the address cannot be used"
    if place in stored:
        row = stored[place]
        return row.hint if row.reveal() is not None else "stored, but no longer readable"
    if environment.key and environment.origin == place:
        return "from the environment"
    return "missing" if place == ANTHROPIC else "none"


def _hint(person: Account, base_url: str) -> str:
    """The masked key stored for the address, or nothing."""
    try:
        place = origin(base_url or access.environment().base_url)
    except ConnectionProblem:
        return ""
    row = person.api_keys.filter(origin=place).first()
    return row.hint if row else ""
