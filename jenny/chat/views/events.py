"""The event source of a conversation's page. It reads the stream and never starts work."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID

import redis
from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from jenny.accounts.access import session_is_live
from jenny.broker import STREAM_WAIT_SECONDS, stream_client
from jenny.chat import access
from jenny.chat.models import Conversation
from jenny.chat.services.publish import position_of
from jenny.chat.stream import ALIVE, RESET, START, Event, Gap, Position, Reader, encode, expired
from jenny.db_connections import query_database, query_database_apart

# Interval of signs of life; each of them checks the session again.
HEARTBEAT_SECONDS = STREAM_WAIT_SECONDS
# A stored change reaches the stream within this time, if it reaches it at all.
ON_ITS_WAY_SECONDS = 0.25
# Milliseconds after which the browser reopens a lost stream.
REOPEN_MS = 1000


@require_GET
async def events(request: HttpRequest, conversation_id: UUID) -> StreamingHttpResponse:
    """Stream the events after the position in ``Last-Event-ID`` or ``?after=``."""
    conversation = await sync_to_async(query_database)(
        access.conversation, request, conversation_id
    )
    after = Position.parse(request.headers.get("Last-Event-ID")) or Position.parse(
        request.GET.get("after")
    )
    feed = _feed(conversation, after or START, request.session.session_key or "")
    response = StreamingHttpResponse(feed, content_type="text/event-stream")
    # Caches and proxies must neither hold back nor compress it.
    response["Cache-Control"] = "no-store, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


async def _feed(
    conversation: Conversation, after: Position, session_key: str
) -> AsyncIterator[bytes]:
    """Yield the stream for the browser's event source.

    It ends when the page must render anew, the session ends, or Redis is gone (the browser reopens
    it).
    """
    yield f"retry: {REOPEN_MS}\n\n".encode()
    reader = Reader(stream_client(), str(conversation.pk), after)
    try:
        if await _is_untold(reader, conversation):
            yield _message(RESET, after)
            return
        if await reader.end() == START:
            await reader.mark()
        checked = time.monotonic()
        while True:
            entries = await reader.next(HEARTBEAT_SECONDS * 1000)
            if entries:
                yield b"".join(
                    f"id: {entry.position}\ndata: {entry.data}\n\n".encode() for entry in entries
                )
            # Also in a stream that never pauses.
            if time.monotonic() - checked >= HEARTBEAT_SECONDS:
                checked = time.monotonic()
                if not await query_database_apart(session_is_live, session_key):
                    login = expired(f"/login/?next=/chat/{conversation.pk}/")
                    yield _message(login, reader.position)
                    return
                if not entries and await _is_untold(reader, conversation):
                    yield _message(RESET, reader.position)
                    return
                yield f"data: {encode(ALIVE)}\n\n".encode()
    except (Gap, Conversation.DoesNotExist):
        # The page reloads and finds what it missed, or that the conversation is deleted.
        yield _message(RESET, reader.position)
    except redis.RedisError:
        yield b": the stream is away\n\n"


async def _is_untold(reader: Reader, conversation: Conversation) -> bool:
    """True when the database has something that no reader will receive.

    It was stored while Redis was away, or the stream is gone. Or the reader's position was never
    given: the database was restored since.
    """
    stored = await query_database_apart(position_of, conversation)
    if reader.position.number > conversation.event_number:
        return True
    if stored <= reader.position or stored <= await reader.end():
        return False
    await asyncio.sleep(ON_ITS_WAY_SECONDS)
    return stored > await reader.end()


def _message(event: Event, position: Position) -> bytes:
    return f"id: {position}\ndata: {encode(event)}\n\n".encode()
