"""The journal of acts on several files: what is under way, durably, until it is over."""

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, paths
from jenny.workspace.errors import PathRefused
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.rules import Change

FOLDER = (OWN_FOLDER, "journal")
BROKEN = ".broken"


@dataclass(frozen=True)
class Step:
    """One file of an act: where it is, what was there, what is to be there (``None``: no file)."""

    parts: tuple[str, ...]
    old: bytes | None
    new: bytes | None


def step(change: Change) -> Step:
    """A change as a step of an act."""
    return Step(tuple(change.path.split("/")), change.old, change.new)


@dataclass(frozen=True)
class Staged:
    """A step as the journal knows it: the new content lies in the file *temp*."""

    parts: tuple[str, ...]
    temp: str | None
    old: bytes | None
    new_digest: str | None


@dataclass(frozen=True)
class Journal:
    """An act under way: to be finished, or to be undone."""

    name: str
    steps: tuple[Staged, ...]
    undo: bool = False


def pending(root: Path) -> list[str]:
    """The names of the journals of acts that are not over."""
    try:
        # Asked at every opening: no objects are made of what is not there.
        return sorted(filter(_is_journal, os.listdir(f"{root}/{'/'.join(FOLDER)}")))  # noqa: PTH208 - no objects, as above
    except FileNotFoundError:
        return []


def _is_journal(name: str) -> bool:
    """Whether the file is a journal, and not one that is being written."""
    return name.endswith(".json")


def broken(root: Path) -> list[Path]:
    """Journals that were set aside."""
    return sorted(root.joinpath(*FOLDER).glob(f"*{BROKEN}"))


def named_temps(root: Path) -> set[str]:
    """The temporary files that a journal, also one set aside, still speaks of."""
    texts = (path.read_text("utf-8", "replace") for path in root.joinpath(*FOLDER).glob("*"))
    return {name for text in texts for name in atomic.TEMP_NAME.findall(text)}


def set_aside(root: Path, name: str) -> None:
    """Take a journal out of the way without losing it."""
    path = root.joinpath(*FOLDER, name)
    path.rename(path.with_name(name + BROKEN))


def store(root: Path, act: Journal) -> None:
    """Write the journal, durably."""
    content: dict[str, Any] = {
        "undo": act.undo,
        "steps": [
            {
                "parts": step.parts,
                "temp": step.temp,
                "old": None if step.old is None else base64.b64encode(step.old).decode("ascii"),
                "new": step.new_digest,
            }
            for step in act.steps
        ],
    }
    with paths.open_folder(root, FOLDER, make=True) as folder:
        atomic.replace(folder, act.name, json.dumps(content).encode(), mode=0o600)


def load(root: Path, name: str) -> Journal | None:
    """The journal; ``None`` when it is not one of ours (``check_workspace`` reports it)."""
    try:
        content = json.loads(root.joinpath(*FOLDER, name).read_bytes())
        steps = tuple(
            Staged(
                paths.checked_parts(step["parts"]),
                step["temp"] if step["temp"] is None or atomic.is_temp(step["temp"]) else None,
                None if step["old"] is None else base64.b64decode(step["old"], validate=True),
                step["new"],
            )
            for step in content["steps"]
        )
        return Journal(name, steps, undo=bool(content["undo"]))
    except (OSError, ValueError, KeyError, TypeError, PathRefused):
        return None


def finish(root: Path, act: Journal) -> None:
    """The act is over: remove its journal."""
    with paths.open_folder(root, FOLDER) as folder:
        atomic.remove(folder, act.name)
