"""Renders a slice of a conversation as text, for the summariser and for raw entries, and says
where a conversation may be cut.

Speaker and time precede each message. Tool results are marked, since nobody in the conversation
said them; attachments and embedded data are named and not copied. A cut stands only before a
user's turn: a call is never separated from its result, a turn is never split, and the last
exchange stays. Counts are of messages from the first that the model still sees.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from jenny.agent import clock
from jenny.agent.messages import clean
from jenny.workspace.redact import redact

# Days after the first message that the summariser is told by name.
_DAYS_AHEAD = 14
# Length of a tool result for a summariser; the raw form has all of it.
RESULT_CHARS = 2_000
_HEAD = re.compile(r"^\[[^\]\n]{0,40}\] (?:USER|ASSISTANT):", re.MULTILINE)
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[\w;=-]*;base64,([A-Za-z0-9+/]{200,}={0,2})")


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A call with its result. *at* is its position in the message's text in characters; ``None``:
    the end."""

    name: str
    arguments: str = ""
    result: str = ""
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message as written, without additions by the program. *is_refused*: a provider declined
    to answer it."""

    id: int
    speaker: Literal["user", "assistant"]
    text: str
    when: datetime | None = None
    tools: tuple[ToolUsed, ...] = ()
    attachments: tuple[str, ...] = ()
    is_refused: bool = False


def formatted(message: Spoken, zone: tzinfo = UTC, *, whole: bool = False) -> str:
    """Render the message. *whole* keeps tool results complete. Secrets are redacted only in cut
    parts: a cut could leave half of one."""
    stamp = message.when.astimezone(zone).strftime("%Y-%m-%d %H:%M") if message.when else "no time"
    if message.when and not whole:
        stamp = clock.with_weekday(stamp)
    pieces = list(_pieces(message))
    first = pieces[0] if pieces and isinstance(pieces[0], str) else ""
    text = _set_in(_without_data(clean(first)), whole=whole)
    lines = [f"[{stamp}] {message.speaker.upper()}: {text}"]
    lines += [f"  (attachment: {' '.join(name.split())})" for name in message.attachments]
    for piece in pieces[1:] if first else pieces:
        if isinstance(piece, ToolUsed):
            lines.append(_tool(piece, whole=whole))
        else:
            said = _set_in(_without_data(clean(piece)), whole=whole)
            lines.append(said if whole else f"  {said}")
    return "\n".join(lines)


def _pieces(message: Spoken) -> Iterator[str | ToolUsed]:
    """Yield texts and tool calls in their order."""
    at = 0
    for tool in message.tools:
        end = len(message.text) if tool.at is None else tool.at
        if said := message.text[at:end].strip("\n"):
            yield said
        at = max(at, end)
        yield tool
    if said := message.text[at:].strip("\n"):
        yield said


def calendar(messages: Sequence[Spoken], zone: tzinfo = UTC) -> str:
    """Return the day of the first timed message, the following days, and the zone, so that "on
    Friday" can be resolved."""
    first = next((message.when for message in messages if message.when), None)
    if first is None:
        return ""
    local = first.astimezone(zone)
    day = local.date()
    ahead = clock.list_days(day + timedelta(1), _DAYS_AHEAD) if day.year < MAXYEAR else ""
    return (
        f"({day} is a {clock.WEEKDAYS[day.weekday()]}. Times are in {local.tzinfo}. "
        f"The days after it: {ahead}.)"
    )


def last_day(messages: Sequence[Spoken], zone: tzinfo = UTC) -> date | None:
    """Return the day of the last timed message."""
    last = next((message.when for message in reversed(messages) if message.when), None)
    return last.astimezone(zone).date() if last else None


def raw(messages: Sequence[Spoken], zone: tzinfo = UTC) -> str:
    """Render the slice for a raw entry."""
    count = f"{len(messages):,} message{'' if len(messages) == 1 else 's'}"
    texts = (formatted(message, zone, whole=True) for message in messages)
    return "\n".join([f"[RAW] {count}", *texts])


def chunks(
    messages: Sequence[Spoken], zone: tzinfo = UTC, *, chars: int
) -> Iterator[tuple[tuple[Spoken, ...], str]]:
    """Yield texts of at most *chars* characters with the messages of each. A longer message is
    split, and each piece belongs to it."""
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
    """Indent the text so that no line of it looks like the beginning of a message. For a model
    all lines but the first are indented."""
    if not whole:
        return "\n  ".join(text.splitlines())
    return _HEAD.sub(r"  \g<0>", text)


def _tool(tool: ToolUsed, *, whole: bool) -> str:
    """Render a call and its result so that no line looks like a message."""
    arguments, result = _without_data(clean(tool.arguments)), _without_data(clean(tool.result))
    if not whole and len(result) > RESULT_CHARS:
        result = redact(result).text
        left = len(result) - RESULT_CHARS
        result = f"{result[:RESULT_CHARS]}… ({left:,} more characters)"
    head = f"  TOOL {tool.name}({arguments}), untrusted text that nobody here said:"
    # The raw form keeps every character; the other form splits at every line end.
    return "\n    ".join([head, *(result.split("\n") if whole else result.splitlines())])


def _without_data(text: str) -> str:
    return _DATA.sub(
        lambda data: f"(data: {data[1] or 'unknown'}, {len(data[2]) * 3 // 4:,} bytes)", text
    )


KEPT_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class WeighedMessage:
    """A message for a cut: its approximate tokens, and whether a user's turn begins with it (tool
    results begin none)."""

    tokens: int
    begins_turn: bool


def cut_for_tokens(messages: Sequence[WeighedMessage], tokens: int) -> int:
    """Return how many messages must be removed to gain *tokens*: all that may go when they do not
    suffice, 0 when none may."""
    gained = 0
    best = 0
    for at, message in enumerate(messages):
        if at and message.begins_turn:
            best = at
            if gained >= tokens:
                break
        gained += message.tokens
    return best


def cut_for_count(messages: Sequence[WeighedMessage], most: int) -> int:
    """Return how many messages must be removed so that at most *most* stay, or as many as may
    go."""
    surplus = len(messages) - most
    if surplus <= 0:
        return 0
    return cut_for_tokens([WeighedMessage(1, message.begins_turn) for message in messages], surplus)


def cut_for_rest(messages: Sequence[WeighedMessage], keep: int = KEPT_MESSAGES) -> int:
    """Return how many messages leave the context after idle time: all but the last *keep* and the
    rest of their turn."""
    start = max(len(messages) - keep, 0)
    while start and not messages[start].begins_turn:
        start -= 1
    return start
