"""Messages between a person, a model and its tools, and their form on the wire.

Everything above the provider uses these values. ``to_wire`` writes the Messages API's form and
repairs whatever a provider would refuse: a history has pasted texts, output of models and the
remains of killed processes, and one bad block in it would otherwise make the provider refuse every
later turn of that conversation.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

NO_RESULT = "No result: the run ended before this call finished."
EARLIER_CUT = "(The beginning of this conversation is not shown.)"

# The API accepts these letters in ids and names of tools, and limits the length of names.
_ID_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in base64. *text* takes its place for a model that sees none.

    *width* × *height*: its pixels, which a provider counts as tokens.
    """

    media_type: str
    data: str
    text: str
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thinking of a model. The provider checks the signature when it gets the block back.

    *redacted* has a block that only the provider can read.
    """

    text: str
    signature: str = ""
    redacted: str = ""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a model asks for. *problem* says why the arguments could not be read."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    tool_use_id: str
    content: str
    ok: bool = True


type Part = Text | Image | Thinking | ToolUse | ToolResult
type Role = Literal["user", "assistant"]

# The parts allowed for each role.
_KINDS = {"user": (Text, Image, ToolResult), "assistant": (Text, Thinking, ToolUse)}


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[Part, ...]


def text_message(role: Role, text: str) -> Message:
    return Message(role, (Text(text),))


def clean(text: str) -> str:
    """Return *text* in a form that UTF-8 can encode and providers accept.

    Halves of a surrogate pair are joined, lone ones replaced by U+FFFD, NUL is dropped (providers
    answer 400 to either).
    """
    if text.isascii():
        return text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "")


def clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value


def to_wire(
    messages: Sequence[Message], *, thinking: bool = True, images: bool = True
) -> list[dict[str, Any]]:
    """Return the messages as the API takes them, with a cache breakpoint on the last block.

    Roles alternate and the user begins; every call has exactly one result, right after it; ids are
    unique; nothing is blank. ``thinking=False`` leaves thinking out, ``images=False`` sends a text
    in place of each picture (for a provider that refuses them).
    """
    wire = [
        {
            "role": message.role,
            "content": [_block(part, images=images) for part in message.parts],
        }
        # Joined again, since a message may have had nothing but results without a call.
        for message in _joined(_paired(_joined(messages, thinking=thinking)), thinking=thinking)
    ]
    _mark_last(wire)
    return wire


def _joined(messages: Iterable[Message], *, thinking: bool) -> list[Message]:
    """Drop blank parts and merge adjacent messages of one role."""
    joined: list[Message] = []
    for message in messages:
        kinds = _KINDS[message.role]
        parts = tuple(
            part
            for part in message.parts
            if isinstance(part, kinds) and _says_something(part, thinking=thinking)
        )
        if not parts:
            continue
        if joined and joined[-1].role == message.role:
            joined[-1] = replace(joined[-1], parts=joined[-1].parts + parts)
        else:
            joined.append(Message(message.role, parts))
    if joined and joined[0].role == "assistant":
        joined.insert(0, text_message("user", EARLIER_CUT))
    return joined


def _says_something(part: Part, *, thinking: bool) -> bool:
    if isinstance(part, Text):
        return bool(part.text.strip("\0 \t\r\n\f\v"))
    if isinstance(part, Thinking):
        # Unsigned thinking comes from servers that do not accept it back.
        return thinking and bool(part.signature or part.redacted)
    return True


def _paired(messages: list[Message]) -> list[Message]:
    """Make call ids unique, and answer each call in the user message that follows it."""
    paired: list[Message] = []
    used: set[str] = set()
    waiting: dict[str, deque[str]] = {}
    for message in messages:
        if message.role == "assistant":
            parts, waiting = _with_unique_ids(message.parts, used)
            paired.append(Message("assistant", parts))
            continue
        # A result without a call, or a second one, is dropped: the API refuses it.
        results = [
            replace(part, tool_use_id=waiting[part.tool_use_id].popleft())
            for part in message.parts
            if isinstance(part, ToolResult) and waiting.get(part.tool_use_id)
        ]
        rest = [part for part in message.parts if not isinstance(part, ToolResult)]
        parts = (*results, *_unanswered(waiting), *rest)
        waiting = {}
        if parts:
            paired.append(Message("user", parts))
    if any(waiting.values()):
        paired.append(Message("user", tuple(_unanswered(waiting))))
    return paired


def _with_unique_ids(
    parts: tuple[Part, ...], used: set[str]
) -> tuple[tuple[Part, ...], dict[str, deque[str]]]:
    """Return the parts with unused ids, and the new ids by old one, in order."""
    renamed: list[Part] = []
    waiting: dict[str, deque[str]] = {}
    for part in parts:
        if not isinstance(part, ToolUse):
            renamed.append(part)
            continue
        stem = _ID_REFUSED.sub("_", part.id)[:60] or "call"
        unique, number = stem, 2
        while unique in used:
            unique, number = f"{stem}_{number}", number + 1
        used.add(unique)
        waiting.setdefault(part.id, deque()).append(unique)
        renamed.append(replace(part, id=unique))
    return tuple(renamed), waiting


def _unanswered(waiting: dict[str, deque[str]]) -> list[Part]:
    return [ToolResult(id_, NO_RESULT, ok=False) for ids in waiting.values() for id_ in ids]


def _block(part: Part, *, images: bool) -> dict[str, Any]:
    match part:
        case Image():
            return _image(part) if images else {"type": "text", "text": clean(part.text)}
        case Text(text):
            return {"type": "text", "text": clean(text)}
        case Thinking(text, signature, redacted):
            # Byte for byte as it came: the signature covers it.
            shown = {"type": "thinking", "thinking": text, "signature": signature}
            return {"type": "redacted_thinking", "data": redacted} if redacted else shown
        case ToolUse(id_, name, arguments):
            return {
                "type": "tool_use",
                "id": id_,
                # The model may have called a tool that does not exist; the API accepts its name
                # back only in the form of a tool's name.
                "name": _ID_REFUSED.sub("_", name)[:_LONGEST_NAME] or "unnamed",
                "input": clean_value(arguments),
            }
        case ToolResult(id_, content, ok):
            block = {
                "type": "tool_result",
                "tool_use_id": id_,
                "content": clean(content),
            }
            return block if ok else {**block, "is_error": True}


def _image(part: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


def _mark_last(wire: list[dict[str, Any]]) -> None:
    """Put the cache breakpoint where the next request's common beginning ends."""
    for message in reversed(wire):
        for block in reversed(message["content"]):
            if block["type"] in {"text", "tool_use", "tool_result"}:
                block["cache_control"] = {"type": "ephemeral"}
                return
