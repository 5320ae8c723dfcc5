"""Measures how full the context window of a conversation is.

The meter says it in words and as a percentage. ``ContextUsage`` says by how much the context is too
large, and ``find_overflow`` names what is too big after all that may leave it has left.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jenny.agent.tokens import estimate
from jenny.chat.models import Conversation, Message
from jenny.chat.prompt import FixedCost, fixed_cost
from jenny.chat.services.model_context import prompt_of
from jenny.chat.services.publish import Publisher
from jenny.chat.tools import tools_of
from jenny.workspace import config as workspace_config
from jenny.workspace.config import Config
from memory.history import transcript
from memory.history.transcript import Spoken, ToolUsed, WeighedMessage

# Chooses the part of a conversation that is summarised into the history next.
#
# Plain: it is given rows, oldest first, and the pointers.


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


def unsummarised(rows: Sequence["Row"], at: Pointers) -> Slice | None:
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


# Tokens kept free in addition to the answer.
RESERVE = 1024

_THOUSAND = 1000
# From here on a decimal of thousands is not shown.
_WHOLE = 9.95


@dataclass(frozen=True)
class Meter:
    used: int
    total: int

    @property
    def percent(self) -> int:
        return min(999, round(100 * self.used / self.total)) if self.total > 0 else 0

    @property
    def message(self) -> str:
        total = _short(self.total)
        return (
            f"{_short(self.used)} of {total} tokens; the oldest turns will be summarised at {total}"
        )


def meter(used: int, *, window: int, max_tokens: int) -> Meter:
    """Return the meter of a conversation whose last request and answer took *used* tokens."""
    return Meter(used, max(0, window - max_tokens - RESERVE))


def meter_of(chat: Conversation, config: Config) -> Meter:
    """Return the meter for the newest turn since the conversation's context was last reset."""
    newest = (
        chat.turns.filter(
            context_tokens__gt=0, messages__pk__gte=chat.context_from, messages__is_current=True
        )
        .order_by("-pk")
        .values_list("context_tokens", flat=True)
        .first()
    )
    return meter(
        max(0, (newest or 0) - chat.tokens_gone),
        window=config.agents.defaults.context_window_tokens,
        max_tokens=config.agents.defaults.max_tokens,
    )


def _short(tokens: int) -> str:
    if tokens < _THOUSAND:
        return str(tokens)
    thousands = tokens / _THOUSAND
    return f"{thousands:.1f}k" if thousands < _WHOLE else f"{thousands:.0f}k"


class ContextUsage:
    def __init__(self, chat: Conversation) -> None:
        config = workspace_config.load_config(chat.workspace.root)
        self._ratio = config.agents.defaults.consolidation_ratio
        self._most = config.agents.defaults.max_messages
        self.budget = meter(
            0,
            window=config.agents.defaults.context_window_tokens,
            max_tokens=config.agents.defaults.max_tokens,
        ).total
        # Only the newest turn's count holds: an older turn may have seen what has left.
        newest = (
            chat.turns.filter(messages__is_current=True)
            .order_by("-pk")
            .values_list("context_tokens", flat=True)
            .first()
        )
        self.used = max(0, (newest or 0) - chat.tokens_gone)

    def is_on(self, count: int) -> bool:
        return self.surplus > 0 or self.keep(count) > 0

    @property
    def surplus(self) -> int:
        """Tokens that must leave; 0 while all fit."""
        target = int(self.budget * self._ratio)
        return max(1, self.used - target) if 0 < self.budget <= self.used else 0

    def keep(self, count: int) -> int:
        """Return how many messages stay; 0: all of *count*.

        As with tokens, enough messages leave that the next turns find room.
        """
        return max(1, int(self._most * self._ratio)) if count > self._most else 0


def find_overflow(chat: Conversation) -> str:
    """Return a sentence that names it; empty while everything fits."""
    chat.refresh_from_db()
    pressure = ContextUsage(chat)
    if not pressure.surplus:
        return ""
    return too_big(chat, pressure.budget, over=max(1, pressure.used - pressure.budget))


def too_big(chat: Conversation, budget: int, *, over: int, is_alone: bool = False) -> str:
    """Name what exceeds *budget* tokens by *over*: a file of every request, or the last exchange.

    *is_alone*: nothing else is sent, so a new conversation changes nothing.
    """
    fixed = fixed_part(chat, budget)
    last = _last_exchange(chat)
    room = f"of the {budget:,} tokens that this model has room for"
    files = [part for part in fixed.parts if part.source]
    if is_alone and fixed.tokens > last and not (files and files[0].tokens * 3 > fixed.tokens):
        return (
            f"The instructions and tools of every message take about {fixed.tokens:,} {room}. "
            "Choose a model that reads more."
        )
    if files and fixed.tokens >= last:
        return (
            f"{files[0].source} is too big: about {files[0].tokens:,} {room} go out with every "
            f"message for it. Shorten it by about {min(over, files[0].tokens):,} tokens, or choose "
            "a model that reads more."
        )
    if is_alone:
        return (
            f"This message and what was read for it are too big: about {last:,} {room}. Send it in "
            "parts, or choose a model that reads more."
        )
    return (
        f"The last exchange is too big: about {last:,} {room}. It is never split. Begin anew with "
        "/new, or choose a model that reads more."
    )


def fixed_part(chat: Conversation, room: int) -> FixedCost:
    """Return what every request of the conversation contains, of *room* tokens."""
    tools = tools_of(chat.kind)
    schemas = [tool.schema for tool in tools]
    names = [tool.name for tool in tools]
    prompt = prompt_of(chat, names)
    return fixed_cost(prompt, schemas, room=room)


def publish_overflow(chat: Conversation, message: str) -> None:
    """Show the sentence next to the meter; empty: remove it."""
    rows = Conversation.objects.filter(pk=chat.pk).exclude(overflow_note=message)
    # Mostly it says so already, and there is nothing to write.
    if rows.exists() and rows.update(overflow_note=message):
        chat.refresh_from_db()
        gauge = meter_of(chat, workspace_config.load_config(chat.workspace.root))
        Publisher(chat).meter(gauge.message, gauge.percent, message)


def _last_exchange(chat: Conversation) -> int:
    """Estimate the tokens of the last turn, which always stays."""
    rows = list(
        Message.objects.filter(
            conversation=chat,
            pk__gte=chat.context_from,
            kind__in=("user", "answer"),
            is_current=True,
        )
        .exclude(turn=None)
        .select_related("turn")
        .prefetch_related("blocks", "attachments")
        .order_by("pk")
    )
    weights = weighed(rows)
    begins = [number for number, weight in enumerate(weights) if weight.begins_turn]
    return sum(weight.tokens for weight in weights[begins[-1] if begins else 0 :])
