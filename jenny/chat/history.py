"""A conversation's rows as what the model is told. Plain: it is given rows.

The same rows give the same bytes in every request, so that the provider's cache holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jenny.agent.messages import Message, Part, Text, ToolResult, ToolUse

STOPPED = "(The answer was stopped here.)"
INTERRUPTED = "(The answer was cut off here.)"


_ENDINGS = {"stopped": STOPPED, "interrupted": INTERRUPTED, "failed": INTERRUPTED}


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of an answer, as far as the model is told of it."""

    step: int
    kind: str
    text: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A row of the thread: what a user wrote, or the answer of a turn that ended in *state*."""

    kind: str
    text: str = ""
    context: str = ""
    # Empty: no turn took it.
    state: str = ""
    is_retried: bool = False
    pieces: Sequence[Piece] = ()


def user_message(text: str, context: str) -> Message:
    """What the user wrote, with what only the model sees behind it."""
    return Message("user", (Text(f"{text}\n\n{context}" if context else text),))


def messages(rows: Iterable[Said]) -> list[Message]:
    """The model's history: user messages that a turn took, and answers in force."""
    history: list[Message] = []
    for row in rows:
        if row.kind == "user" and row.state:
            history.append(user_message(row.text, row.context))
        elif row.kind == "answer" and row.state and not row.is_retried:
            history.extend(_answer(row.pieces))
            if row.state in _ENDINGS and any(piece.kind == "text" for piece in row.pieces):
                history.append(Message("assistant", (Text(_ENDINGS[row.state]),)))
    return history


def _answer(pieces: Iterable[Piece]) -> Iterator[Message]:
    """An answer's blocks as the model's messages, each followed by its tools' results."""
    said = (piece for piece in pieces if piece.kind in ("text", "tool"))
    for _, step in groupby(said, key=lambda piece: piece.step):
        parts: list[Part] = []
        results: list[Part] = []
        for piece in step:
            if piece.kind == "text":
                parts.append(Text(piece.text))
                continue
            data = piece.data
            parts.append(ToolUse(data["id"], data["name"], data["arguments"]))
            if "result" in data:
                results.append(ToolResult(data["id"], data["result"], ok=bool(data.get("ok"))))
        yield Message("assistant", tuple(parts))
        if results:
            yield Message("user", tuple(results))
