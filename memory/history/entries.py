"""History entries: one line of JSON each.

Characters are not escaped, since people search the file. Unknown keys of a line are kept.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from jenny.agent.messages import clean

type Kind = Literal["summary", "raw", "note"]

FILE = "memory/history.jsonl"
# Larger numbers would not fit the database.
MAX_CURSOR = 2**62
STAMP = "%Y-%m-%d %H:%M"
_BOM = "\ufeff"
_TO_JSON = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An entry of the file.

    *timestamp* is local time in the workspace's zone, or empty. *messages* are the ids of its
    first and last message. Entries of one *group* were one text; *part* is ``(i, n)``, the i-th
    of n.
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
class NewHistoryEntry:
    """An entry to add; a *content* that is too long becomes a group.

    *when* is an aware time for something said earlier; otherwise the time of adding counts.
    """

    content: str
    kind: Kind = "summary"
    conversation: str = ""
    messages: tuple[int, int] | None = None
    prompt_visible: bool = True
    when: datetime | None = None


def parse_entry(line: bytes) -> HistoryEntry | None:
    """Parse a line of the file; ``None`` when it holds no entry."""
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
    return HistoryEntry(
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
    """True when an unterminated line is complete: truncated JSON does not parse."""
    try:
        json.loads(line.decode("utf-8").removeprefix(_BOM))
    except (ValueError, RecursionError):
        return False
    return True


def render_entry(entry: HistoryEntry) -> bytes:
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
