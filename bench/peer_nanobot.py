"""Runs inside the peer's environment: does what the lines of standard input say, one at a time.

Only the public classes of the package are used. Times are nanoseconds of the system's
monotonic clock, which all processes of a machine share on Linux.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# The package prints; answers go where they are expected.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


class Bots:
    """The bots that were opened, by name."""

    def __init__(self) -> None:
        self.open_ones: dict[str, Any] = {}
        self.stores: dict[str, Any] = {}

    async def open(self, name: str, config: str) -> None:
        """Make a bot from a configuration file."""
        # The package is loaded by whoever is to be measured with it.
        from nanobot import Nanobot  # noqa: PLC0415 - only what is measured loads it

        self.open_ones[name] = Nanobot.from_config(config)

    async def send(self, name: str, session: str, more: str = "") -> dict[str, Any]:
        """Send a message that says when it was sent; when each piece of the answer came."""
        pieces: list[list[Any]] = []
        text = f"sent {time.monotonic_ns()}. {more}"
        async for event in self.open_ones[name].stream(text, session_key=session):
            now = time.monotonic_ns()
            if event.type == "text.delta":
                pieces += [[now, event.delta]]
        return {"pieces": pieces}

    async def send_all(self, name: str, sessions: list[str], more: str) -> dict[str, Any]:
        """The same in several sessions at once."""
        found = await asyncio.gather(*(self.send(name, session, more) for session in sessions))
        return {"pieces": [piece for one in found for piece in one["pieces"]]}

    async def prompt(self, workspace: str, turns: int) -> dict[str, float]:
        """Milliseconds of the first system prompt in this process, and of the median next one."""
        from nanobot.agent.context import ContextBuilder  # noqa: PLC0415 - as above

        builder = ContextBuilder(Path(workspace))
        times = []
        for _ in range(turns + 1):
            start = time.perf_counter()
            builder.build_system_prompt(channel="cli")
            times.append((time.perf_counter() - start) * 1000)
        later = sorted(times[1:])
        return {"cold": times[0], "warm": later[len(later) // 2]}

    async def append(self, workspace: str, text: str) -> dict[str, float]:
        """Milliseconds of adding an entry to the history."""
        store = self._store(workspace)
        start = time.perf_counter()
        store.append_history(text)
        return {"ms": (time.perf_counter() - start) * 1000}

    async def pending(self, workspace: str, since: int) -> dict[str, float]:
        """Milliseconds of reading the entries above a cursor, and how many there are."""
        store = self._store(workspace)
        start = time.perf_counter()
        found = store.read_unprocessed_history(since)
        return {"ms": (time.perf_counter() - start) * 1000, "count": len(found)}

    async def dream(self, name: str, text: str) -> dict[str, float]:
        """Milliseconds of a whole run of its Dream over one new entry, as its own command does
        it: prompt, turn, cursor, version, history."""
        from nanobot.agent.memory import MemoryStore  # noqa: PLC0415 - as above

        agent = self.open_ones[name]._loop  # noqa: SLF001 - its command has it, too
        store = agent.context.memory
        if not store.git.is_initialized():
            store.git.init()
        store.append_history(text)
        start = time.perf_counter()
        prompt, cursor = store.build_dream_prompt()
        answer = await agent.process_direct(
            prompt,
            session_key=MemoryStore.dream_session_key(),
            ephemeral=True,
            tools=store.build_dream_tools(),
            runtime=agent.dream_runtime(),
        )
        diff = store.dream_content_diff()
        if not MemoryStore.dream_run_completed(answer) or diff.count("\n+- Thing") != 3:
            message = f"the peer's run did not do its work: {diff[:500]}"
            raise RuntimeError(message)
        store.set_last_dream_cursor(cursor)
        store.git.auto_commit(MemoryStore.build_dream_commit_message("dream: manual run", diff))
        store.compact_history()
        MemoryStore.prune_dream_sessions(agent.sessions)
        return {"ms": (time.perf_counter() - start) * 1000}

    def _store(self, workspace: str) -> Any:
        from nanobot.agent.memory import MemoryStore  # noqa: PLC0415 - as above

        if workspace not in self.stores:
            self.stores[workspace] = MemoryStore(Path(workspace))
        return self.stores[workspace]


async def main() -> None:
    """Do and answer until standard input ends."""
    bots = Bots()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        words = json.loads(line)
        answer = await getattr(bots, words.pop("do"))(**words)
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()
    for bot in bots.open_ones.values():
        await bot.aclose()


asyncio.run(main())
