"""Store the steps of a transaction durably until it is over."""

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, paths
from jenny.workspace.errors import PathRefused
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.write_rules import Change

FOLDER = (OWN_FOLDER, "journal")
BROKEN = ".broken"


@dataclass(frozen=True)
class Step:
    """One file of a transaction: its path, its old and its new content (``None``: no file)."""

    parts: tuple[str, ...]
    old: bytes | None
    new: bytes | None


def step(change: Change) -> Step:
    return Step(tuple(change.path.split("/")), change.old, change.new)


@dataclass(frozen=True)
class Staged:
    """A step as the journal stores it: the new content is in the file *temp*."""

    parts: tuple[str, ...]
    temp: str | None
    old: bytes | None
    new_digest: str | None


@dataclass(frozen=True)
class Journal:
    """A transaction in progress: to be finished, or to be rolled back."""

    name: str
    steps: tuple[Staged, ...]
    undo: bool = False


def pending(root: Path) -> list[str]:
    try:
        # Called whenever a workspace is opened: no Path objects are made.
        return sorted(filter(_is_journal, os.listdir(f"{root}/{'/'.join(FOLDER)}")))  # noqa: PTH208 - no objects, as above
    except FileNotFoundError:
        return []


def _is_journal(name: str) -> bool:
    """True for a finished journal file, not one that is being written."""
    return name.endswith(".json")


def broken(root: Path) -> list[Path]:
    return sorted(root.joinpath(*FOLDER).glob(f"*{BROKEN}"))


def named_temps(root: Path) -> set[str]:
    """Return the temporary files that a journal names, also one that was set aside."""
    texts = (path.read_text("utf-8", "replace") for path in root.joinpath(*FOLDER).glob("*"))
    return {name for text in texts for name in atomic.TEMP_NAME.findall(text)}


def set_aside(root: Path, name: str) -> None:
    """Rename a journal so that it is kept but not used."""
    path = root.joinpath(*FOLDER, name)
    path.rename(path.with_name(name + BROKEN))


def store(root: Path, act: Journal) -> None:
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
    """Load a journal; ``None`` when it is invalid (``check_workspace`` reports it)."""
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
    with paths.open_folder(root, FOLDER) as folder:
        atomic.remove(folder, act.name)
