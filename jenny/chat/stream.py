"""The event stream of a conversation, on a Redis Stream.

An entry's id is a :class:`Position`: the event number from the database, and a count below it. Ids
only rise, so Redis itself refuses a repeated or late event. Each entry names the entry before it
(*previous*): a reader that has not seen that one has missed events and must render the database's
state anew.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import redis
import redis.asyncio

from jenny.markdown.streaming import Done, Items, Op, Open
from jenny.workspace import retention

# The events that are sent to a page: a table of kinds, and a function for each.
#
# A page applies an event by the id of the element it names, so a repeated event changes nothing.


Event = dict[str, Any]

# kind → the page's action. static/js/stream.js has one branch for each.
KINDS = {
    "item": "put an element of the thread in place, at the end when it is new",
    "block": "put a block of an answer in place, at the end of the answer when it is new",
    "done": "append a finished chunk of text before the open one",
    "open": "replace the open chunk",
    "items": "put items in the place of the last one of the open chunk's list",
    "tail": "append plain text to the open chunk",
    "final": "put the stored rendering of a block in place, where it differs",
    "drop": "take an element away",
    "state": "show whether a turn waits, runs or is over",
    "title": "show the conversation's title",
    "meter": "show how full the context is",
    "reset": "render the thread anew",
    "expired": "go to the login",
    "alive": "know that the connection stands",
}


def item(element: str, html: str) -> Event:
    return {"kind": "item", "id": element, "html": html}


def block(message: str, element: str, html: str) -> Event:
    return {"kind": "block", "message": message, "id": element, "html": html}


def text_op(element: str, op: Op) -> Event:
    if isinstance(op, Done):
        return {"kind": "done", "block": element, "at": op.at, "html": op.html}
    if isinstance(op, Open):
        return {"kind": "open", "block": element, "at": op.at, "html": op.html}
    if isinstance(op, Items):
        return {"kind": "items", "block": element, "at": op.at, "html": op.html}
    return {"kind": "tail", "block": element, "at": op.at, "text": op.text}


def final(element: str, html: str) -> Event:
    """Build the event with the stored rendering of a text block."""
    return {"kind": "final", "block": element, "html": html}


def drop(element: str) -> Event:
    return {"kind": "drop", "id": element}


def state(name: str, turn: int, message: str = "") -> Event:
    return {
        "kind": "state",
        "state": name,
        "turn": turn,
        "message": message,
    }


def title(text: str) -> Event:
    return {"kind": "title", "title": text}


def meter(message: str, percent: int, note: str | None = None) -> Event:
    """Build the event with the context's fill level.

    *note* names what is too big for the context; ``None`` leaves the present note.
    """
    event: Event = {"kind": "meter", "text": message, "percent": percent}
    return event if note is None else {**event, "note": note}


RESET: Event = {"kind": "reset"}
# An event, since browsers do not pass SSE comments to scripts.
ALIVE: Event = {"kind": "alive"}


def expired(login: str) -> Event:
    """Build the event for an expired session; *login* is the address of the login page."""
    return {"kind": "expired", "login": login}


# Entries kept per conversation; a reader that is further behind renders anew.
MAX_ENTRIES = 4000
# A stream is not a store: it expires some time after its last event.
SECONDS_KEPT = int(retention.STREAM.total_seconds())
# Characters of a position: two numbers of 64 bits would be longer, ours are far smaller.
LONGEST_POSITION = 32

_APPEND = """
local function less(a, b)
  local am, as = string.match(a, '^(%d+)-(%d+)$')
  local bm, bs = string.match(b, '^(%d+)-(%d+)$')
  am, as, bm, bs = tonumber(am), tonumber(as), tonumber(bm), tonumber(bs)
  return am < bm or (am == bm and as < bs)
end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local previous = '0-0'
if last[1] then previous = last[1][1] end
if ARGV[3] ~= '' and less(previous, ARGV[3]) then return 'lost' end
local id = ARGV[1] .. '-' .. ARGV[2]
if not less(previous, id) then return 'behind' end
if ARGV[4] == '1' then previous = '0-0' end
for at = 7, #ARGV do
  if at > 7 and ARGV[2] == '0' then id = (tonumber(ARGV[1]) + at - 7) .. '-0' end
  if at > 7 and ARGV[2] ~= '0' then id = ARGV[1] .. '-' .. (tonumber(ARGV[2]) + at - 7) end
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[5], id, 'data', ARGV[at], 'previous', previous)
  previous = id
end
redis.call('EXPIRE', KEYS[1], ARGV[6])
return 'sent'
"""


@dataclass(frozen=True, order=True)
class Position:
    number: int = 0
    count: int = 0

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Parse the position in *text*; ``None`` when it is none."""
        number, _, count = (text or "").partition("-")
        if not (number.isdecimal() and count.isdecimal() and len(text or "") <= LONGEST_POSITION):
            return None
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}-{self.count}"


START = Position()


class Sent(Enum):
    SENT = "sent"
    # The stream contains something newer: take a new number.
    BEHIND = "behind"
    # The stream lost entries of this writer: store the state, then send a break.
    LOST = "lost"


@dataclass(frozen=True)
class Entry:
    position: Position
    previous: Position
    data: str


def key(conversation: str) -> str:
    return f"jenny:events:{conversation}"


def cancel_key(turn: int) -> str:
    """Return the key that is set while a turn is asked to stop; the database says it a little
    later.
    """
    return f"jenny:cancel:{turn}"


def encode(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


class Writer:
    """Appends the events of one conversation, for one writer.

    It remembers its last entry, so that a stream that lost entries (a flushed or restarted server)
    is noticed before anything is written after the gap.
    """

    def __init__(self, client: redis.Redis, conversation: str) -> None:
        self._client = client
        self._key = key(conversation)
        self._last: Position | None = None
        self._append = client.register_script(_APPEND)

    def append(
        self, position: Position, *events: Mapping[str, Any], after_gap: bool = False
    ) -> Sent:
        """Append the events from *position* on, all or none.

        They get the numbers that follow, or, from a count on, the counts that follow. Raises
        ``redis.RedisError`` when there is no server. *after_gap* makes every reader render the
        database's state anew.
        """
        expected = "" if after_gap or self._last is None else str(self._last)
        answer = self._append(
            keys=[self._key],
            args=[
                position.number,
                position.count,
                expected,
                "1" if after_gap else "0",
                MAX_ENTRIES,
                SECONDS_KEPT,
                *map(encode, events),
            ],
        )
        outcome = Sent(answer.decode() if isinstance(answer, bytes) else answer)
        if outcome is Sent.SENT:
            number, count, more = position.number, position.count, len(events) - 1
            self._last = Position(number, count + more) if count else Position(number + more)
        return outcome


def replay(client: redis.Redis, conversation: str, after: Position) -> list[Entry]:
    """Return every entry after *after* that the stream still has."""
    rows: Any = client.xrange(key(conversation), min=f"({after}", max="+")
    return [_entry(row) for row in rows]


class Reader:
    def __init__(self, client: redis.asyncio.Redis, conversation: str, after: Position) -> None:
        self._client = client
        self._key = key(conversation)
        self.position = after

    async def end(self) -> Position:
        """Return the position of the stream's newest entry; ``START`` when there is no stream."""
        rows: Any = await self._client.xrevrange(self._key, count=1)
        return _entry(rows[0]).position if rows else START

    async def mark(self) -> None:
        """Restart a deleted stream at this reader's position, so the next event finds its
        predecessor.

        The caller knows that the database has nothing newer.
        """
        if self.position > START:
            try:
                await self._client.xadd(
                    self._key, {"data": "", "previous": "0-0"}, str(self.position)
                )
                await self._client.expire(self._key, SECONDS_KEPT)
            except redis.ResponseError:
                # Another process restarted it meanwhile; its entries name their predecessors.
                return

    async def next(self, wait_ms: int) -> list[Entry]:
        """Return the next entries, or none after *wait_ms* milliseconds. Moves the position.

        :raises Gap: an entry's predecessor was not seen by this reader.
        """
        answer: Any = await self._client.xread(
            {self._key: str(self.position)}, count=500, block=wait_ms
        )
        entries = []
        for row in answer[0][1] if answer else []:
            entry = _entry(row)
            if entry.previous > self.position or (entry.previous == START < self.position):
                raise Gap
            self.position = entry.position
            if entry.data:
                entries.append(entry)
        return entries


class Gap(Exception):
    """The reader missed events that the stream no longer has."""


def _entry(row: Any) -> Entry:
    identifier, fields = row
    position = Position.parse(identifier.decode())
    previous = Position.parse(fields.get(b"previous", b"0-0").decode())
    return Entry(position or START, previous or START, fields.get(b"data", b"").decode())
