"""Settings → Models: presets, keys, and what each is used for."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access, connection_test, connections, endpoints
from jenny.accounts.connections import Found
from jenny.accounts.endpoints import ANTHROPIC, origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.forms import ConnectionForm, is_fit, waiting_key
from jenny.accounts.models import Account, ApiKey, Workspace
from jenny.agent.errors import AgentError
from jenny.chat.models import Conversation
from jenny.workspace.config import Config, load_config
from jenny.workspace.errors import WorkspaceError
from settings_ui.forms import PresetForm
from settings_ui.views import privacy
from settings_ui.views.privacy import chosen_models


@dataclass(frozen=True)
class PresetRow:
    """A model in the list.

    ``key`` says where its key is; ``uses`` names its present uses; ``price`` is empty when
    unknown.
    """

    name: str
    model: str
    address: str
    key: str
    is_current: bool
    is_demo: bool
    can_change: bool
    uses: tuple[str, ...] = ()
    price: str = ""


def row_of(
    config: Config,
    choice: endpoints.Choice,
    stored: dict[str, ApiKey],
    *,
    current: str,
    uses: Iterable[str],
) -> PresetRow:
    """Build the row of one model; *stored* holds the account's keys by origin."""
    return PresetRow(
        name=choice.name,
        model=choice.preset.model,
        address=choice.preset.base_url,
        key="" if choice.is_demo else _key_in_words(choice, stored),
        is_current=choice.name == current,
        is_demo=choice.is_demo,
        can_change=choice.name in config.presets,
        uses=tuple(uses),
        price=_price(choice),
    )


def place_of(choice: endpoints.Choice) -> str:
    """Return the origin of the model's server; empty for an unusable address."""
    try:
        return origin_of(choice.preset.base_url)
    except ConnectionProblem:
        return ""


def _key_in_words(choice: endpoints.Choice, stored: dict[str, ApiKey]) -> str:
    environment = access.environment()
    if not (place := place_of(choice)):
        return "none: the address cannot be used"
    if place in stored:
        row = stored[place]
        return row.hint if row.reveal() is not None else "stored, but no longer readable"
    if environment.key and environment.origin == place:
        return "from the environment"
    return "missing" if place == ANTHROPIC else "none"


def _price(choice: endpoints.Choice) -> str:
    prices = choice.preset.prices
    if prices is None:
        return ""
    return f"${float(prices.input):,.6g} in, ${float(prices.output):,.6g} out a million tokens"


@sensitive_post_parameters("apiKey")
@require_http_methods(["GET", "HEAD", "POST"])
def models_page(request: HttpRequest) -> HttpResponse:
    person, workspace = access.account(request), access.workspace(request)
    if request.method != "POST":
        waiting_key(request)
        return _page(request, person, load_config(workspace.root))
    config = load_config(workspace.root)
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
        form.add_error(None, error.message)
        return _page(request, person, config, form)
    request.session.pop(REMOVED, None)
    messages.success(request, f"Saved. New answers come from {name}, from the next message on.")
    return redirect(PAGE)


@require_POST
def use(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    config = load_config(workspace.root)
    name = request.POST.get("name", "")
    if name not in {choice.name for choice in endpoints.menu(config, access.environment())}:
        raise Http404
    try:
        changed = connections.choose(workspace.root, "" if name == endpoints.ENVIRONMENT else name)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    request.session.pop(REMOVED, None)
    said = "Saved. New answers come" if changed else "Nothing to change: answers come already"
    messages.success(request, f"{said} from {name}.")
    return redirect(PAGE)


@require_POST
def assign(request: HttpRequest) -> HttpResponse:
    """Set the models of chats and of Dream."""
    workspace = access.workspace(request)
    config = load_config(workspace.root)
    model = request.POST.get("model", "")
    dreams = request.POST.get("modelOverride", "")
    known = {choice.name for choice in endpoints.menu(config, access.environment())}
    own = str(config.agents.defaults.model or "")
    if model not in known | {"", own} or (dreams and dreams not in config.presets):
        messages.error(
            request, "Nothing was saved: one of the models was taken away meanwhile. Choose again."
        )
        return redirect(PAGE)
    try:
        changed = connections.assign(
            workspace.root, "" if model == endpoints.ENVIRONMENT else model, dreams
        )
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    said = "Saved, and in use from the next message and run on."
    messages.success(request, said if changed else "Nothing was written: it was like this already.")
    return redirect(PAGE)


@require_POST
def find_servers(request: HttpRequest) -> HttpResponse:
    """Show model servers of this machine; nothing is saved."""
    person, workspace = access.account(request), access.workspace(request)
    found = connections.find_servers(own_port=settings.JENNY_PORT)
    if request.headers.get("HX-Request") == "true":
        return render(request, "includes/found_servers.html", {"found": found})
    return _page(request, person, load_config(workspace.root), found=found)


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Make a preset of a model that was found on this machine."""
    workspace = access.workspace(request)
    url, model = request.POST.get("baseUrl", ""), request.POST.get("model", "")
    if not connections.is_one(url) or not model:
        raise Http404
    config = load_config(workspace.root)
    name = connections.name_for(config.presets, url, model)
    if name in config.presets:
        messages.info(request, f"This model is here already, as {name}.")
        return redirect(PAGE)
    try:
        connections.save_preset(workspace.root, name, {"model": model, "baseUrl": url}, use=False)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    messages.success(request, f"{name} is added. Test it, or use it for chats or for Dream.")
    return redirect(PAGE)


@require_POST
def test(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    name = request.POST.get("name", "")
    try:
        answer = connection_test.test_in_subprocess(*access.model_for(workspace, name, kind="test"))
    except AgentError as error:
        answer = connection_test.Answer(ok=False, message=error.message)
    if request.headers.get("HX-Request") == "true":
        return render(request, "settings/models.html#tested", {"answer": answer})
    (messages.success if answer.ok else messages.error)(request, answer.message)
    return redirect(PAGE)


@require_POST
def remove_key(request: HttpRequest, key_id: int) -> HttpResponseBase:
    person = access.account(request)
    row = person.api_keys.filter(pk=key_id).first()
    if row is None:
        raise Http404
    row.delete()
    messages.success(request, f"The key for {row.origin} is forgotten here. It still works there.")
    return redirect(PAGE)


def _uses(workspace: Workspace, config: Config) -> dict[str, list[str]]:
    origins = set(workspace.owner.api_keys.values_list("origin", flat=True))
    return privacy.used_for(config, access.environment(), origins, chosen_models(workspace))


def _page(
    request: HttpRequest,
    person: Account,
    config: Config,
    form: ConnectionForm | None = None,
    *,
    found: Sequence[Found] | None = None,
) -> HttpResponse:
    environment = access.environment()
    stored = {row.origin: row for row in person.api_keys.order_by("origin")}
    status = HTTPStatus.OK if form is None else HTTPStatus.UNPROCESSABLE_ENTITY
    try:
        current = endpoints.choose(config, "", stored, environment).name
    except ConnectionProblem:
        current = ""
    uses = _uses(access.workspace(request), config)
    context: dict[str, Any] = {
        "found": found,
        "dreams": config.agents.defaults.dream.model_override,
        "presets": sorted(config.presets),
        "form": form
        or ConnectionForm(taken=config.presets, origins=stored, environment=environment),
        "rows": [
            row_of(config, choice, stored, current=current, uses=uses.get(choice.name, ()))
            for choice in endpoints.menu(config, environment)
        ],
        "keys": [
            {
                "row": row,
                "is_readable": row.reveal() is not None,
                "used_by": [
                    choice.name
                    for choice in endpoints.menu(config, environment)
                    if not choice.is_demo and place_of(choice) == row.origin
                ],
            }
            for row in stored.values()
        ],
        "removed": request.session.get(REMOVED),
        "environment_problem": environment.problem,
        "config_notices": config.notices,
        "config_problems": [
            said for key, said in config.problems.items() if key.startswith("modelPresets")
        ],
    }
    return render(request, "settings/models.html", context, status=status)


# Pages that edit, rename, copy, remove and restore a preset.


PAGE = "settings_models"
REMOVED = "removed_preset"


@sensitive_post_parameters("apiKey")
@require_http_methods(["GET", "HEAD", "POST"])
def preset(request: HttpRequest, name: str) -> HttpResponse:
    """Edit a preset; an empty key field keeps the stored key."""
    person, workspace = access.account(request), access.workspace(request)
    config = load_config(workspace.root)
    row = config.presets.get(name)
    if row is None:
        raise Http404
    form = PresetForm(
        request.POST if request.method == "POST" else None,
        row=row,
        taken=config.presets,
        environment=access.environment(),
        waiting=waiting_key(request),
    )
    if request.method == "POST" and form.is_valid() and is_fit(request, form, person):
        try:
            said = _saved(person, workspace, name, form)
        except WorkspaceError as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, said)
            return redirect(PAGE)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else HTTPStatus.OK
    context = {
        "form": form,
        "name": name,
        "key": _hint(person, row.base_url),
        "gone": _if_removed(workspace, config, name),
    }
    return render(request, "settings/preset.html", context, status=status)


@require_POST
def copy(request: HttpRequest, name: str) -> HttpResponse:
    """Make another preset that is like this one, and open it."""
    workspace = access.workspace(request)
    try:
        made = connections.copy(workspace.root, name)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    if not made:
        raise Http404
    messages.success(request, f"{made} is a copy of {name}. Change what is to be different.")
    return redirect("settings_preset", made)


@require_POST
def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a preset; the page offers to undo it. Its key is kept."""
    workspace = access.workspace(request)
    try:
        removed = connections.remove(workspace.root, name)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    if removed is None:
        raise Http404
    request.session[REMOVED] = {"workspace": str(workspace.pk), **asdict(removed)}
    return redirect(PAGE)


@require_POST
def put_back(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    kept = request.session.pop(REMOVED, None)
    if kept is None or kept.pop("workspace") != str(workspace.pk):
        raise Http404
    removed = connections.Removed(**kept)
    try:
        done = connections.put_back(workspace.root, removed)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(PAGE)
    said = "is back" if done else "was made anew meanwhile; that one stays"
    messages.success(request, f"{removed.name} {said}.")
    return redirect(PAGE)


def _saved(person: Account, workspace: Workspace, name: str, form: PresetForm) -> str:
    """Write the changes and return a sentence about them."""
    changed = connections.save_preset(workspace.root, name, form.values(), use=False)
    changed = form.keep_key(person) or changed
    new = form.cleaned_data["name"]
    if new != name:
        if not connections.give_name(workspace.root, name, new):
            return f"{name} was changed or taken away by somebody else meanwhile. Look again."
        # Those in the trash, too: they may be brought back.
        rows = Conversation.all_objects.filter(workspace=workspace, preset=name)
        rows.update(preset=new)
        return f"{name} is called {new} now, and is saved."
    said = "is saved" if changed else "was like this already; nothing was written"
    return f"{name} {said}."


def _if_removed(workspace: Workspace, config: Config, name: str) -> list[str]:
    """List the effects of removing the preset."""
    environment = access.environment()
    origins = set(workspace.owner.api_keys.values_list("origin", flat=True))
    chosen = chosen_models(workspace)
    uses = privacy.used_for(config, environment, origins, {}).get(name, [])
    notes = []
    if uses and uses[0] != "Dream":
        left = {key: row for key, row in config.presets.items() if key != name}
        defaults = config.agents.defaults.model_copy(update={"model": ""})
        agents = config.agents.model_copy(update={"defaults": defaults})
        rest = config.model_copy(update={"agents": agents, "presets": left})
        after = endpoints.choose(rest, "", origins, environment)
        model = "the demo model" if after.is_demo else f"{after.preset.model} ({after.name})"
        notes.append(
            f"It answers in chats now. After that, {model} does, until you choose another."
        )
    if config.agents.defaults.dream.model_override == name:
        notes.append("Dream asks it now. After that, Dream asks the model that answers in chats.")
    if count := chosen.get(name, 0):
        notes.append(
            f"{'One conversation' if count == 1 else f'{count:,} conversations'} chose it by name, "
            "and will ask you to choose another model."
        )
    return notes or ["It is used for nothing now."]


def _hint(person: Account, base_url: str) -> str:
    """Return the masked key for the address, or an empty string."""
    try:
        place = origin_of(base_url or access.environment().base_url)
    except ConnectionProblem:
        return ""
    row = person.api_keys.filter(origin=place).first()
    return row.hint if row else ""
