"""How an archived text is written down: a header of a few lines, then the text as it was.

Every value of the header is JSON, which is YAML too: people and their tools read it as front
matter, and reading ten thousand of them takes no YAML parser.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from jenny.agent.prompt import one_line
from jenny.markdown import front_matter
from memory.facts import digest

FOLDER = "memory/archive"
# The first removal and the newest ones are told; what lies between is only counted.
MOST_EVENTS = 60
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-([0-9a-f]{12,64})\.md")
_HEAD = re.compile(r"---\n((?:[a-z_]+: .*\n|events:\n|  - \{.*\}\n)*)---\n")


@dataclass(frozen=True, slots=True)
class Event:
    """One removal: the day in the workspace's zone, who, in which run, and why."""

    date: str
    actor: str = ""
    run: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Archived:
    """A text that left a memory file, and when it did. ``problem``: why its header says nothing.

    ``under``: the bullet that a nested one stood below. ``kind`` is that of the fact
    (``memory.facts``), or ``lines`` for several lines kept as one.
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
        """The day on which it left last."""
        return self.events[-1].date if self.events else ""


def named(name: str) -> tuple[str, str] | None:
    """The day and the id in the name of a file of the archive; ``None``: it is none."""
    match = _NAME.fullmatch(name)
    return (match[1], match[2]) if match else None


def with_event(item: Archived, event: Event) -> Archived:
    """The same text, which left once more."""
    events = (*item.events, event)
    left_out = len(events) - MOST_EVENTS
    if left_out > 0:
        events = (events[0], *events[1 + left_out :])
    return replace(
        item, events=events, events_left_out=item.events_left_out + max(left_out, 0), problem=""
    )


def render(item: Archived) -> bytes:
    """The file of an archived text."""
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
    """What a file of the archive holds; ``None`` when its name is none of the archive's. A file
    that somebody has damaged is read as far as it goes, with its ``problem``."""
    found = named(name)
    if found is None:
        return None
    path = f"{FOLDER}/{name}"
    text = data.decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    text = text.replace("\r\n", "\n")
    head = _HEAD.match(text)
    values, body, problem = (_values(head[1]), text[head.end() :], "") if head else ({}, text, "")
    if not values:
        header = front_matter.read(text)
        values, body = header.values, header.body
        problem = header.problem or ("" if values else "it has no header")
    body = body.removesuffix("\n")
    if not problem and digest(body)[: len(found[1])] != found[1]:
        problem = "its text is not the one it is named for"
    return Archived(
        id=found[1],
        text=body,
        source=_text(values.get("source")),
        heading=_text(values.get("heading")),
        events=_events(values.get("events"), found[0]),
        kind=_text(values.get("kind")) or "bullet",
        under=_text(values.get("under")),
        events_left_out=values["events_left_out"]
        if isinstance(values.get("events_left_out"), int)
        else 0,
        path=path,
        problem=problem,
    )


def _values(header: str) -> dict[str, Any]:
    """The header's values, when it is as we write it."""
    values: dict[str, Any] = {"events": []}
    try:
        for line in header.splitlines():
            if line.startswith("  - "):
                values["events"].append(json.loads(line[4:]))
            elif line != "events:":
                key, _, value = line.partition(": ")
                values[key] = json.loads(value)
    except ValueError:
        return {}
    return values if "id" in values else {}


def _events(rows: object, day: str) -> tuple[Event, ...]:
    found = [
        Event(*(_text(row.get(key)) for key in ("date", "actor", "run", "reason")))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    ]
    return tuple(found) or (Event(day),)


def _event_out(event: Event) -> dict[str, str]:
    row = {"date": event.date, "actor": event.actor, "run": event.run, "reason": event.reason}
    return {key: one_line(value, 300) for key, value in row.items() if value}


def _out(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
