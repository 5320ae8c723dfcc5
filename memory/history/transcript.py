"""A slice of a conversation as text: for the summariser, and for the history when there is none.

Who spoke and when stands before each message. What tools gave is marked, since nobody in the
conversation said it; attachments and embedded data are named and not copied.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from jenny.agent.messages import clean
from jenny.workspace.redact import redact

# Not by strftime, which speaks the server's language.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Of a tool's result, what a summariser sees; the raw form has all of it.
RESULT_CHARS = 2_000
_HEAD = re.compile(r"^\[[^\]\n]{0,40}\] (?:USER|ASSISTANT):", re.MULTILINE)
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[\w;=-]*;base64,([A-Za-z0-9+/]{200,}={0,2})")


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A call with what it gave."""

    name: str
    arguments: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message: what was written, without anything the program added to it."""

    id: int
    speaker: Literal["user", "assistant"]
    text: str
    when: datetime | None = None
    tools: tuple[ToolUsed, ...] = ()
    attachments: tuple[str, ...] = ()


def formatted(message: Spoken, zone: tzinfo = UTC, *, whole: bool = False) -> str:
    """The message as text. *whole*: with every character of the tools' results. Secrets are still
    in it, but in what was cut: they go before a cut, which could leave half of one."""
    stamp = message.when.astimezone(zone).strftime("%Y-%m-%d %H:%M") if message.when else "no time"
    text = _set_in(_without_data(clean(message.text)), whole=whole)
    lines = [f"[{stamp}] {message.speaker.upper()}: {text}"]
    lines += [f"  (attachment: {' '.join(name.split())})" for name in message.attachments]
    lines += [_tool(tool, whole=whole) for tool in message.tools]
    return "\n".join(lines)


def calendar(messages: Sequence[Spoken], zone: tzinfo = UTC) -> str:
    """What day it was when the first of the messages with a time was written, and which zone the
    times are in: nobody can tell what "on Friday" means without it."""
    first = next((message.when for message in messages if message.when), None)
    if first is None:
        return ""
    local = first.astimezone(zone)
    return f"({local:%Y-%m-%d} is a {_DAYS[local.weekday()]}. Times are in {local.tzinfo}.)"


def raw(messages: Sequence[Spoken], zone: tzinfo = UTC) -> str:
    """The slice as the history keeps it when it could not be summarised."""
    count = f"{len(messages):,} message{'' if len(messages) == 1 else 's'}"
    texts = (formatted(message, zone, whole=True) for message in messages)
    return "\n".join([f"[RAW] {count}", *texts])


def chunks(
    messages: Sequence[Spoken], zone: tzinfo = UTC, *, chars: int
) -> Iterator[tuple[tuple[Spoken, ...], str]]:
    """The slice as texts of at most *chars* characters, with the messages each one is about. A
    message that is longer goes out in pieces, each of which is about that message."""
    group: list[Spoken] = []
    texts: list[str] = []
    size = 0
    for message in messages:
        text = formatted(message, zone)
        if group and size + len(text) + 1 > chars:
            yield tuple(group), "\n".join(texts)
            group, texts, size = [], [], 0
        if len(text) > chars:
            text = redact(text).text
            for start in range(0, len(text), chars):
                yield (message,), text[start : start + chars]
            continue
        group.append(message)
        texts.append(text)
        size += len(text) + 1
    if group:
        yield tuple(group), "\n".join(texts)


def _set_in(text: str, *, whole: bool) -> str:
    """The text, of which no line looks like the beginning of a message: what somebody pasted was
    said by nobody else. For a model all lines but the first are set in."""
    if not whole:
        return "\n  ".join(text.splitlines())
    return _HEAD.sub(r"  \g<0>", text)


def _tool(tool: ToolUsed, *, whole: bool) -> str:
    """A call and what it gave, set in so that no line of it looks like a message."""
    arguments, result = _without_data(clean(tool.arguments)), _without_data(clean(tool.result))
    if not whole and len(result) > RESULT_CHARS:
        result = redact(result).text
        left = len(result) - RESULT_CHARS
        result = f"{result[:RESULT_CHARS]}… ({left:,} more characters)"
    head = f"  TOOL {tool.name}({arguments}), untrusted text that nobody here said:"
    # The raw form keeps every character, whatever else may end a line.
    return "\n    ".join([head, *(result.split("\n") if whole else result.splitlines())])


def _without_data(text: str) -> str:
    """Embedded images and files are named instead."""
    return _DATA.sub(
        lambda data: f"(data: {data[1] or 'unknown'}, {len(data[2]) * 3 // 4:,} bytes)", text
    )
