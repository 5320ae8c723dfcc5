"""An open event stream keeps no thread.

The framework lends each request a thread of its own for its synchronous code, until the response
is over: five hundred open pages would be five hundred threads that wait for nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async

from jenny.requestlog import EVENT_STREAM

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class StreamThreads:
    """Takes the thread back as soon as a stream begins; whoever needs one later gets another."""

    def __init__(self, application: Application, leave: Callable[[], None]) -> None:
        """Wrap *application*; *leave* puts away, in the thread, what belongs to it."""
        self.application = application
        self.leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                await self._free()
            await send(message)

        await self.application(scope, receive, send_on)

    async def _free(self) -> None:
        context = SyncToAsync.thread_sensitive_context.get(None)
        if context is None or context not in SyncToAsync.context_to_thread_executor:
            return
        await sync_to_async(self.leave)()
        SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)


def _is_stream(message: Message) -> bool:
    return any(value.startswith(EVENT_STREAM) for _, value in message.get("headers", ()))
