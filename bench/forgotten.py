"""What a page and a turn ask of the history where much was forgotten and much waits for Dream.

Each time one more entry was added just before, so that nothing can be answered from memory alone.
No peer forgets.
"""

import json
import tempfile
import time
from pathlib import Path

from bench.harness import Bar, Row, median, take_turns
from memory import ledgers
from memory.history import dated_facts, log, prompt
from memory.history.entries import NewHistoryEntry
from memory.suppression import PATH

RUNS = 25
FORGOTTEN = WAITING = 5_000
_WHO = ("Ana", "Petra", "Olga", "Milan", "Jonas", "Irma", "Luca")
_DID = ("bought", "sold", "lent", "painted", "repaired", "visited", "planned", "measured")
_WHAT = ("bicycle", "kitchen", "piano", "garden", "window", "camera", "jacket", "ladder", "lamp")
_WHERE = ("Brno", "Olomouc", "Lyon", "Porto", "Ghent", "Turin", "Basel", "Graz", "Lund", "Cork")
_TAGS = ("durable", "permanent", "dated 2199-03-01", "ephemeral", "correction")


def fact(number: int) -> str:
    """A fact like many others."""
    words = (row[number % len(row)] for row in (_WHO, _DID, _WHAT, _WHERE))
    who, did, what, where = words
    return f"{who} {did} the {what} number {number} in {where}"


def make_workspace(root: Path, forgotten: int, waiting: int) -> None:
    """A workspace with so many forgotten lines, and so many entries that Dream has not read."""
    (root / "memory").mkdir(parents=True)
    at = ledgers.now()
    rows = [
        {"id": f"{number:012x}", "text": fact(number), "at": at, "actor": "browser"}
        for number in range(forgotten)
    ]
    (root / PATH).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    entries = [
        {
            "cursor": at,
            "timestamp": "2026-11-30 10:00",
            "content": f"- [{_TAGS[at % len(_TAGS)]}] {fact(100_000 + at)}",
        }
        for at in range(1, waiting + 1)
    ]
    (root / log.PATH).write_text("".join(json.dumps(row) + "\n" for row in entries))
    (root / "memory" / ".cursor").write_text(f"{waiting}\n")
    (root / "memory" / ".dream_cursor").write_text("0\n")


def ask(root: Path) -> None:
    """What is coming up, and what waits for Dream: as a page and a turn do."""
    assert prompt.block(root) is not None
    assert dated_facts.block(root) is not None


def rows() -> list[Row]:
    """One row."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "workspace"
        make_workspace(root, FORGOTTEN, WAITING)
        ask(root)
        numbers = iter(range(200_000, 300_000))

        def once() -> float:
            log.append(root, [NewHistoryEntry(f"- [dated 2199-02-01] {fact(next(numbers))}")])
            started = time.perf_counter()
            ask(root)
            return (time.perf_counter() - started) * 1000

        times = take_turns(RUNS, ours=once)
    work = f"what a turn asks of the history, {FORGOTTEN:,} forgotten × {WAITING:,} waiting"
    note = "after one more entry"
    return [Row(work, "ms", median(times["ours"]), None, Bar(limit=20), note)]
