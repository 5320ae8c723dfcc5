"""Turns a conversation's rows into messages for the model. Plain: it is given rows.

The same rows give the same bytes in every request, so that the provider's cache hits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jenny.agent.messages import Message, Part, Text, ToolResult, ToolUse
from jenny.chat.attachment_texts import AttachedFile, message_parts

STOPPED = "(The answer was stopped here.)"
INTERRUPTED = "(The answer was cut off here.)"


_ENDINGS = {"stopped": STOPPED, "interrupted": INTERRUPTED, "failed": INTERRUPTED}


@dataclass(frozen=True, slots=True)
class Piece:
    step: int
    kind: str
    text: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A row of the thread: a user's message, or the answer of a turn that ended in *state*.

    *is_refused*: the provider declined to answer that turn.
    """

    kind: str
    text: str = ""
    context: str = ""
    # Empty: no turn took it.
    state: str = ""
    is_retried: bool = False
    pieces: Sequence[Piece] = ()
    id: int = 0
    is_refused: bool = False
    files: Sequence[AttachedFile] = ()


def user_message(
    text: str, context: str, files: Sequence[AttachedFile] = (), folder: str = ""
) -> Message:
    """Build a user message with *context*, which only the model sees, after the text.

    *folder*: the one that the paths of *files* are given from.
    """
    whole = f"{text}\n\n{context}" if context else text
    return Message("user", tuple(message_parts(whole, files, folder=folder)))


def messages(rows: Iterable[Said], folder: str = "") -> list[Message]:
    """Return the model's history: user messages that a turn took, and current answers.

    Turns that a provider declined to answer are left out, since it would decline every later
    request with them.
    """
    history: list[Message] = []
    for row in rows:
        if row.is_refused:
            continue
        if row.kind == "user" and row.state:
            history.append(user_message(row.text, row.context, row.files, folder))
        elif row.kind == "answer" and row.state and not row.is_retried:
            history.extend(_answer(row.pieces))
            if row.state in _ENDINGS and any(piece.kind == "text" for piece in row.pieces):
                history.append(Message("assistant", (Text(_ENDINGS[row.state]),)))
    return history


def _answer(pieces: Iterable[Piece]) -> Iterator[Message]:
    """Yield an answer's blocks as messages, tool calls followed by their results."""
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
