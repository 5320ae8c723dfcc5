"""Which part of a conversation goes into the history, and what is told of it.
Plain: it is given rows, oldest first, and the pointers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jenny.agent.tokens import estimate
from memory.history import boundary
from memory.history.boundary import Weighed
from memory.history.transcript import Spoken, ToolUsed

if TYPE_CHECKING:
    from jenny.chat.models import Message as Row


@dataclass(frozen=True, slots=True)
class Pointers:
    """What is in the history, what the model sees, and where the session began: ids of
    messages."""

    summarised_through: int
    context_from: int
    session_from: int


@dataclass(frozen=True, slots=True)
class Slice:
    """*rows* go into the history; then the pointers are these, and the context is about
    *tokens_gone* tokens smaller. *is_past*: they belong to a session that is over."""

    rows: tuple["Row", ...]
    through: int
    context_from: int
    tokens_gone: int = 0
    is_past: bool = False


def past(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    """What ``/new`` left behind."""
    tail = tuple(row for row in rows if at.summarised_through < row.pk < at.session_from)
    return Slice(tail, tail[-1].pk, at.context_from, is_past=True) if tail else None


def unheard(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    """All of the session that is not in the history; what the model sees stays as it is."""
    first = max(at.summarised_through + 1, at.session_from)
    tail = tuple(row for row in rows if row.pk >= first)
    return Slice(tail, tail[-1].pk, at.context_from) if tail else None


def whole(rows: Sequence["Row"], at: Pointers) -> Slice | None:
    """All that is not in the history; the last messages stay in the context."""
    tail = tuple(row for row in rows if row.pk > at.summarised_through)
    context = [row for row in rows if row.pk >= at.context_from]
    weights = weighed(context)
    gone = boundary.for_rest(weights)
    if not tail and not gone:
        return None
    return Slice(
        tail,
        tail[-1].pk if tail else at.summarised_through,
        context[gone].pk if gone else at.context_from,
        _sum(weights[:gone]),
    )


def oldest(rows: Sequence["Row"], at: Pointers, *, tokens: int = 0, keep: int = 0) -> Slice | None:
    """The oldest turns, so that *tokens* are gained and at most *keep* messages stay (0: as
    many as there are); ``None`` when none may go."""
    context = [row for row in rows if row.pk >= at.context_from]
    weights = weighed(context)
    gone = max(
        boundary.for_tokens(weights, tokens) if tokens > 0 else 0,
        boundary.for_count(weights, keep) if keep else 0,
    )
    if not gone:
        return None
    last = context[gone - 1].pk
    # Also what left the context earlier and is not in the history: an edit may bring that about.
    return Slice(
        tuple(row for row in rows if at.summarised_through < row.pk <= last),
        max(at.summarised_through, last),
        context[gone].pk,
        _sum(weights[:gone]),
    )


def weighed(rows: Sequence["Row"]) -> list[Weighed]:
    """The rows as far as a cut is concerned. A turn that took messages in on its way, or whose
    answer stands behind the next message, is one piece all the same."""
    last_of = {row.turn_id: number for number, row in enumerate(rows)}
    found = []
    under_way = -1
    for number, row in enumerate(rows):
        found.append(Weighed(_tokens(row), row.kind == "user" and number > under_way))
        under_way = max(under_way, last_of[row.turn_id])
    return found


def spoken(row: "Row") -> Spoken | None:
    """The message as the summariser gets it, without what the program added; ``None``: it says
    nothing."""
    if row.kind == "user":
        return Spoken(row.pk, "user", row.text, row.created_at)
    blocks = list(row.blocks.all())
    text = "\n\n".join(block.text for block in blocks if block.kind == "text" and block.text)
    tools = tuple(
        ToolUsed(
            str(block.data.get("name", "")),
            json.dumps(block.data.get("arguments", {}), ensure_ascii=False),
            str(block.data.get("result", "")),
        )
        for block in blocks
        if block.kind == "tool"
    )
    if not text.strip() and not tools:
        return None
    return Spoken(row.pk, "assistant", text, row.created_at, tools)


def _tokens(row: "Row") -> int:
    """About how many tokens the message takes in a request."""
    if row.kind == "user":
        return estimate(row.text) + estimate(row.context)
    return sum(
        estimate(block.text)
        if block.kind == "text"
        else estimate(json.dumps(block.data, ensure_ascii=False))
        for block in row.blocks.all()
        if block.kind in {"text", "tool"}
    )


def _sum(weights: Sequence[Weighed]) -> int:
    return sum(weight.tokens for weight in weights)
