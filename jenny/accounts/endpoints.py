"""Chooses the model, its address and its key; cleans them as people paste them.

A name is looked up in this order: the conversation's own choice, ``agents.defaults.model``. It may
be

* a preset of ``modelPresets``;
* ``environment``: the model of ``ANTHROPIC_API_KEY``, ``ANTHROPIC_BASE_URL`` and ``JENNY_MODEL``;
* ``demo``: the built-in demo model;
* empty, or a model's own name: that model at the environment's address, which is
  Anthropic's unless it says otherwise. Without any key that is the demo model.

Keys are bound to the origin they were entered for. The environment's key is sent to the
environment's origin only, and a stored key for that origin comes before it.

Names of Anthropic's models are suggested. They are read from the SDK's source: importing the SDK
would cost the web server a second and 60 MB for a list of words.
"""

import ast
import functools
import importlib.util
import os
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Self

from jenny.accounts.errors import BadAddress, BadKey, KeyMissing, UnknownPreset
from jenny.agent import addresses, demo
from jenny.agent.errors import NoAddress
from jenny.agent.preset import Endpoint, Preset
from jenny.agent.tokens import Prices
from jenny.workspace.config import Config, PresetConfig

ANTHROPIC = "https://api.anthropic.com"
_LONGEST_KEY = 500


def clean_base_url(given: str) -> str:
    """Return the address of a server of the Messages API, without the API's own route.

    :raises BadAddress: it is no address, or has parts that do not belong there.
    """
    try:
        return addresses.clean(given)
    except NoAddress as error:
        raise BadAddress(error.message) from error


def origin_of(base_url: str) -> str:
    """Return scheme, host and port of *base_url* in one spelling: a key is bound to them.

    :raises BadAddress: it is no address.
    """
    try:
        return addresses.origin(base_url)
    except NoAddress as error:
        raise BadAddress(error.message) from error


def clean_key(given: str) -> str:
    """Return an API key without the white space that pasting adds; may be empty.

    :raises BadKey: it could not be sent as a header.
    """
    key = given.strip()
    if len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        message = (
            "This does not look like an API key: a key is one word of plain letters, digits "
            "and signs. Copy it again."
        )
        raise BadKey(message)
    return key


_FALLBACK = ("claude-sonnet-5-5",)


@functools.cache
def known_models() -> tuple[str, ...]:
    """Return the names that the installed SDK knows, in its order."""
    spec = importlib.util.find_spec("anthropic")
    if spec is None or spec.origin is None:
        return _FALLBACK
    try:
        source = (Path(spec.origin).parent / "types" / "model.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
    except (OSError, SyntaxError):
        return _FALLBACK
    words = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    names = (word for word in words if isinstance(word, str) and word.startswith("claude-"))
    return tuple(dict.fromkeys(names)) or _FALLBACK


def suggested_model() -> str:
    return next((name for name in known_models() if "sonnet" in name), known_models()[0])


DEMO = "demo"
ENVIRONMENT = "environment"
DEFAULT = "default"
RESERVED = frozenset({DEMO, ENVIRONMENT, DEFAULT})
# A name that can be typed after /model.
PRESET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
# Token budgets for low, medium and high; the API's minimum is the least of them.
_THINKING_TOKENS = {"low": 2_048, "medium": 8_192, "high": 24_576}
_LEAST_THINKING_TOKENS = 1_024


@dataclass(frozen=True)
class Environment:
    key: str = ""
    base_url: str = ANTHROPIC
    model: str = ""
    # Describes invalid variables, which are then ignored.
    problem: str = ""

    def __repr__(self) -> str:
        return f"Environment({self.base_url!r}, {self.model!r})"

    @classmethod
    def read(cls, key: str, base_url: str, model: str) -> Self:
        """Read the variables' values; an invalid address is reported in ``problem``."""
        try:
            return cls(key, clean_base_url(base_url or ANTHROPIC), model)
        except BadAddress as error:
            return cls(problem=f"ANTHROPIC_BASE_URL cannot be used. {error.message}")

    @property
    def is_set(self) -> bool:
        return bool(self.key) or self.origin != ANTHROPIC

    @property
    def origin(self) -> str:
        return origin_of(self.base_url)


@dataclass(frozen=True)
class Choice:
    """A model that can be chosen by *name*; ``preset`` has its address and parameters."""

    name: str
    preset: Preset
    is_demo: bool = False


_DEMO = Choice(DEMO, Preset(name=DEMO, model="demo"), is_demo=True)


def choose(config: Config, name: str, origins: Collection[str], env: Environment) -> Choice:
    """Return the model for *name* (empty: the default); *origins*: those with a stored key.

    :raises UnknownPreset: *name* does not exist.
    """
    default = str(config.agents.defaults.model or "").strip()
    wanted = "" if name == DEFAULT else name
    if wanted and wanted not in config.presets and wanted not in RESERVED:
        raise UnknownPreset(wanted)
    wanted = wanted or default
    if wanted in config.presets:
        return Choice(wanted, _preset(config, wanted, config.presets[wanted], env))
    if wanted == DEMO:
        return _DEMO
    if not env.is_set and env.origin not in origins and wanted != ENVIRONMENT:
        return _DEMO
    model = env.model if wanted in RESERVED or not wanted else wanted
    return Choice(ENVIRONMENT, _environment_preset(config, model, env))


def resolve(
    config: Config, preset_name: str, keys: Mapping[str, str], env: Environment
) -> tuple[Endpoint, Preset]:
    """Return endpoint and preset of the model for *preset_name*; *keys* are by origin.

    :raises UnknownPreset, KeyMissing, BadAddress: it cannot be asked; the sentence says why.
    """
    choice = choose(config, preset_name, keys, env)
    if choice.is_demo:
        base_url = demo_url()
        return Endpoint(base_url, is_demo=True), replace(choice.preset, base_url=base_url)
    base_url = clean_base_url(choice.preset.base_url)
    place = origin_of(base_url)
    key = keys.get(place, "") or (env.key if place == env.origin else "")
    if not key and place == ANTHROPIC:
        raise KeyMissing(choice.name, place)
    return Endpoint(base_url, key), replace(choice.preset, base_url=base_url)


def menu(config: Config, env: Environment) -> list[Choice]:
    """List all models that can be chosen by name: presets, the environment's, the demo model."""
    choices = [
        Choice(name, _preset(config, name, row, env)) for name, row in config.presets.items()
    ]
    if env.is_set:
        choices.append(Choice(ENVIRONMENT, _environment_preset(config, env.model, env)))
    return choices if DEMO in config.presets else [*choices, _DEMO]


def _preset(config: Config, name: str, row: PresetConfig, env: Environment) -> Preset:
    max_tokens = row.max_tokens or config.agents.defaults.max_tokens
    return Preset(
        name=name,
        model=row.model or env.model or suggested_model(),
        base_url=row.base_url or env.base_url,
        max_tokens=max_tokens,
        temperature=(
            config.agents.defaults.temperature if row.temperature is None else row.temperature
        ),
        thinking=_thinking(row.thinking, max_tokens),
        prices=_prices(row),
        takes_pictures=row.pictures != "off",
    )


def _thinking(setting: str, max_tokens: int) -> str:
    """Return the setting for the client: a word, or tokens, which are part of the reply's."""
    budget = _THINKING_TOKENS.get(setting)
    if budget is None:
        return setting
    room = max_tokens // 2
    return str(min(budget, room)) if room >= _LEAST_THINKING_TOKENS else ""


def _environment_preset(config: Config, model: str, env: Environment) -> Preset:
    return Preset(
        name=ENVIRONMENT,
        model=model or suggested_model(),
        base_url=env.base_url,
        max_tokens=config.agents.defaults.max_tokens,
        temperature=config.agents.defaults.temperature,
    )


def _prices(row: PresetConfig) -> Prices | None:
    """Return the preset's prices; ``None`` unless both required ones are set."""
    if row.input_price is None or row.output_price is None:
        return None
    return Prices(
        input=Decimal(str(row.input_price)),
        output=Decimal(str(row.output_price)),
        cache_read=_decimal(row.cache_read_price),
        cache_write=_decimal(row.cache_write_price),
    )


def _decimal(number: float | None) -> Decimal | None:
    return None if number is None else Decimal(str(number))


class _Demo:
    """The process's demo server, started on first use."""

    lock = threading.Lock()
    url = ""
    # A fork inherits the address but not the thread of the server.
    process = 0


def demo_url(*, pace: float = demo.PACE) -> str:
    """Return the address of this process's demo model. The first caller decides how fast it is, in
    seconds a word."""
    with _Demo.lock:
        if _Demo.process != os.getpid():
            _Demo.url, _Demo.process = demo.serve(pace=pace).url, os.getpid()
        return _Demo.url
