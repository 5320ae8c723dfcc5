"""What the settings are: the values of a ``config.json``, its presets, and what is wrong in it."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jenny.workspace.config import document
from jenny.workspace.config.document import Raw, lookup
from jenny.workspace.config.fields import BY_KEY, PRESET_FIELDS
from jenny.workspace.config.kinds import Field, Value, names_secret
from jenny.workspace.names import shown

type Origin = Literal["file", "bak", "defaults"]

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_ALLOWED = re.compile(r"JENNY_VAR_[A-Za-z0-9_]+")
_PRESET_NAME = re.compile(r"[^\W_][\w .:+-]{0,63}")
SAFETY_TOKENS = 1_024


@dataclass(frozen=True)
class PresetConfig:
    """A model preset as it is configured; ``None`` or empty: as for all models.

    Prices are US dollars a million tokens.
    """

    name: str
    model: str = ""
    base_url: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    thinking: str = ""
    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None


@dataclass(frozen=True)
class Config:
    """The settings of a workspace.

    ``problems`` maps the key of each setting that cannot be used to its sentence; an earlier
    value or the default stands in for it. ``notices`` are sentences about the file as a whole.
    ``origin``: where the values are from (``bak``: an earlier copy).
    """

    values: Mapping[str, Value]
    presets: Mapping[str, PresetConfig] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    origin: Origin = "defaults"
    notices: tuple[str, ...] = ()
    set_keys: frozenset[str] = frozenset()

    def get(self, key: str) -> Any:
        """The value of a setting, by its dotted key.

        Raises:
            KeyError: there is no such setting.
        """
        return self.values[key]


@dataclass(frozen=True)
class Reading:
    """What one object says: usable values, and problems by key."""

    values: dict[str, Value]
    presets: dict[str, PresetConfig]
    problems: dict[str, str]
    variables: dict[str, str | None]


def read(raw: Raw, fallbacks: Sequence[Raw] = ()) -> Reading:
    """Take the values out of *raw*; where one is wrong, out of the first of *fallbacks* that has
    a right one, else the default."""
    reading = Reading({}, {}, {}, {})
    for key, row in BY_KEY.items():
        reading.values[key] = _value(reading, row, key, (raw, *fallbacks))
    _read_presets(reading, raw, fallbacks)
    _check_together(reading, raw)
    return reading


def _value(reading: Reading, row: Field, key: str, sources: Sequence[Raw]) -> Value:
    """One setting's value; a problem in the first source is noted."""
    path = tuple(key.split(".")) if row.key == key else _preset_path(key)
    for index, source in enumerate(sources):
        found, stored = lookup(source, path)
        if not found and index == 0 and not _is_blocked(source, path):
            return row.default
        if not found:
            continue
        try:
            value = _resolved(row, stored, reading.variables)
        except ValueError as error:
            if index == 0:
                reading.problems[key] = f"{key} {error}."
            continue
        if key in reading.problems:
            reading.problems[key] += f" Its earlier value, {_plain(value)}, is used until then."
        return value
    if key in reading.problems:
        reading.problems[key] += f" The default, {_plain(row.default)}, is used until then."
    return row.default


def _is_blocked(raw: Raw, path: tuple[str, ...]) -> bool:
    """Whether something that is no object stands where the setting's section should be."""
    for depth in range(1, len(path)):
        found, section = lookup(raw, path[:depth])
        if not found:
            return False
        if not isinstance(section, dict):
            return True
    return False


def _resolved(row: Field, stored: object, variables: dict[str, str | None]) -> Value:
    """The stored value with ``${JENNY_VAR_…}`` filled in, checked."""
    if not isinstance(stored, str) or "${" not in stored:
        return row.check(stored)
    for name in _VARIABLE.findall(stored):
        if not _ALLOWED.fullmatch(name):
            message = f"names ${{{shown(name)[1:-1]}}}; only JENNY_VAR_… variables can be named"
            raise ValueError(message)
        variables[name] = os.environ.get(name)
        if variables[name] is None:
            message = f"names ${{{name}}}, which is not set"
            raise ValueError(message)
    if "${" in _VARIABLE.sub("", stored):
        message = "holds ${ without its end, or one inside another"
        raise ValueError(message)
    return row.from_text(_VARIABLE.sub(lambda match: variables[match[1]] or "", stored))


def _read_presets(reading: Reading, raw: Raw, fallbacks: Sequence[Raw]) -> None:
    """The model presets."""
    found, section = lookup(raw, ("modelPresets",))
    if found and not isinstance(section, dict):
        reading.problems["modelPresets"] = "modelPresets holds no object; earlier presets are used."
        sections = [lookup(source, ("modelPresets",))[1] for source in fallbacks]
        section = next((earlier for earlier in sections if isinstance(earlier, dict)), {})
    for name, stored in (section or {}).items():
        prefix = f"modelPresets.{name}"
        if not _PRESET_NAME.fullmatch(name):
            reading.problems[prefix] = (
                f"The preset {shown(name)} is left out: a name has 1 to 64 letters, digits, "
                "spaces and . : + - _, and begins with a letter or digit."
            )
        elif not isinstance(stored, dict):
            reading.problems[prefix] = f"The preset {shown(name)} is left out: it holds no object."
        else:
            sources = ({"modelPresets": section}, *fallbacks)
            given = {
                row.name: _value(reading, row, f"{prefix}.{row.name}", sources)
                for row in PRESET_FIELDS.values()
            }
            reading.presets[name] = _preset(name, given)


def _preset_path(key: str) -> tuple[str, ...]:
    """``modelPresets.<name>.<field>``, where the name may hold dots."""
    first, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    return (first, name, last)


def _preset(name: str, given: Mapping[str, Any]) -> PresetConfig:
    return PresetConfig(
        name=name,
        model=given["model"],
        base_url=given["baseUrl"],
        max_tokens=given["maxTokens"],
        temperature=given["temperature"],
        thinking=given["thinking"],
        input_price=given["inputPrice"],
        output_price=given["outputPrice"],
        cache_read_price=given["cacheReadPrice"],
        cache_write_price=given["cacheWritePrice"],
    )


def _check_together(reading: Reading, raw: Raw) -> None:
    """What is wrong only in the sight of other settings, or of the file as a whole."""
    for section in sorted({key.rpartition(".")[0] for key in BY_KEY} | {"agents"}):
        found, stored = lookup(raw, tuple(section.split(".")))
        if found and not isinstance(stored, dict):
            reading.problems[section] = f"{section} holds no object, so its settings are not read."
    if document.version(raw) == 0 and document.VERSION_KEY in raw:
        reading.problems[document.VERSION_KEY] = "configVersion is no whole number; it is ignored."
    override = "agents.defaults.dream.modelOverride"
    chosen = reading.values[override]
    if chosen and chosen not in reading.presets:
        reading.problems[override] = (
            f"{override} names the preset {shown(str(chosen))}, which does not exist; "
            "Dream uses the main model."
        )
        reading.values[override] = ""
    window = int(reading.values["agents.defaults.contextWindowTokens"] or 0)
    reply = int(reading.values["agents.defaults.maxTokens"] or 0)
    if window - reply - SAFETY_TOKENS <= 0:
        reading.problems["agents.defaults.contextWindowTokens"] = (
            f"A context window of {window:,} tokens leaves no room for a conversation beside "
            f"replies of {reply:,}; raise the one or lower agents.defaults.maxTokens."
        )


def secrets_in(raw: object, path: str = "") -> list[str]:
    """The dotted paths of settings that by their name hold a secret; none belongs in the file."""
    found: list[str] = []
    if isinstance(raw, dict):
        for key, value in raw.items():
            if isinstance(value, str) and value and names_secret(key):
                found.append(f"{path}{key}")
            found += secrets_in(value, f"{path}{key}.")
    elif isinstance(raw, list):
        for value in raw:
            found += secrets_in(value, path)
    return found


def _plain(value: Value) -> str:
    """A value as it may stand in a sentence."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None or value == "" else f"{value}"
