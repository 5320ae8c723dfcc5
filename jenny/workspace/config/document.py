"""Parse the text of ``config.json`` into values, presets and problems, and render it.

camelCase is written; snake_case is read too. Unknown keys stay as they are.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic.alias_generators import to_camel as to_camel_case

from jenny.workspace.config import fields
from jenny.workspace.config.fields import BY_KEY, FIELDS, PRESET_FIELDS, PresetConfig, Settings
from jenny.workspace.config.kinds import Field, Section, Value, names_secret
from jenny.workspace.names import shown

VERSION_KEY = "configVersion"
DEFAULTS_KEY = "defaultsVersion"
CURRENT_VERSION = 1
MAX_BYTES = 1_000_000
# Any preset's name.
ANY_NAME = "*"

type Raw = dict[str, Any]

# From the named version to the next one. Each changes the object in place.
MIGRATIONS: dict[int, Callable[[Raw], None]] = {}


class Unreadable(ValueError):
    """The text is not a JSON object; the message completes the sentence "it cannot be read: …"."""


def parse_document(data: bytes) -> Raw:
    """Parse the file, with known keys in camelCase.

    Raises:
        Unreadable: it is empty, cut off, not UTF-8, or not one JSON object.
    """
    if len(data) > MAX_BYTES:
        message = f"it has {len(data):,} bytes, more than {MAX_BYTES:,}"
        raise Unreadable(message)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} is not UTF-8"
        raise Unreadable(message) from error
    if not text.strip("\0 \t\r\n"):
        message = "it is empty"
        raise Unreadable(message)
    try:
        raw = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {_in_words(error, text)}"
        raise Unreadable(message) from error
    except (ValueError, RecursionError) as error:
        own = isinstance(error, Unreadable)
        message = str(error) if own else "it is nested too deep or has absurd numbers"
        raise Unreadable(message) from error
    if not isinstance(raw, dict):
        message = "it holds no object (nothing in curly brackets)"
        raise Unreadable(message)
    return to_camel(raw)


def render_document(raw: Raw) -> bytes:
    try:
        return (json.dumps(raw, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a lone surrogate, written as \\ud800 in the file
        return (json.dumps(raw, indent=2) + "\n").encode()


def same(one: Raw, other: Raw) -> bool:
    """Compare two objects: ``true`` is not ``1``; the order of keys does not count."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def version(raw: Raw, name: str = VERSION_KEY) -> int:
    """Return the file's version; 0 when it has none, or an invalid one (which is a problem)."""
    value = raw.get(name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def migrate(raw: Raw) -> None:
    """Migrate an older object in place; one without a version is the oldest."""
    if version(raw) == 0 and VERSION_KEY in raw:
        return  # invalid, which is reported as a problem; nothing writes 0
    for step in range(version(raw), CURRENT_VERSION):
        MIGRATIONS.get(step, _nothing)(raw)
    if version(raw) < CURRENT_VERSION:
        raw[VERSION_KEY] = CURRENT_VERSION


def keep_defaults(raw: Raw, changes: Sequence[tuple[str, Value]] | None = None) -> tuple[str, ...]:
    """Fill in the former defaults that the object still counts on; return their settings' keys."""
    changes = fields.CHANGED_DEFAULTS if changes is None else changes
    former: dict[str, Value] = {}
    for key, value in changes[version(raw, DEFAULTS_KEY) :]:
        former.setdefault(key, value)
    for key, value in former.items():
        *folders, name = key.split(".")
        section: object = raw
        for folder in folders:
            section = section.setdefault(folder, {}) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section.setdefault(name, value)
    return tuple(key for key in former if lookup(raw, tuple(key.split("."))) == (True, former[key]))


def to_camel(raw: Raw, tree: dict[str, Any] | None = None) -> Raw:
    """Return the object with known keys in camelCase, which wins over snake_case."""
    branch = TREE if tree is None else tree
    result: Raw = {}
    for key, value in raw.items():
        name = _camel(key, branch)
        if name != key and name in raw:
            name = key
        inner = branch.get(name, branch.get(ANY_NAME))
        result[name] = to_camel(value, inner) if isinstance(value, dict) and inner else value
    return result


def unknown(raw: Raw, tree: dict[str, Any] | None = None, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of unknown keys."""
    branch = TREE if tree is None else tree
    for key, value in raw.items():
        inner = branch.get(key, branch.get(ANY_NAME))
        if inner is None:
            yield f"{path}{key}"
        elif inner and isinstance(value, dict):
            yield from unknown(value, inner, f"{path}{key}.")


def lookup(raw: object, path: tuple[str, ...]) -> tuple[bool, Any]:
    for part in path:
        if not isinstance(raw, dict) or part not in raw:
            return False, None
        raw = raw[part]
    return True, raw


def _tree() -> dict[str, Any]:
    """Return the known keys as a tree; a leaf is an empty dict."""
    tree: dict[str, Any] = {VERSION_KEY: {}, DEFAULTS_KEY: {}}
    for row in FIELDS:
        branch = tree
        for part in row.key.split("."):
            branch = branch.setdefault(part, {})
    return tree


TREE = _tree()


def _camel(key: str, branch: dict[str, Any]) -> str:
    """Return the known spelling of a key written in snake_case."""
    if key in branch or "_" not in key:
        return key
    camel = re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), key)
    return camel if camel in branch else key


def _no_constant(name: str) -> None:
    message = f"it holds {name}, which is no number"
    raise Unreadable(message)


def _nothing(_raw: Raw) -> None:
    """Migrate a version whose files need no change."""


def _in_words(error: json.JSONDecodeError, text: str) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "the file ends in the middle"
    if text[error.pos] in "}]" or "trailing comma" in error.msg:
        return "a comma too many before a closing bracket"
    return error.msg[:1].lower() + error.msg[1:]


type Origin = Literal["file", "bak", "defaults"]

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_ALLOWED = re.compile(r"JENNY_VAR_[A-Za-z0-9_]+")
_PRESET_NAME = re.compile(r"[^\W_][\w .:+-]{0,63}")
SAFETY_TOKENS = 1_024


class Config(Settings):
    """The settings of a workspace, and how they were read.

    ``values`` has each setting by its dotted key. ``problems`` maps the key of each unusable
    setting to its sentence; an earlier value or the default replaces it. ``notices`` are sentences
    about the file as a whole. ``origin``: the source of the values (``bak``: an earlier copy).
    ``kept_defaults``: keys of settings that have the default of an earlier version.
    """

    values: Mapping[str, Value]
    presets: Mapping[str, PresetConfig]
    problems: Mapping[str, str]
    unknown: tuple[str, ...]
    origin: Origin
    notices: tuple[str, ...]
    set_keys: frozenset[str]
    kept_defaults: tuple[str, ...]


def typed[T: Section](model: type[T], values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return the fields of *model*, from values that were checked, by their dotted keys."""
    made: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        key = f"{path}{to_camel_case(name)}"
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            made[name] = inner.model_construct(**typed(inner, values, f"{key}."))
        elif key in values:
            made[name] = values[key]
    return made


@dataclass(frozen=True)
class Reading:
    """The usable values of an object, and its problems by key."""

    values: dict[str, Value]
    presets: dict[str, PresetConfig]
    problems: dict[str, str]
    variables: dict[str, str | None]


def read_config(raw: Raw, fallbacks: Sequence[Raw] = ()) -> Reading:
    """Read the values of *raw*.

    A wrong one is taken from the first of *fallbacks* that has a right one, else from the defaults.
    """
    reading = Reading({}, {}, {}, {})
    for key, row in BY_KEY.items():
        reading.values[key] = _value(reading, row, key, (raw, *fallbacks))
    _read_presets(reading, raw, fallbacks)
    _check_together(reading, raw)
    return reading


def _value(reading: Reading, row: Field, key: str, sources: Sequence[Raw]) -> Value:
    """Return one setting's value; a problem in the first source is recorded."""
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
    """True when something that is not an object is in place of the setting's section."""
    for depth in range(1, len(path)):
        found, section = lookup(raw, path[:depth])
        if not found:
            return False
        if not isinstance(section, dict):
            return True
    return False


def _resolved(row: Field, stored: object, variables: dict[str, str | None]) -> Value:
    """Return the stored value, checked, with ``${JENNY_VAR_…}`` filled in."""
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
            reading.presets[name] = PresetConfig.model_construct(
                name=name, **typed(PresetConfig, given)
            )


def _preset_path(key: str) -> tuple[str, ...]:
    """Split ``modelPresets.<name>.<field>``, where the name may contain dots."""
    first, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    return (first, name, last)


def _check_together(reading: Reading, raw: Raw) -> None:
    """Check settings that depend on each other or on the file as a whole."""
    for section in sorted({key.rpartition(".")[0] for key in BY_KEY} | {"agents"}):
        found, stored = lookup(raw, tuple(section.split(".")))
        if found and not isinstance(stored, dict):
            reading.problems[section] = f"{section} holds no object, so its settings are not read."
    if version(raw) == 0 and VERSION_KEY in raw:
        reading.problems[VERSION_KEY] = "configVersion is no whole number; it is ignored."
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
    """Return the dotted paths of settings whose names mean a secret; none belongs in the file."""
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
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None or value == "" else f"{value}"
