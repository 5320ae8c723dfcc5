"""What a swap under way consists of, durably, until it is over."""

import json
import os
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from jenny.workspace import atomic, journal, names, paths
from jenny.workspace.locks import OWN_FOLDER

PREFIX = "swap-"
NEW, OLD = "new", "old"
# In the order in which they are done: what comes first is out of the way of what comes later.
KINDS = ("remove", "unfolder", "folder", "put", "mode")
_ID = re.compile(r"swap-[0-9a-f]{16}")
_FILE = re.compile(r"\d{1,9}")

# What is there, as far as a look tells: size, time of writing in nanoseconds, number.
type Stamp = tuple[int, int, int]
# What happens to a file that somebody changed outside after it had been decided about: it is kept
# beside ours under another name; ours takes its further lines over; or ours gives way.
type Keep = Literal["beside", "grow", "yield"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be done.

    ``put``: the staged file comes to *path*; ``remove``: the file there goes; ``folder``: a folder
    is made; ``unfolder``: an empty one goes; ``mode``: a folder gets other permissions. *was*: the
    file that stood there when it was decided, ``None`` where there was none; *file*, *own* and
    *size*: the staged file's name, number and bytes. *mode* and *old_mode*: a folder's permissions.
    """

    path: str
    kind: Literal["put", "remove", "folder", "unfolder", "mode"]
    was: Stamp | None = None
    file: str = ""
    own: int = 0
    size: int = 0
    mode: int = 0o755
    old_mode: int = 0o755
    keep: Keep = "beside"


@dataclass(frozen=True)
class Swap:
    """A swap: where it is staged, its items in order, and whether it is being taken back."""

    name: str
    items: tuple[Item, ...]
    undo: bool = False


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of what a look found."""
    return (status.st_size, status.st_mtime_ns, status.st_ino)


def is_swap(journal_name: str) -> bool:
    """Whether a journal is one of a swap."""
    return journal_name.startswith(PREFIX)


def turned(swap: Swap) -> Swap:
    """The same, to be taken back."""
    return replace(swap, undo=True)


def store(root: Path, swap: Swap) -> None:
    """Write the journal durably: from here on the swap will be finished."""
    data: dict[str, Any] = {"undo": swap.undo, "items": [asdict(item) for item in swap.items]}
    with paths.open_folder(root, journal.FOLDER, make=True) as folder:
        atomic.replace(folder, f"{swap.name}.json", json.dumps(data).encode(), mode=0o600)


def load(root: Path, journal_name: str) -> Swap | None:
    """The swap that a journal tells of; ``None`` when it is none of ours."""
    name = journal_name.removesuffix(".json")
    if not _ID.fullmatch(name):
        return None
    try:
        data = json.loads(root.joinpath(*journal.FOLDER, journal_name).read_bytes())
        items = tuple(_item(row) for row in data["items"])
        return Swap(name, items, undo=bool(data["undo"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def finish(root: Path, swap: Swap) -> None:
    """The swap is over: its journal goes."""
    with paths.open_folder(root, journal.FOLDER) as folder:
        atomic.remove(folder, f"{swap.name}.json")


def place(swap: Swap, side: str) -> tuple[str, ...]:
    """The folder of what is to come (``NEW``), or of what was there (``OLD``)."""
    return (OWN_FOLDER, swap.name, side)


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a path that a swap may touch. A name that is no UTF-8 is fine.

    Raises:
        ValueError: nothing in a workspace is called so.
    """
    parts = tuple(path.split("/"))
    odd = any(part in ("", ".", "..") or "\0" in part or names.is_own(part) for part in parts)
    if odd or any(names.is_git(part) for part in parts):
        raise ValueError(path)
    return parts


def _item(row: dict[str, Any]) -> Item:
    item = Item(**row)
    if item.kind not in KINDS:
        raise ValueError(item.kind)
    parts_of(item.path)
    if item.file and not _FILE.fullmatch(item.file):
        raise ValueError(item.file)
    was = None if item.was is None else (item.was[0], item.was[1], item.was[2])
    return replace(item, was=was)
