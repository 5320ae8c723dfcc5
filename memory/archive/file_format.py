"""File format of archived texts: a short header, then the unchanged text.

Every value of the header is JSON, which is also YAML: people and their tools read it as front
matter, and reading ten thousand files needs no YAML parser.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from jenny.agent.messages import clean
from jenny.agent.prompt import one_line
from jenny.markdown import front_matter
from memory.facts import Fact, digests

FOLDER = "memory/archive"
# The first removal and the newest ones are listed; those between are counted.
MOST_EVENTS = 60
_COUNT_DIGITS = 9
REMOVED, REWORDED, CORRECTED, MOVED = "removed", "reworded", "corrected", "moved"
FORGOTTEN = "forgotten"
_REPLACED = frozenset({REWORDED, CORRECTED, MOVED})
_WHO = {
    "browser": "the person",
    "chat": "the assistant",
    "command": "the person",
    "dream": "Dream",
    "outside": "the person",
    "restore": "a restore",
    "review": "Dream's review",
}
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-([0-9a-f]{12,64})\.md")
_HEAD = re.compile(r"---\n((?:[a-z_]+: .*\n|events:\n|  - \{.*\}\n)*)---\n")


@dataclass(frozen=True, slots=True)
class Event:
    """One removal: the day in the workspace's zone, actor, run and reason; *now*: the line that
    replaced the text."""

    date: str
    actor: str = ""
    run: str = ""
    reason: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class Archived:
    """A text that left a memory file, with its removals.

    ``under`` is the bullet above a nested one. ``kind`` is that of the fact (``memory.facts``),
    or ``lines`` for several lines kept as one. ``problem`` says why the header cannot be read.
    """

    id: str
    text: str
    source: str = ""
    heading: str = ""
    events: tuple[Event, ...] = ()
    kind: str = "bullet"
    under: str = ""
    events_left_out: int = 0
    path: str = ""
    problem: str = ""

    @property
    def date(self) -> str:
        return self.events[-1].date if self.events else ""

    @property
    def as_fact(self) -> Fact:
        """The text as it stood under its heading, which may say whom it is about."""
        return Fact(self.text, self.heading, 0, 0, "bullet", self.under)

    @property
    def is_reworded(self) -> bool:
        """True when a line that says the same took its place: nothing was removed."""
        return bool(self.events) and self.events[-1].reason == REWORDED

    @property
    def fate(self) -> str:
        """Say why it left: "corrected on 2026-12-01, now: Lives in Graz"."""
        if not self.events:
            return ""
        event = self.events[-1]
        if event.now:
            verb = event.reason if event.reason in _REPLACED else "corrected"
            return f"{verb} on {event.date}, now: {event.now}"
        verb = event.reason if event.reason in _REPLACED else REMOVED
        who = _WHO.get(event.actor, "") if verb == REMOVED else ""
        return f"{verb} on {event.date}" + (f" by {who}" if who else "")

    def without_now(self) -> "Archived":
        """Return it without the lines that replaced it."""
        return replace(self, events=tuple(replace(event, now="") for event in self.events))


def archive_name(name: str) -> tuple[str, str] | None:
    """Return the day and the id in the name of an archive file; ``None`` for other names."""
    match = _NAME.fullmatch(name)
    return (match[1], match[2]) if match else None


def with_event(item: Archived, event: Event) -> Archived:
    """Return the text with one more removal."""
    events = (*item.events, event)
    left_out = len(events) - MOST_EVENTS
    if left_out > 0:
        events = (events[0], *events[1 + left_out :])
    return replace(
        item, events=events, events_left_out=item.events_left_out + max(left_out, 0), problem=""
    )


def render(item: Archived) -> bytes:
    lines = ["---", f"id: {_out(item.id)}", f"source: {_out(item.source)}"]
    lines.append(f"heading: {_out(one_line(item.heading, 300))}")
    lines.append(f"kind: {_out(item.kind)}")
    if item.under:
        lines.append(f"under: {_out(one_line(item.under, 300))}")
    lines.append("events:")
    lines += [f"  - {_out(_event_out(event))}" for event in item.events]
    if item.events_left_out:
        lines.append(f"events_left_out: {item.events_left_out}")
    return "\n".join([*lines, "---", item.text, ""]).encode("utf-8", "backslashreplace")


def parse(name: str, data: bytes) -> Archived | None:
    """Parse an archive file; ``None`` when its name is not one of the archive's.

    A damaged file is read as far as possible, with its ``problem``.
    """
    found = archive_name(name)
    if found is None:
        return None
    path = f"{FOLDER}/{name}"
    text = data.decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    text = text.replace("\r\n", "\n")
    head = _HEAD.match(text)
    values, body, problem = (_values(head[1]), text[head.end() :], "") if head else ({}, text, "")
    if not values:
        header = front_matter.read_front_matter(text)
        values, body = header.values, header.body
        problem = header.problem or ("" if values else "it has no header")
    body = body.removesuffix("\n")
    if not problem and not any(one.startswith(found[1]) for one in digests(body)):
        problem = "its text is not the one it is named for"
    return Archived(
        id=found[1],
        text=body,
        source=_text(values.get("source")),
        heading=_text(values.get("heading")),
        events=_events(values.get("events"), found[0]),
        kind=_text(values.get("kind")) or "bullet",
        under=_text(values.get("under")),
        events_left_out=_count(values.get("events_left_out")),
        path=path,
        problem=problem,
    )


def _values(header: str) -> dict[str, Any]:
    values: dict[str, Any] = {"events": []}
    try:
        for line in header.splitlines():
            if line.startswith("  - "):
                values["events"].append(json.loads(line[4:]))
            elif line != "events:":
                key, _, value = line.partition(": ")
                values[key] = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return values if "id" in values else {}


def _events(rows: object, day: str) -> tuple[Event, ...]:
    found = [
        Event(*(_text(row.get(key)) for key in ("date", "actor", "run", "reason", "now")))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
    return tuple(found) or (Event(day),)


def _event_out(event: Event) -> dict[str, str]:
    row = {
        "date": event.date,
        "actor": event.actor,
        "run": event.run,
        "reason": event.reason,
        "now": event.now,
    }
    return {key: one_line(value, 300) for key, value in row.items() if value}


def _out(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _count(value: object) -> int:
    """Parse a number, which is a text in a header that was edited by hand."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _COUNT_DIGITS else 0


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else "" if value is None else str(value)
