"""Creates, changes, removes and selects presets in ``config.json``, through its store."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.accounts import slugs
from jenny.accounts.endpoints import ANTHROPIC, RESERVED
from jenny.workspace import config
from jenny.workspace.config import PresetConfig
from jenny.workspace.errors import ConfigRefused

PRESETS = "modelPresets"
_OVERRIDE = "modelOverride"
# Leaves room for a number, so that the name can be typed after /model.
_LONGEST_STEM = 36


@dataclass(frozen=True)
class Removed:
    """A removed preset, to be restored as it was, unknown keys included."""

    name: str
    values: dict[str, Any]
    was_default: bool
    was_dreams: bool = False


def save_preset(root: Path, name: str, values: Mapping[str, Any], *, use: bool) -> bool:
    """Create the preset *name*, or change its keys in *values* (``None``: the key is removed).

    *use*: it becomes the default. True when the file changed.

    :raises ConfigRefused: a value is of the wrong kind or range.
    """

    def mutate(data: dict[str, Any]) -> None:
        preset = _section(_section(data, PRESETS), name)
        for key, value in values.items():
            if value is None:
                preset.pop(key, None)
            else:
                preset[key] = value
        if use:
            _defaults(data)["model"] = name

    return config.change_config(root, mutate)


def name_for(presets: Mapping[str, PresetConfig], base_url: str, model: str) -> str:
    """Return the name of the preset with this address and model, or a free one: Claude, or made
    from the model's name."""
    for preset in presets.values():
        if (preset.base_url.rstrip("/"), preset.model) == (base_url.rstrip("/"), model):
            return preset.name
    stem = "claude" if base_url == ANTHROPIC else model.rsplit("/", 1)[-1]
    names = slugs.candidates(stem)
    return next(name for name in names if name not in presets and name not in RESERVED)


def choose(root: Path, name: str) -> bool:
    """Make *name* the default (a preset, ``demo``, or empty: the environment's model)."""

    def mutate(data: dict[str, Any]) -> None:
        _set_default(data, name)

    return config.change_config(root, mutate)


def remove(root: Path, name: str) -> Removed | None:
    """Remove the preset *name*; ``None`` when there is none.

    Where it was the default, the environment's model becomes the default; where it was Dream's,
    Dream uses the default.
    """
    found: list[Removed] = []

    def mutate(data: dict[str, Any]) -> None:
        found.clear()
        values = _section(data, PRESETS).pop(name, None) if PRESETS in data else None
        if values is None:
            return
        was_default = _defaults(data).get("model") == name
        if was_default:
            _set_default(data, "")
        was_dreams = _named(data, "dream", _OVERRIDE) == name
        if was_dreams:
            _dream(data).pop(_OVERRIDE)
        found.append(Removed(name, values, was_default, was_dreams))

    config.change_config(root, mutate)
    return found[0] if found else None


def put_back(root: Path, removed: Removed) -> bool:
    """Undo ``remove``, unless a preset of that name was created meanwhile. True when undone."""
    done: list[bool] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        done[:] = [removed.name not in presets]
        if not done[0]:
            return
        presets[removed.name] = dict(removed.values)
        if removed.was_default:
            _set_default(data, removed.name)
        if removed.was_dreams:
            _dream(data)[_OVERRIDE] = removed.name

    config.change_config(root, mutate)
    return done[0]


def give_name(root: Path, name: str, new: str) -> bool:
    """Rename the preset to *new*, in its place in the file, and wherever the settings name it.

    ``False``: it no longer exists, or there is one called *new*.

    :raises ConfigRefused: *new* is not allowed as a name.
    """
    done: list[bool] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        done[:] = [name in presets and new not in presets]
        if not done[0]:
            return
        rows = [(new if key == name else key, values) for key, values in presets.items()]
        presets.clear()
        presets.update(rows)
        if _named(data, "model") == name:
            _set_default(data, new)
        if _named(data, "dream", _OVERRIDE) == name:
            _dream(data)[_OVERRIDE] = new

    config.change_config(root, mutate)
    return done[0]


def copy(root: Path, name: str) -> str:
    """Copy a preset under a new name, which is returned; empty when there is none to copy."""
    made: list[str] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        made.clear()
        if name not in presets:
            return
        stem = name[:_LONGEST_STEM]
        new = next(
            one for number in itertools.count(2) if (one := f"{stem}-{number}") not in presets
        )
        presets[new] = dict(presets[name])
        made.append(new)

    config.change_config(root, mutate)
    return made[0] if made else ""


def assign(root: Path, model: str, dreams: str) -> bool:
    """Set the default model (empty: the environment's) and Dream's (empty: the default).

    True when the file changed.
    """

    def mutate(data: dict[str, Any]) -> None:
        _set_default(data, model)
        if dreams:
            _dream(data)[_OVERRIDE] = dreams
        elif _named(data, "dream", _OVERRIDE) is not None:
            _dream(data).pop(_OVERRIDE)

    return config.change_config(root, mutate)


def _dream(data: dict[str, Any]) -> dict[str, Any]:
    return _section(_defaults(data), "dream")


def _defaults(data: dict[str, Any]) -> dict[str, Any]:
    return _section(_section(data, "agents"), "defaults")


def _named(data: dict[str, Any], *keys: str) -> Any:
    """Return the value below ``agents.defaults``, without creating missing objects."""
    found: Any = data
    for key in ("agents", "defaults", *keys):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object called *name*, created when missing; another value is not replaced."""
    section = data.setdefault(name, {})
    if not isinstance(section, dict):
        message = (
            f"config.json has something else than an object at {name}, which is left as it is. "
            "Repair the file first."
        )
        raise ConfigRefused(message)
    return section


def _set_default(data: dict[str, Any], name: str) -> None:
    if name:
        _defaults(data)["model"] = name
    elif _named(data, "model") is not None:
        _defaults(data).pop("model", None)
