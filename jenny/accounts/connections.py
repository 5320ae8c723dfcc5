"""Presets in ``config.json``: make, change, take away, choose. All through its one funnel."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import config
from jenny.workspace.errors import ConfigRefused

PRESETS = "modelPresets"


@dataclass(frozen=True)
class Removed:
    """What was taken away, to be put back as it was, unknown keys included."""

    name: str
    values: dict[str, Any]
    was_default: bool


def put(root: Path, name: str, values: Mapping[str, Any], *, use: bool) -> bool:
    """Make the preset *name*, or change those of its keys that are in *values* (``None``: the
    key goes); *use*: it becomes the default. Whether the file changed.

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

    return config.change(root, mutate)


def choose(root: Path, name: str) -> bool:
    """Make *name* the default (a preset, ``demo``, or empty: the environment's model)."""

    def mutate(data: dict[str, Any]) -> None:
        _set_default(data, name)

    return config.change(root, mutate)


def remove(root: Path, name: str) -> Removed | None:
    """Take the preset *name* away; ``None`` when there is none. Where it was the default, the
    default is again what the environment says."""
    found: list[Removed] = []

    def mutate(data: dict[str, Any]) -> None:
        found.clear()
        values = _section(data, PRESETS).pop(name, None) if PRESETS in data else None
        if values is None:
            return
        was_default = _defaults(data).get("model") == name
        if was_default:
            _set_default(data, "")
        found.append(Removed(name, values, was_default))

    config.change(root, mutate)
    return found[0] if found else None


def put_back(root: Path, removed: Removed) -> bool:
    """Undo ``remove``, unless a preset of that name was made meanwhile. Whether it was done."""
    done: list[bool] = []

    def mutate(data: dict[str, Any]) -> None:
        presets = _section(data, PRESETS)
        done[:] = [removed.name not in presets]
        if not done[0]:
            return
        presets[removed.name] = dict(removed.values)
        if removed.was_default:
            _set_default(data, removed.name)

    config.change(root, mutate)
    return done[0]


def _defaults(data: dict[str, Any]) -> dict[str, Any]:
    return _section(_section(data, "agents"), "defaults")


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The object called *name*, made when missing; what else stands there is not replaced."""
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
    else:
        _defaults(data).pop("model", None)
