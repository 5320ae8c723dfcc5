"""History entries: one line of JSON each; their timestamps, and texts split into entries.

Characters are not escaped, since people search the file. Unknown keys of a line are kept.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from jenny.agent.messages import clean
from jenny.workspace import config
from jenny.workspace.config import Config


def zone_name(root: Path, fallback: str = "") -> str:
    """Return the IANA name of the workspace's zone, else *fallback*, else UTC."""
    return _name(config.load_config(root), fallback)


def load_zone(real: Path, fallback: str = "") -> tzinfo:
    """Return the workspace's zone, or UTC for an unknown name. *real* is the real folder."""
    try:
        return ZoneInfo(_name(config.load_real(real), fallback))
    except (LookupError, ValueError, OSError):
        return UTC


def format_timestamp(local: datetime) -> str:
    """Format a local time as entries have it (``entries.STAMP``)."""
    return local.replace(tzinfo=None).isoformat(" ", "minutes")


def _name(settings: Config, fallback: str) -> str:
    return settings.agents.defaults.timezone or fallback or "UTC"


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


SUMMARY_CHARS = 8_000
RAW_CHARS = 16_000
_LIMITS = {"raw": RAW_CHARS}
# The beginning of a bullet or a paragraph.
_BULLET = re.compile(r"\n(?=[-*+•] |\d{1,3}[.)] |#|\n)")
_SPACE = re.compile(r"\s")


def split_text(text: str, kind: str) -> list[str]:
    """Split a text of that kind into the contents of entries, in order."""
    limit = _LIMITS.get(kind, SUMMARY_CHARS)
    return [text] if len(text) <= limit else list(_pieces(text, limit, raw=kind == "raw"))


def _pieces(text: str, limit: int, *, raw: bool) -> Iterator[str]:
    """Yield the pieces. A raw text keeps every character; a summary loses white space at cuts."""
    at = 0
    while at < len(text):
        border = _border(text, at, at + limit) if len(text) - at > limit else len(text)
        piece = text[at:border]
        if raw or piece.strip():
            yield piece if raw else piece.strip("\n")
        at = border


def _border(text: str, start: int, end: int) -> int:
    """Return the best cut at or before *end* and after *start*: at a bullet, line or word."""
    bullets = [match.start() + 1 for match in _BULLET.finditer(text, start + 1, end + 2)]
    if fitting := [place for place in bullets if place <= end]:
        return fitting[-1]
    line = text.rfind("\n", start + 1, end)
    if line > start:
        return line + 1
    # The end of a word, unless the word is extremely long.
    spaces = [match.end() for match in _SPACE.finditer(text, max(start + 1, end - 200), end)]
    return spaces[-1] if spaces else end
