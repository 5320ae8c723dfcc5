"""Data that leaves this machine and its recipients, computed from the present configuration."""

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from jenny.accounts.endpoints import Choice, Environment, choose, menu, origin_of
from jenny.accounts.errors import ConnectionProblem
from jenny.workspace.config import Config

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
    note(str(config.get(OVERRIDE) or ""), "Dream")
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
