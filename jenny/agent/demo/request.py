"""Parses a request for the rules."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jenny.markdown.comments import without_comments

# Paragraphs at a message's end that are marked as not the person's own words.
_CONTEXT = re.compile(r"\n\n(?:\[[^\]]*\]|\([^)]*\)|<(\w+)[^>]*>.*</\1>)\s*\Z", re.DOTALL)
# The rules read no more than this, since their patterns are slow on long texts.
_SAID_CHARS = 8000
_CONTEXT_CHARS = 2000
_FILE = re.compile(r"## (?:(\S+\.md)|Long-term Memory)")
_FENCE = re.compile(r"(`{3,})markdown")
_BULLET = re.compile(r"[-*+]\s+(.+)")
_MEMORY = ("USER.md", "memory/MEMORY.md")
_LATELY = "\n# What was said lately\n"
# How a part of a message begins that says which files came with it.
_ATTACHED = "<attachments>\n"
_NOTED = re.compile(r"- \[(?:permanent|durable|correction|dated)[^\]\n]{0,40}\] (.+)")


class BadRequest(ValueError):
    """The request breaks the API's rules; the message says which one."""


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: dict[str, Any]


type Piece = Say | Think | Call


@dataclass(frozen=True, slots=True)
class Done:
    call: Call
    result: str
    ok: bool


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """A parsed request.

    *said* is the person's last message, *context* the text after it for the model alone, *earlier*
    the messages before, *done* the calls made since, in order.
    """

    system: str
    said: str
    context: str
    earlier: tuple[str, ...]
    done: tuple[Done, ...]
    tools: frozenset[str]
    # The person's last message and those before, unshortened: for rules that read line by line.
    whole: str = ""
    # What the program says of the files that came with the last message.
    attachments: str = ""

    @property
    def words(self) -> str:
        """Return the last message in lower case, on one line."""
        return " ".join(self.said.lower().split())


def parse_request(body: bytes) -> DemoRequest:
    """Parse a request's body. Raises ``BadRequest``."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("The request body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise BadRequest("The request body must be an object.")
    for name in ("model", "messages"):
        if not data.get(name):
            raise BadRequest(f"{name}: Field required")
    messages = [(message["role"], _blocks(message["content"])) for message in data["messages"]]
    _check(messages)
    spoken = [
        (index, text)
        for index, (role, blocks) in enumerate(messages)
        if role == "user" and (text := _text(blocks))
    ]
    last, text = spoken[-1] if spoken else (0, "")
    said, context = _without_context(text)
    said = said[:_SAID_CHARS]
    return DemoRequest(
        system=_text(_blocks(data.get("system") or [])),
        said=said,
        context=context,
        earlier=tuple(_without_context(text)[0] for _, text in spoken[:-1]),
        done=tuple(_done(messages[last + 1 :])),
        tools=frozenset(tool["name"] for tool in data.get("tools") or []),
        whole="\n\n".join(text for _, text in spoken),
        attachments=_attachments(messages[last][1]) if spoken else "",
    )


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(blocks: list[dict[str, Any]]) -> str:
    texts = (block["text"] for block in blocks if block["type"] == "text")
    return "\n\n".join(text for text in texts if not text.startswith(_ATTACHED))


def _attachments(blocks: list[dict[str, Any]]) -> str:
    texts = (block["text"] for block in blocks if block["type"] == "text")
    return "\n".join(text for text in texts if text.startswith(_ATTACHED))


def _without_context(text: str) -> tuple[str, str]:
    found = _CONTEXT.search(text, max(len(text) - _CONTEXT_CHARS, 0))
    return (text[: found.start()], text[found.start() :].strip()) if found else (text, "")


def _check(messages: list[tuple[str, list[dict[str, Any]]]]) -> None:
    """Refuse what a provider refuses, so that such faults show without a provider."""
    if messages[0][0] != "user":
        raise BadRequest("messages: first message must use the “user” role")
    waiting: set[str] = set()
    used: set[str] = set()
    for role, blocks in messages:
        if not blocks:
            raise BadRequest("messages: all messages must have non-empty content")
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != waiting:
            raise BadRequest("messages: each tool_use must have its tool_result right after it")
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(calls)) < len(calls) or used & set(calls) or (calls and role == "user"):
            raise BadRequest("messages: tool_use ids must be unique")
        waiting = set(calls)
        used |= waiting
    if waiting:
        raise BadRequest("messages: each tool_use must have its tool_result right after it")


def _done(messages: list[tuple[str, list[dict[str, Any]]]]) -> list[Done]:
    blocks = [block for _, blocks in messages for block in blocks]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    return [
        Done(
            Call(block["name"], block["input"]),
            _text(_blocks(results[block["id"]].get("content") or "")),
            not results[block["id"]].get("is_error"),
        )
        for block in blocks
        if block["type"] == "tool_use"
    ]


def known_facts(system: str) -> list[str]:
    """List what a chat's prompt says about the person: lines of the memory files, and what was
    said lately.
    """
    lines = [line.lstrip("-*+ ") for path, line in lines_of(system) if path in _MEMORY]
    lately = system.partition(_LATELY)[2].partition("\n---\n")[0]
    return list(dict.fromkeys([*lines, *_NOTED.findall(lately)]))


def lines_of(system: str) -> Iterator[tuple[str, str]]:
    """Yield the bullets of the memory files in a prompt, each with its file."""
    for path, text in _files(system):
        for line in without_comments(text).split("\n"):
            if _BULLET.fullmatch(line.strip()):
                yield path, line.strip()


def _files(system: str) -> Iterator[tuple[str, str]]:
    """Yield the memory files in a prompt: a heading with the path, then the text in a fence."""
    path = fence = ""
    lines: list[str] = []
    for line in system.split("\n"):
        if fence and line == fence:
            yield path, "\n".join(lines)
            path = fence = ""
        elif fence:
            lines.append(line)
        elif heading := _FILE.fullmatch(line):
            path = heading[1] or _MEMORY[-1]
        elif path and (opening := _FENCE.fullmatch(line)):
            fence, lines = opening[1], []
