"""Entries of the history: one line of JSON each.

Lines are written with their characters as they are, since people search them. What a line holds
beside the keys known here is left alone.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from jenny.agent.messages import clean

type Kind = Literal["summary", "raw", "note"]

FILE = "memory/history.jsonl"
# Larger numbers would not fit a database.
MAX_CURSOR = 2**62
STAMP = "%Y-%m-%d %H:%M"
_BOM = "\ufeff"
_TO_JSON = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it stands in the file.

    *timestamp* is local time in the workspace's zone, empty when the line has none. *messages* are
    the ids of the first and the last message it is about. Several entries of one *group* were one
    text; *part* is ``(i, n)``, the i-th of n.
    """

    cursor: int
    timestamp: str
    content: str
    kind: str = ""
    conversation: str = ""
    messages: tuple[int, int] | None = None
    group: str = ""
    part: tuple[int, int] | None = None
    prompt_visible: bool = True


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What is to be added. A *content* longer than an entry may be becomes a group.

    *when* is an aware time, for what was said earlier; else the time of adding counts.
    """

    content: str
    kind: Kind = "summary"
    conversation: str = ""
    messages: tuple[int, int] | None = None
    prompt_visible: bool = True
    when: datetime | None = None


def parse(line: bytes) -> Entry | None:
    """The entry that a line of the file holds; ``None`` when it holds none."""
    try:
        row = json.loads(line.decode("utf-8").removeprefix(_BOM))
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    cursor, content = row.get("cursor"), row.get("content")
    if type(cursor) is not int or not 1 <= cursor <= MAX_CURSOR or not isinstance(content, str):
        return None
    part = _pair(row.get("part"))
    if part and not 1 <= part[0] <= part[1]:
        part = None
    group = _text(row.get("group"))
    return Entry(
        cursor,
        _text(row.get("timestamp")),
        clean(content),
        _text(row.get("kind")),
        _text(row.get("conversation")),
        _pair(row.get("messages")),
        group if part else "",
        part if group else None,
        row.get("prompt_visible") is not False,
    )


def is_whole(line: bytes) -> bool:
    """Whether a line without an end is all there: nothing that was cut short is JSON."""
    try:
        json.loads(line.decode("utf-8").removeprefix(_BOM))
    except (ValueError, RecursionError):
        return False
    return True


def render(entry: Entry) -> bytes:
    """The line of an entry, with its end."""
    row: dict[str, Any] = {
        "cursor": entry.cursor,
        "timestamp": entry.timestamp,
        "content": clean(entry.content),
    }
    for name in ("kind", "conversation", "messages", "group", "part"):
        if value := getattr(entry, name):
            row[name] = value
    if not entry.prompt_visible:
        row["prompt_visible"] = False
    return _TO_JSON(row).encode() + b"\n"


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _pair(value: object) -> tuple[int, int] | None:
    match value:
        case [int(first), int(last)]:
            return (first, last)
    return None
