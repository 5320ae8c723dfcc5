"""The stream loses nothing and doubles nothing, whatever becomes of Redis."""

import asyncio

import pytest
import redis.asyncio

from jenny.chat.stream import START, Gap, Position, Reader, Sent, Writer, key, replay

CHAT = "11111111-1111-1111-1111-111111111111"


def event(number: int) -> dict[str, object]:
    """Some event."""
    return {"kind": "tail", "text": str(number)}


def read(url: str, after: Position, *, mark: bool = False) -> list[Position]:
    """What a page that stands at *after* gets at once."""

    async def go() -> list[Position]:
        client = redis.asyncio.Redis.from_url(url)
        try:
            reader = Reader(client, CHAT, after)
            if mark and await reader.end() == START:
                await reader.mark()
            return [entry.position for entry in await reader.next(1)]
        finally:
            await client.aclose()

    return asyncio.run(go())


def test_a_reader_gets_what_is_newer_and_nothing_else(valkey, valkey_server):
    """Whoever comes back with a position gets each later event once, in order."""
    writer = Writer(valkey, CHAT)
    positions = [Position(1), Position(1, 1), Position(1, 2), Position(2), Position(5, 3)]
    assert [writer.append(p, event(0)) for p in positions] == [Sent.SENT] * 5
    assert read(valkey_server, Position(1)) == positions[1:]
    assert read(valkey_server, Position(1, 2)) == positions[3:]
    assert read(valkey_server, Position(5, 3)) == []


def test_an_event_that_comes_twice_is_not_stored_twice(valkey):
    """Numbers are never reused: the same position, or an older one, is refused."""
    writer = Writer(valkey, CHAT)
    writer.append(Position(3, 1), event(1))
    assert Writer(valkey, CHAT).append(Position(3, 1), event(1)) is Sent.BEHIND
    assert Writer(valkey, CHAT).append(Position(3), event(1)) is Sent.BEHIND
    assert Writer(valkey, CHAT).append(Position(2, 9), event(1)) is Sent.BEHIND
    assert len(replay(valkey, CHAT, START)) == 1


def test_numbers_are_compared_as_numbers(valkey):
    """Position 10-0 comes after 9-99, and 9-100 after 9-99."""
    writer = Writer(valkey, CHAT)
    for position in (Position(9, 99), Position(9, 100), Position(10)):
        assert writer.append(position, event(1)) is Sent.SENT


def test_a_writer_notices_that_the_stream_lost_its_events(valkey, valkey_server):
    """A flushed server: the writer is told before it writes behind the gap, and its next
    event tells every page to render anew."""
    writer = Writer(valkey, CHAT)
    writer.append(Position(1), event(1))
    writer.append(Position(1, 1), event(1))
    valkey.flushall()
    assert writer.append(Position(1, 2), event(1)) is Sent.LOST
    assert writer.append(Position(2), event(1), after_gap=True) is Sent.SENT
    with pytest.raises(Gap):
        read(valkey_server, Position(1, 1))


def test_a_writer_notices_a_server_that_came_back_with_less(valkey):
    """A restarted server may miss its last second: that is a gap as well."""
    writer = Writer(valkey, CHAT)
    for count in range(4):
        writer.append(Position(1, count), event(1))
    valkey.xtrim(key(CHAT), maxlen=0)
    valkey.delete(key(CHAT))
    Writer(valkey, CHAT).append(Position(1, 1), event(1))
    assert writer.append(Position(1, 4), event(1)) is Sent.LOST


def test_a_reader_that_fell_behind_a_trimmed_stream_is_told(valkey, valkey_server):
    """A position that the stream no longer has is answered by rendering anew."""
    writer = Writer(valkey, CHAT)
    for count in range(10):
        writer.append(Position(1, count), event(1))
    valkey.xtrim(key(CHAT), maxlen=3, approximate=False)
    assert read(valkey_server, Position(1, 6)) == [Position(1, count) for count in (7, 8, 9)]
    with pytest.raises(Gap):
        read(valkey_server, Position(1, 5))


def test_a_stream_that_ran_out_goes_on_without_a_reset(valkey, valkey_server):
    """An hour after the last event the stream is gone; a page that is up to date marks its
    place, and the next event finds it there."""
    assert read(valkey_server, Position(7, 2), mark=True) == []
    assert Writer(valkey, CHAT).append(Position(8), event(1)) is Sent.SENT
    assert read(valkey_server, Position(7, 2)) == [Position(8)]
    with pytest.raises(Gap):
        read(valkey_server, Position(6))


@pytest.mark.parametrize(
    "text", ["", "x", "1", "1-", "-1", "1-x", "-1-1", "1-2-3", "١-٢x", "9" * 40 + "-0", None]
)
def test_a_position_that_is_none_is_not_taken_for_one(text):
    """Whatever a client sends as its position, nothing but a position is used."""
    assert Position.parse(text) is None


def test_what_is_told_below_a_number_leaves_room_behind_it(valkey, valkey_server):
    """Several events in one go lie at numbers of their own, or at counts below one; each reader
    gets all of them, and what is sent next finds its predecessor."""
    writer = Writer(valkey, CHAT)
    assert writer.append(Position(3), event(1), event(2)) is Sent.SENT
    assert writer.append(Position(4, 1), event(3), event(4)) is Sent.SENT
    assert writer.append(Position(4, 3), event(5)) is Sent.SENT
    positions = [Position(3), Position(4), Position(4, 1), Position(4, 2), Position(4, 3)]
    assert read(valkey_server, Position(3)) == positions[1:]
    assert [entry.position for entry in replay(valkey, CHAT, START)] == positions
