"""Which model is asked, where, and with which key.

A name is looked up in this order: the conversation's own choice, ``agents.defaults.model``.
It may be

* a preset of ``modelPresets``;
* ``environment``: what ``ANTHROPIC_API_KEY``, ``ANTHROPIC_BASE_URL`` and ``JENNY_MODEL`` say;
* ``demo``: the built-in demo model;
* empty, or a model's own name: that model at the environment's address, which is
  Anthropic's unless it says otherwise. Without any key that is the demo model.

Keys are bound to the origin they were entered for. The environment's key goes to the
environment's origin only, and a stored key for that origin comes before it.
"""

import os
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Self

from jenny.accounts import model_names
from jenny.accounts.addresses import ANTHROPIC, clean_base_url, origin
from jenny.accounts.errors import BadAddress, KeyMissing, UnknownPreset
from jenny.agent import demo
from jenny.agent.preset import Endpoint, Preset
from jenny.agent.pricing import Prices
from jenny.workspace.config import Config, PresetConfig

DEMO = "demo"
ENVIRONMENT = "environment"
DEFAULT = "default"
RESERVED = frozenset({DEMO, ENVIRONMENT, DEFAULT})
# What a preset may be called: it is typed after /model.
PRESET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
# What low, medium and high mean; the API takes no fewer than the least.
_THINKING_TOKENS = {"low": 2_048, "medium": 8_192, "high": 24_576}
_LEAST_THINKING_TOKENS = 1_024


@dataclass(frozen=True)
class Environment:
    """What the environment's variables say about a model."""

    key: str = ""
    base_url: str = ANTHROPIC
    model: str = ""
    # What is wrong with the variables, which then count for nothing.
    problem: str = ""

    def __repr__(self) -> str:
        """Without the key."""
        return f"Environment({self.base_url!r}, {self.model!r})"

    @classmethod
    def read(cls, key: str, base_url: str, model: str) -> Self:
        """Take the variables' values; an address that is none is told in ``problem``."""
        try:
            return cls(key, clean_base_url(base_url or ANTHROPIC), model)
        except BadAddress as error:
            return cls(problem=f"ANTHROPIC_BASE_URL cannot be used. {error.sentence}")

    @property
    def is_set(self) -> bool:
        """Whether it names a model that can be asked."""
        return bool(self.key) or self.origin != ANTHROPIC

    @property
    def origin(self) -> str:
        """Where its key may go."""
        return origin(self.base_url)


@dataclass(frozen=True)
class Choice:
    """A model that can be chosen by *name*; ``preset`` says where and how it is asked."""

    name: str
    preset: Preset
    is_demo: bool = False


_DEMO = Choice(DEMO, Preset(name=DEMO, model="demo"), is_demo=True)


def choose(config: Config, name: str, origins: Collection[str], env: Environment) -> Choice:
    """The model meant by *name* (empty: the default's); *origins*: those with a stored key.

    :raises UnknownPreset: *name* is none of those that exist.
    """
    default = str(config.get("agents.defaults.model") or "").strip()
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
    """Where to ask the model meant by *preset_name*, and how; *keys* by origin.

    :raises UnknownPreset, KeyMissing, BadAddress: it cannot be asked; the sentence says why.
    """
    choice = choose(config, preset_name, keys, env)
    if choice.is_demo:
        base_url = demo_url()
        return Endpoint(base_url, is_demo=True), replace(choice.preset, base_url=base_url)
    base_url = clean_base_url(choice.preset.base_url)
    place = origin(base_url)
    key = keys.get(place, "") or (env.key if place == env.origin else "")
    if not key and place == ANTHROPIC:
        raise KeyMissing(choice.name, place)
    return Endpoint(base_url, key), replace(choice.preset, base_url=base_url)


def menu(config: Config, env: Environment) -> list[Choice]:
    """All models that can be chosen by name: the presets, the environment's, the demo model."""
    choices = [
        Choice(name, _preset(config, name, row, env)) for name, row in config.presets.items()
    ]
    if env.is_set:
        choices.append(Choice(ENVIRONMENT, _environment_preset(config, env.model, env)))
    return choices if DEMO in config.presets else [*choices, _DEMO]


def _preset(config: Config, name: str, row: PresetConfig, env: Environment) -> Preset:
    max_tokens = row.max_tokens or config.get("agents.defaults.maxTokens")
    return Preset(
        name=name,
        model=row.model or env.model or model_names.suggested(),
        base_url=row.base_url or env.base_url,
        max_tokens=max_tokens,
        temperature=(
            config.get("agents.defaults.temperature")
            if row.temperature is None
            else row.temperature
        ),
        thinking=_thinking(row.thinking, max_tokens),
        prices=_prices(row),
    )


def _thinking(setting: str, max_tokens: int) -> str:
    """The setting as the client takes it: a word, or tokens, which are part of the reply's."""
    budget = _THINKING_TOKENS.get(setting)
    if budget is None:
        return setting
    room = max_tokens // 2
    return str(min(budget, room)) if room >= _LEAST_THINKING_TOKENS else ""


def _environment_preset(config: Config, model: str, env: Environment) -> Preset:
    return Preset(
        name=ENVIRONMENT,
        model=model or model_names.suggested(),
        base_url=env.base_url,
        max_tokens=config.get("agents.defaults.maxTokens"),
        temperature=config.get("agents.defaults.temperature"),
    )


def _prices(row: PresetConfig) -> Prices | None:
    """The preset's prices; ``None`` unless both of the necessary ones are there."""
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
    """The process's demo server, started when it is first needed."""

    lock = threading.Lock()
    url = ""
    # A fork inherits the address but not the thread that answers there.
    process = 0


def demo_url() -> str:
    """The address of this process's demo model."""
    with _Demo.lock:
        if _Demo.process != os.getpid():
            _Demo.url, _Demo.process = demo.serve().url, os.getpid()
        return _Demo.url
