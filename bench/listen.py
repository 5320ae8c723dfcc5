"""Many open event streams in one light process: how long each word took from the model to here.

    python -m bench.listen PORT COOKIE SECONDS CHAT…

prints "open" when all streams are, then, at the end, the milliseconds as JSON.
"""

import asyncio
import json
import sys
import time

from bench.scripted import FIRST, LATER


class Listener:
    """Reads streams and notes each stamp when it is first seen."""

    def __init__(self, port: int, cookie: str) -> None:
        self._port = port
        self._cookie = cookie
        self._seen: set[str] = set()
        self._since = time.monotonic_ns()
        self.first: list[float] = []
        self.later: list[float] = []
        self._opened = asyncio.Semaphore(0)

    async def read(self, chat: str) -> None:
        """Read one conversation's stream until it is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
        writer.write(
            f"GET /chat/{chat}/events?after=0-0 HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Accept: text/event-stream\r\nCookie: {self._cookie}\r\n\r\n".encode()
        )
        await writer.drain()
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(status)
        self._opened.release()
        try:
            while line := await reader.readline():
                self._note(line.decode(), time.monotonic_ns())
        finally:
            writer.close()

    async def all_open(self, count: int) -> None:
        """Wait until *count* streams are open."""
        for _ in range(count):
            await self._opened.acquire()

    def _note(self, line: str, now: int) -> None:
        for stamps, found in ((FIRST, self.first), (LATER, self.later)):
            for stamp in stamps.findall(line):
                # A stream begins with what it still has of earlier answers.
                if int(stamp) > self._since and stamp not in self._seen:
                    self._seen.add(stamp)
                    found.append((now - int(stamp)) / 1e6)


async def main(port: int, cookie: str, seconds: float, chats: list[str]) -> None:
    """Listen for a while."""
    listener = Listener(port, cookie)
    tasks = [asyncio.create_task(listener.read(chat)) for chat in chats]
    await asyncio.wait_for(listener.all_open(len(chats)), 30)
    print("open", flush=True)
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps({"first": listener.first, "later": listener.later}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:]))
