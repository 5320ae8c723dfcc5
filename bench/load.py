"""Many pages and many answers in one web process; and memory behind very many turns."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.harness import Bar, Row, median, percentile
from bench.instance import Visitor, running, scratch_folder
from bench.scripted import Model
from tests.support.stack import Stack
from tests.support.turns import PARTS, Crowd

STREAMS = 500
TURNS = 20
ROUNDS = 5
# An answer at length takes five seconds; the rest is for starting twenty of them.
SECONDS = 7.0
IN_A_ROW = 10_000
# The first turns fill pools and caches; what comes behind them is to take no more.
WARM_UP = 2_000


def rows() -> list[Row]:
    """All rows of this module; one instance each."""
    with scratch_folder() as scratch, Model() as model:
        with running(scratch / "streams", model.server.url) as stack:
            found = _with_streams(stack)
        with running(scratch / "turns", model.server.url) as stack:
            return [*found, *_in_a_row(stack)]


def _with_streams(stack: Stack) -> list[Row]:
    """Five hundred pages are open, and in twenty of their conversations an answer is written."""
    visitor = Visitor(stack)
    chats = [visitor.client.begin(f"Hello {number}") for number in range(STREAMS)]
    for chat in chats:
        visitor.wait_idle(chat)
    web = psutil.Process(stack.pids()["web"])
    first: list[float] = []
    later: list[float] = []
    memory: list[float] = []
    for _ in range(ROUNDS):
        with _listening(visitor, chats) as heard:
            for chat in chats[:TURNS]:
                visitor.send(chat, "sent 0. Speak at length.")
            memory.append(web.memory_full_info().uss / 2**20)
        first += heard["first"]
        later += heard["later"]
        for chat in chats[:TURNS]:
            visitor.wait_idle(chat)
    work = f"{STREAMS} open streams, {TURNS} answers at once"
    note = f"{len(first)} first chunks, {len(later)} later ones"
    return [
        Row(f"{work}: first chunk → browser, median", "ms", median(first), bar=Bar(5), note=note),
        Row(f"{work}: first chunk → browser, p99", "ms", percentile(first, 0.99), bar=Bar(20)),
        Row(f"{work}: any chunk → browser, p99", "ms", percentile(later, 0.99)),
        Row(f"{work}: memory of the web process", "MB", median(memory)),
    ]


@contextlib.contextmanager
def _listening(visitor: Visitor, chats: list[str]) -> Iterator[dict[str, list[float]]]:
    """Listen to *chats* while the block begins something; afterwards it holds what was heard."""
    heard: dict[str, list[float]] = {}
    words = [str(visitor.port), visitor.cookie, str(SECONDS), *chats]
    with subprocess.Popen(
        [sys.executable, "-m", "bench.listen", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as process:
        assert process.stdout
        process.stdout.readline()
        visitor.connect()
        yield heard
        heard |= json.loads(process.stdout.readline())


def _in_a_row(stack: Stack) -> list[Row]:
    """Turn after turn: what memory the processes have behind the first ones, and at the end."""
    crowd = Crowd(stack, Visitor(stack).client)
    crowd.talk(WARM_UP)
    before = crowd.memory()
    crowd.talk(IN_A_ROW - WARM_UP)
    after = crowd.memory()
    ended = ", ".join(f"{count} {state}" for state, count in crowd.states().items())
    return [
        Row(
            f"memory of {part} after {IN_A_ROW} turns, beside that after {WARM_UP}",
            "× of it",
            round(after[part] / before[part], 3),
            bar=Bar(1.1),
            note=f"{before[part]:.0f} → {after[part]:.0f} MB; {ended}",
        )
        for part in PARTS
    ]
