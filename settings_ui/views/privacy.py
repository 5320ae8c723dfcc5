"""Settings → Privacy: what leaves this machine, to whom, and the pause of all calls."""

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access
from jenny.accounts.endpoints import Choice, Environment, choose, menu, origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.accounts.models import Workspace
from jenny.accounts.services import usage
from jenny.agent.run_kinds import USAGE_KINDS
from jenny.chat.models import Conversation
from jenny.chat.services import turn_recovery
from jenny.workspace import config
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from memory.services import dream_scheduler
from settings_ui import values

# Data that leaves this machine and its recipients, computed from the present configuration.


OVERRIDE = "agents.defaults.dream.modelOverride"


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked. *uses* names its present uses and is empty when it has none."""

    name: str
    model: str
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient of what is said.

    *place* is ``process`` (the demo model in this program), ``machine``, ``network`` or
    ``elsewhere``. *is_used*: something is sent there now without asking.
    """

    host: str
    place: str
    models: tuple[Model, ...]

    @property
    def is_used(self) -> bool:
        return any(model.uses for model in self.models)

    @property
    def is_outside(self) -> bool:
        return self.place in {"network", "elsewhere"}


def recipients(
    config: Config,
    environment: Environment,
    origins: Collection[str],
    chosen: Mapping[str, int],
) -> list[Recipient]:
    """List the recipients, those in use first.

    *origins* are those with a stored key; *chosen* counts the conversations in which each model
    was chosen by name.
    """
    uses = used_for(config, environment, origins, chosen)
    by_host: dict[str, list[Model]] = {}
    places: dict[str, str] = {}
    for choice in _asked(config, environment, origins):
        host, place = whereabouts(choice)
        places[host] = place
        model = Model(choice.name, choice.preset.model, tuple(uses.get(choice.name, ())))
        by_host.setdefault(host, []).append(model)
    found = [Recipient(host, places[host], tuple(rows)) for host, rows in by_host.items()]
    return sorted(found, key=lambda one: (not one.is_used, not one.is_outside, one.host))


def used_for(
    config: Config,
    environment: Environment,
    origins: Collection[str],
    chosen: Mapping[str, int],
) -> dict[str, list[str]]:
    uses: dict[str, list[str]] = {}

    def note(name: str, use: str) -> None:
        try:
            found = choose(config, name, origins, environment).name
        except ConnectionProblem:
            return
        if use not in uses.setdefault(found, []):
            uses[found].append(use)

    note("", "chat, titles and summaries")
    note("", "tidying of projects")
    note(config.agents.defaults.dream.model_override, "Dream")
    for name, count in sorted(chosen.items()):
        note(name, _in_conversations(count))
    return uses


def whereabouts(choice: Choice) -> tuple[str, str]:
    if choice.is_demo:
        return "Jenny herself", "process"
    try:
        place = origin_of(choice.preset.base_url)
    except ConnectionProblem:
        return choice.preset.base_url or "no address", "elsewhere"
    return place.partition("://")[2], place_of(place)


def place_of(address: str) -> str:
    host = (urlsplit(address).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return "machine"
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return "network" if _is_local_name(host) else "elsewhere"
    if number.is_loopback:
        return "machine"
    return "network" if number.is_private else "elsewhere"


def message(found: Sequence[Recipient]) -> str:
    outside = [one.host for one in found if one.is_used and one.is_outside]
    if not outside:
        return "Nothing leaves this machine: every model that is asked now runs on it."
    return f"What Jenny asks a model goes to {_listed(outside)}, and to nobody else."


def _asked(config: Config, environment: Environment, origins: Collection[str]) -> list[Choice]:
    """List the models that can be asked, with the default even when no menu lists it."""
    rows = menu(config, environment)
    try:
        default = choose(config, "", origins, environment)
    except ConnectionProblem:
        return rows
    return rows if default.name in {row.name for row in rows} else [default, *rows]


def _is_local_name(host: str) -> bool:
    """True for names without a dot and for reserved local domains."""
    return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


def _in_conversations(count: int) -> str:
    return "one conversation" if count == 1 else f"{count:,} conversations"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_FIELD = config.BY_KEY[usage.PAUSE]


@require_http_methods(["GET", "HEAD", "POST"])
def privacy_page(request: HttpRequest) -> HttpResponse:
    """Show the page; a POST pauses or resumes model calls."""
    workspace = access.workspace(request)
    if request.method != "POST":
        return _page(request, workspace)
    sent = {name: texts[-1] for name, texts in request.POST.lists() if texts}
    before = config.load_config(workspace.root)
    asked = values.asked_of(before, [_FIELD], sent)
    if not asked.values:
        problem = asked.problems.get(_FIELD.key, "Say whether to pause or to resume.")
        return _page(request, workspace, problem)
    wants = bool(asked.values[_FIELD.key])
    try:
        changed = config.change_config(
            workspace.root, lambda data: values.write_into(data, before, asked.values)
        )
    except WorkspaceError as error:
        return _page(request, workspace, error.message)
    messages.success(request, _said(workspace, wants=wants, changed=changed))
    return redirect(request.path)


def chosen_models(workspace: Workspace) -> dict[str, int]:
    """Count the conversations in which each model was chosen by name."""
    rows = Conversation.objects.filter(workspace=workspace).exclude(preset="")
    counted = rows.values_list("preset").annotate(count=Count("pk"))
    return dict(counted.order_by("preset"))


def _said(workspace: Workspace, *, wants: bool, changed: bool) -> str:
    """Return a sentence about the change. Resuming starts what waited."""
    if wants:
        return (
            "All model calls are paused. Answers under way end within a second or two; what was "
            "written is kept."
            if changed
            else "All model calls were paused already."
        )
    if not changed:
        return "Model calls were not paused."
    dream_scheduler.catch_up(workspace)
    going = turn_recovery.resume(workspace)
    if not going:
        return "Model calls are resumed."
    if going == 1:
        return "Model calls are resumed. One conversation goes on where it stopped."
    return f"Model calls are resumed. {going:,} conversations go on where they stopped."


def _page(request: HttpRequest, workspace: Workspace, problem: str = "") -> HttpResponse:
    found = config.load_config(workspace.root)
    origins = set(workspace.owner.api_keys.values_list("origin", flat=True))
    rows = recipients(found, access.environment(), origins, chosen_models(workspace))
    context = {
        "recipients": rows,
        "message": message(rows),
        "sent": USAGE_KINDS.values(),
        "is_paused": found.privacy.pause_model_calls,
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "settings/privacy.html", context, status=status)
