"""A conversation's rows as what the model is told. Plain: it is given rows.

The same rows give the same bytes in every request, so that the provider's cache holds.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from jenny.agent.messages import Message, Part, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from jenny.chat.models import Block
    from jenny.chat.models import Message as Row

STOPPED = "(The answer was stopped here.)"
INTERRUPTED = "(The answer was cut off here.)"


def user_message(row: "Row") -> Message:
    """What the user wrote, with what only the model sees behind it."""
    text = f"{row.text}\n\n{row.context}" if row.context else row.text
    return Message("user", (Text(text),))


def messages(rows: Iterable["Row"]) -> list[Message]:
    """The model's history: user messages that a turn took, and answers in force."""
    history: list[Message] = []
    for row in rows:
        if row.kind == "user" and row.turn_id is not None:
            history.append(user_message(row))
        elif row.kind == "answer" and row.turn is not None and not row.turn.retried:
            history.extend(_answer(row.blocks.all()))
            ending = {"stopped": STOPPED, "interrupted": INTERRUPTED, "failed": INTERRUPTED}
            if row.turn.state in ending and any(block.kind == "text" for block in row.blocks.all()):
                history.append(Message("assistant", (Text(ending[row.turn.state]),)))
    return history


def _answer(blocks: Iterable["Block"]) -> Iterator[Message]:
    """An answer's blocks as the model's messages, each followed by its tools' results."""
    said = (block for block in blocks if block.kind in ("text", "tool"))
    for _, step in groupby(said, key=lambda block: block.step):
        parts: list[Part] = []
        results: list[Part] = []
        for block in step:
            if block.kind == "text":
                parts.append(Text(block.text))
                continue
            data = block.data
            parts.append(ToolUse(data["id"], data["name"], data["arguments"]))
            if "result" in data:
                results.append(ToolResult(data["id"], data["result"], ok=bool(data.get("ok"))))
        yield Message("assistant", tuple(parts))
        if results:
            yield Message("user", tuple(results))
