"""What leaves this machine, and to whom: worked out from what is configured now."""

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from jenny.accounts.addresses import origin
from jenny.accounts.endpoints import Choice, Environment, choose, menu
from jenny.accounts.errors import ConnectionProblem
from jenny.workspace.config import Config

OVERRIDE = "agents.defaults.dream.modelOverride"


@dataclass(frozen=True, slots=True)
class Sent:
    """What some kinds of run (``jenny.accounts.usage_kinds``) send to their model."""

    name: str
    kinds: tuple[str, ...]
    what: str


# Every kind of run that asks a model, in the order of the page.
SENT = (
    Sent(
        "Chat",
        ("chat",),
        "Your message and the conversation it stands in, SOUL.md, USER.md, AGENTS.md and "
        "memory/MEMORY.md whole, what the history holds that Dream has not read, the skills, and "
        "whatever Jenny's tools read on the way: files of this workspace, results of Python. In a "
        "project, its pages in place of your memory.",
    ),
    Sent(
        "Titles",
        ("title",),
        "The first message of a conversation and its answer, 2,000 characters of each.",
    ),
    Sent(
        "Summaries",
        ("summary",),
        "What was said and is not summarised yet, secrets taken out, and what is recorded "
        "already, so that it is not recorded twice.",
    ),
    Sent(
        "Dream",
        ("dream", "review", "rehearsal"),
        "Summaries that it has not read yet, the three memory files, the list of skills, and the "
        "archived lines that it looks up; a review pass no summaries. A dry run sends the same.",
    ),
    Sent(
        "Gardener",
        ("gardener",),
        "The new lines of a project's log, and the pages of that project that it reads.",
    ),
    Sent(
        "Test and connecting",
        ("test",),
        "One fixed sentence: “Answer with the one word: hello.”",
    ),
)


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be asked, and for what it is asked now; *uses* is empty: for nothing."""

    name: str
    model: str
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipient:
    """Somebody who is sent what is said. *place*: ``process`` (the demo model, in this program),
    ``machine``, ``network`` or ``elsewhere``; *is_used*: something is sent there now, unasked."""

    host: str
    place: str
    models: tuple[Model, ...]

    @property
    def is_used(self) -> bool:
        """Whether any of the models is asked now."""
        return any(model.uses for model in self.models)

    @property
    def is_outside(self) -> bool:
        """Whether what is sent leaves this machine."""
        return self.place in {"network", "elsewhere"}


def recipients(
    config: Config,
    environment: Environment,
    origins: Collection[str],
    chosen: Mapping[str, int],
) -> list[Recipient]:
    """Who may be sent something, those that are first. *origins*: those with a stored key;
    *chosen*: in how many conversations each model was chosen by name."""
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
    """What each model is asked for, in words, by its name; those asked for nothing are left out."""
    uses: dict[str, list[str]] = {}

    def note(name: str, use: str) -> None:
        try:
            found = choose(config, name, origins, environment).name
        except ConnectionProblem:
            return
        if use not in uses.setdefault(found, []):
            uses[found].append(use)

    note("", "chat, titles and summaries")
    note("", "the gardener")
    note(str(config.get(OVERRIDE) or ""), "Dream")
    for name, count in sorted(chosen.items()):
        note(name, _in_conversations(count))
    return uses


def whereabouts(choice: Choice) -> tuple[str, str]:
    """The host that a model is asked at, and where that is."""
    if choice.is_demo:
        return "Jenny herself", "process"
    try:
        place = origin(choice.preset.base_url)
    except ConnectionProblem:
        return choice.preset.base_url or "no address", "elsewhere"
    return place.partition("://")[2], place_of(place)


def place_of(address: str) -> str:
    """Whether an address is on this ``machine``, in a private ``network``, or ``elsewhere``."""
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


def sentence(found: Sequence[Recipient]) -> str:
    """What it comes to, in one sentence."""
    outside = [one.host for one in found if one.is_used and one.is_outside]
    if not outside:
        return "Nothing leaves this machine: every model that is asked now runs on it."
    return f"What Jenny asks a model goes to {_listed(outside)}, and to nobody else."


def _asked(config: Config, environment: Environment, origins: Collection[str]) -> list[Choice]:
    """Every model that can be asked, the default among them also where no menu lists it."""
    rows = menu(config, environment)
    try:
        default = choose(config, "", origins, environment)
    except ConnectionProblem:
        return rows
    return rows if default.name in {row.name for row in rows} else [default, *rows]


def _is_local_name(host: str) -> bool:
    """Names without a dot, and those that no public server answers for."""
    return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


def _in_conversations(count: int) -> str:
    return "one conversation" if count == 1 else f"{count:,} conversations"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
