"""Pages that edit, rename, copy, remove and restore a preset."""

from dataclasses import asdict, replace
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access, connections, endpoints
from jenny.accounts.endpoints import origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.forms import is_fit, waiting_key
from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
from jenny.workspace.config import Config, load_config
from jenny.workspace.errors import WorkspaceError
from settings_ui import privacy
from settings_ui.views.model_presets.form import PresetForm
from settings_ui.views.privacy import chosen_models

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
    told = []
    if uses and uses[0] != "Dream":
        left = {key: row for key, row in config.presets.items() if key != name}
        values = {**config.values, "agents.defaults.model": ""}
        rest = replace(config, presets=left, values=values)
        after = endpoints.choose(rest, "", origins, environment)
        model = "the demo model" if after.is_demo else f"{after.preset.model} ({after.name})"
        told.append(f"It answers in chats now. After that, {model} does, until you choose another.")
    if str(config.get(privacy.OVERRIDE) or "") == name:
        told.append("Dream asks it now. After that, Dream asks the model that answers in chats.")
    if count := chosen.get(name, 0):
        told.append(
            f"{'One conversation' if count == 1 else f'{count:,} conversations'} chose it by name, "
            "and will ask you to choose another model."
        )
    return told or ["It is used for nothing now."]


def _hint(person: Account, base_url: str) -> str:
    """Return the masked key for the address, or an empty string."""
    try:
        place = origin_of(base_url or access.environment().base_url)
    except ConnectionProblem:
        return ""
    row = person.api_keys.filter(origin=place).first()
    return row.hint if row else ""
