from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access, connection_test, connections, endpoints, local_servers
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.forms import ConnectionForm, is_fit, waiting_key
from jenny.accounts.local_servers import Found
from jenny.accounts.models import Account, Workspace
from jenny.agent.errors import AgentError
from jenny.workspace.config import Config, load_config
from jenny.workspace.errors import WorkspaceError
from settings_ui import privacy
from settings_ui.views.model_presets.preset import PAGE, REMOVED
from settings_ui.views.model_presets.rows import place_of, row_of
from settings_ui.views.privacy import chosen_models


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
    own = str(config.get("agents.defaults.model") or "")
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
    found = local_servers.find_servers(own_port=settings.JENNY_PORT)
    if request.headers.get("HX-Request") == "true":
        return render(request, "includes/found_servers.html", {"found": found})
    return _page(request, person, load_config(workspace.root), found=found)


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Make a preset of a model that was found on this machine."""
    workspace = access.workspace(request)
    url, model = request.POST.get("baseUrl", ""), request.POST.get("model", "")
    if not local_servers.is_one(url) or not model:
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
        "dreams": config.get(privacy.OVERRIDE) or "",
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
