"""A conversation's rows as the items that the thread shows. Plain: it is given rows."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from jenny.markdown.render import render
from jenny.markdown.streaming import StreamRenderer

if TYPE_CHECKING:
    from jenny.chat.models import Block, Message, Turn

# Characters of a tool's first argument shown on its line.
SHORT_ARGUMENT = 60


@dataclass(frozen=True)
class BlockView:
    """A block of an answer, as ``templates/chat/thread.html#block`` shows it."""

    id: str
    kind: str
    html: str = ""
    open_html: str = ""
    done_count: int = 0
    is_open: bool = False
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """An element of the thread, as ``templates/chat/thread.html#item`` shows it."""

    id: str
    kind: str
    message: "Message"
    text: str = ""
    html: str = ""
    blocks: tuple[BlockView, ...] = ()
    turn: "Turn | None" = None
    waiting: bool = False
    day: date | None = None
    is_last_of_turn: bool = False
    # What was summarised up to here (rows of ``Summary``).
    summaries: Iterable[Any] = ()


def block_view(block: "Block") -> BlockView:
    """A row as the page shows it; text that is still being written in the state that the
    stream's next event expects."""
    view = BlockView(
        id=f"b{block.pk}",
        kind=block.kind,
        html=block.html,
        is_open=block.is_open,
        text=block.text,
        data=_tool_data(block.data) if block.kind == "tool" else block.data,
    )
    if block.kind != "text" or not block.is_open:
        return view
    # As many chunks count as finished as the worker has told of: it took the text in pieces,
    # and may be behind one that takes it whole.
    count = block.data.get("done", 0)
    done, open_html = renderer_of(block).snapshot(count)
    return replace(view, html=done, open_html=open_html, done_count=count)


def renderer_of(block: "Block") -> StreamRenderer:
    """The renderer of a block of text, in the state of its row; ids in it are the block's own."""
    return StreamRenderer(block.text, prefix=f"b{block.pk}-")


def _tool_data(data: dict[str, Any]) -> dict[str, Any]:
    """A tool call's facts, with its arguments readable and in short."""
    arguments = data.get("arguments") or {}
    first = next((value for value in arguments.values() if isinstance(value, str)), "")
    short = " ".join(first.split())
    return {
        **data,
        "arguments_pretty": json.dumps(arguments, ensure_ascii=False, indent=2),
        "short": short[:SHORT_ARGUMENT] + ("…" if len(short) > SHORT_ARGUMENT else ""),
    }


def item(
    message: "Message",
    *,
    day: date | None = None,
    is_last: bool = True,
    blocks: "Iterable[Block] | None" = None,
    summaries: Iterable[Any] | None = None,
) -> Item:
    """A message with its turn, and the blocks and summaries that stand in it: those that are
    given, or else the stored ones."""
    if blocks is None:
        blocks = message.blocks.all() if message.kind == "answer" else ()
    kind = message.kind
    return Item(
        id=f"m{message.pk}",
        kind=kind,
        message=message,
        text=message.text,
        html=render(message.text, prefix=f"m{message.pk}-") if kind == "reply" else "",
        blocks=tuple(block_view(row) for row in blocks),
        turn=message.turn,
        waiting=kind == "user" and message.turn_id is None,
        day=day,
        is_last_of_turn=is_last,
        summaries=message.summaries.all() if summaries is None else summaries,
    )


def items(messages: Iterable["Message"], zone: tzinfo) -> Iterator[Item]:
    """The messages in order, with the day where it changes (in *zone*)."""
    rows = list(messages)
    last_of_turn = {row.turn_id: row.pk for row in rows if row.kind == "answer"}
    day: date | None = None
    for row in rows:
        today = row.created_at.astimezone(zone).date()
        yield item(
            row,
            day=today if today != day else None,
            is_last=last_of_turn.get(row.turn_id) == row.pk,
        )
        day = today


def by_day[T](
    rows: Iterable[T], when: Callable[[T], datetime], now: datetime
) -> list[tuple[str, list[T]]]:
    """*rows*, newest first, under the words a list of conversations uses for days."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(
            day_label(when(row).astimezone(now.tzinfo).date(), now.date()), []
        ).append(row)
    return list(groups.items())


def day_label(day: date, today: date) -> str:
    """The words for *day* in a list: today, yesterday, this week, this month, or its month."""
    age = (today - day).days
    if age <= 1:
        return "Today" if age < 1 else "Yesterday"
    if age < 7:  # noqa: PLR2004 - a week
        return "This week"
    if (day.year, day.month) == (today.year, today.month):
        return "This month"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"
