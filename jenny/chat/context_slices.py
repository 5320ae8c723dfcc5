"""Chooses the part of a conversation that is summarised into the history next.

Plain: it is given rows, oldest first, and the pointers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jenny.agent.tokens import estimate
from memory.history import transcript
from memory.history.transcript import Spoken, ToolUsed, WeighedMessage

if TYPE_CHECKING:
    from jenny.chat.models import Message as Row


@dataclass(frozen=True, slots=True)
class Pointers:
    """Message ids: the last one in the history, the model's first one, the session's first one."""

    summarised_through: int
    context_from: int
    session_from: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice to summarise, and the pointers after it.

    *rows* are added to the history; *tokens_gone* is about how many tokens leave the context.
    *is_past*: the rows belong to a session that is over.
    """

    rows: tuple["Row", ...]
    through: int
    context_from: int
    tokens_gone: int = 0
    is_past: bool = False


def past(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    tail = tuple(row for row in rows if at.summarised_through < row.pk < at.session_from)
    return Slice(tail, tail[-1].pk, at.context_from, is_past=True) if tail else None


def unheard(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    """Return all messages of the session that the history lacks; the context stays as it is."""
    first = max(at.summarised_through + 1, at.session_from)
    tail = tuple(row for row in rows if row.pk >= first)
    return Slice(tail, tail[-1].pk, at.context_from) if tail else None


def whole(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    """Return all that the history lacks; the last messages stay in the context."""
    tail = tuple(row for row in rows if row.pk > at.summarised_through)
    context = [row for row in rows if row.pk >= at.context_from]
    weights = weighed(context)
    gone = transcript.cut_for_rest(weights)
    if not tail and not gone:
        return None
    return Slice(
        tail,
        tail[-1].pk if tail else at.summarised_through,
        context[gone].pk if gone else at.context_from,
        _sum(weights[:gone]),
    )


def oldest(rows: Sequence["Row"], at: Pointers, *, tokens: int = 0, keep: int = 0) -> Slice | None:
    """Return the oldest turns that free *tokens* and leave at most *keep* messages.

    *keep* 0 sets no limit. ``None``: no turn may leave.
    """
    context = [row for row in rows if row.pk >= at.context_from]
    weights = weighed(context)
    gone = max(
        transcript.cut_for_tokens(weights, tokens) if tokens > 0 else 0,
        transcript.cut_for_count(weights, keep) if keep else 0,
    )
    if not gone:
        return None
    last = context[gone - 1].pk
    # Include what left the context earlier and is not in the history; an edit can cause that.
    return Slice(
        tuple(row for row in rows if at.summarised_through < row.pk <= last),
        max(at.summarised_through, last),
        context[gone].pk,
        _sum(weights[:gone]),
    )


def weighed(rows: Sequence["Row"]) -> list[WeighedMessage]:
    """Return the rows as units for choosing a cut.

    A turn that took in messages while it ran, or whose answer follows the next message, is one
    unit.
    """
    last_of = {row.turn_id: number for number, row in enumerate(rows)}
    found = []
    under_way = -1
    for number, row in enumerate(rows):
        found.append(WeighedMessage(tokens_of(row), row.kind == "user" and number > under_way))
        under_way = max(under_way, last_of[row.turn_id])
    return found


def spoken(row: "Row") -> Spoken | None:
    """Return the message for the summariser, without what the program added; ``None``: it has no
    content.
    """
    is_refused = row.turn is not None and row.turn.is_refused
    if row.kind == "user":
        files = tuple(one.as_file().marker for one in row.attachments.all())
        return Spoken(
            row.pk, "user", row.text, row.created_at, attachments=files, is_refused=is_refused
        )
    blocks = list(row.blocks.all())
    text = ""
    tools: list[ToolUsed] = []
    for block in blocks:
        if block.kind == "text" and block.text:
            text += f"\n\n{block.text}" if text else block.text
        elif block.kind == "tool":
            name = str(block.data.get("name", ""))
            arguments = json.dumps(block.data.get("arguments", {}), ensure_ascii=False)
            result = str(block.data.get("result", ""))
            tools.append(ToolUsed(name, arguments, result, len(text)))
    if not text.strip() and not tools:
        return None
    return Spoken(row.pk, "assistant", text, row.created_at, tuple(tools), is_refused=is_refused)


def tokens_of(row: "Row") -> int:
    """Estimate the tokens of a message in a request, with its files."""
    if row.turn is not None and row.turn.is_refused:
        return 0  # it is not sent
    if row.kind == "user":
        files = sum(one.tokens for one in row.attachments.all())
        return estimate(row.text) + estimate(row.context) + files
    return sum(
        estimate(block.text)
        if block.kind == "text"
        else estimate(json.dumps(block.data, ensure_ascii=False))
        for block in row.blocks.all()
        if block.kind in {"text", "tool"}
    )


def _sum(weights: Sequence[WeighedMessage]) -> int:
    return sum(weight.tokens for weight in weights)
