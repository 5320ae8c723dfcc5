"""The history file: adding an entry, and reading what waits for Dream.

An entry is on disk when adding it returns, so the disk's own sync, taken in turn, is the measure:
the same line added to a file as long as the history, and synced. The peer does not sync.
"""

import json
import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench import peers
from bench.harness import Bar, Row, median, take_turns
from memory.history import log, reader
from memory.history.consolidator import Reply, consolidate
from memory.history.entries import NewHistoryEntry
from memory.history.transcript import Spoken

RUNS = 60
# Characters of the entry, and entries on disk.
CASES = ((300, 1), (300, 1_000), (300, 20_000), (6_000, 1), (6_000, 1_000))
ON_DISK, WAITING = 5_000, 50
_FACT = "- [durable] Ana's sister Petra moved from Brno to Olomouc on 3 March 2026. "


def text(length: int) -> str:
    """A summary of that many characters."""
    return (_FACT * (length // len(_FACT) + 1))[:length]


def make_history(root: Path, count: int, read_to: int) -> None:
    """A history of so many entries, as both programs read it."""
    (root / "memory").mkdir(parents=True)
    lines = [
        json.dumps({"cursor": at, "timestamp": "2026-11-30 10:00", "content": text(300)})
        for at in range(1, count + 1)
    ]
    (root / "memory" / "history.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "memory" / ".cursor").write_text(f"{count}\n")
    (root / "memory" / ".dream_cursor").write_text(f"{read_to}\n")


def rows() -> list[Row]:
    """A row a case; ours, the disk and the peer take turns."""
    with tempfile.TemporaryDirectory() as scratch, peers.Peer(Path(scratch)) as peer:
        found = [_append(Path(scratch), peer, *case) for case in CASES]
        return [*found, *_pending(Path(scratch), peer), *_consolidate(Path(scratch))]


def _append(scratch: Path, peer: peers.Peer, length: int, on_disk: int) -> Row:
    folder = scratch / f"{length}-{on_disk}"
    ours, theirs = folder / "ours", folder / "theirs"
    for root in (ours, theirs):
        make_history(root, on_disk, 0)
    content = text(length)
    log.append(ours, [NewHistoryEntry(content)])
    history = (ours / log.PATH).read_bytes()
    line = history[history.rstrip().rfind(b"\n") + 1 :]
    (folder / "plain").write_bytes(history)
    plain = os.open(folder / "plain", os.O_WRONLY | os.O_APPEND)

    def disk() -> float:
        start = time.perf_counter()
        os.write(plain, line)
        os.fsync(plain)
        return (time.perf_counter() - start) * 1000

    def append() -> float:
        start = time.perf_counter()
        log.append(ours, [NewHistoryEntry(content)])
        return (time.perf_counter() - start) * 1000

    def peers_append() -> float:
        return float(peer.ask("append", workspace=str(theirs), text=content)["ms"])

    for warm_up in (disk, append, peers_append):
        warm_up()
    times = take_turns(RUNS, ours=append, disk=disk, theirs=peers_append)
    os.close(plain)
    sync = median(times["disk"])
    return Row(
        f"append to history, {length:,} characters, {on_disk:,} on disk",
        "ms",
        median(times["ours"]),
        median(times["theirs"]),
        Bar(limit=round(2 * sync, 3)),
        f"the disk's own sync: {sync:g} ms; the peer does not sync",
    )


def _pending(scratch: Path, peer: peers.Peer) -> list[Row]:
    root = scratch / "pending"
    make_history(root, ON_DISK, ON_DISK - WAITING)

    def ours() -> float:
        start = time.perf_counter()
        found = reader.read_pending(root).entries
        took = (time.perf_counter() - start) * 1000
        assert len(found) == WAITING
        return took

    def newest() -> float:
        start = time.perf_counter()
        found = reader.read_pending(root, most=WAITING, read_to=0).entries
        took = (time.perf_counter() - start) * 1000
        assert len(found) == WAITING
        return took

    def theirs() -> float:
        since = ON_DISK - WAITING
        answer = peer.ask("pending", workspace=str(root), since=since)
        assert answer["count"] == WAITING
        return float(answer["ms"])

    times = take_turns(RUNS, ours=ours, newest=newest, theirs=theirs)
    work = f"read pending, {WAITING} of {ON_DISK:,} on disk"
    return [
        Row(work, "ms", median(times["ours"]), median(times["theirs"]), Bar(limit=1)),
        Row(f"{work}, none read yet", "ms", median(times["newest"]), None, Bar(limit=1)),
    ]


def _consolidate(scratch: Path) -> list[Row]:
    """From messages to an entry on disk, with a model that answers at once."""
    found = []
    for count in (120, 480):
        root = scratch / f"consolidate-{count}"
        make_history(root, 1_000, 0)
        messages = [
            Spoken(at, "assistant" if at % 2 else "user", text(500), datetime.now(UTC))
            for at in range(count)
        ]

        def once(root: Path = root, messages: list[Spoken] = messages) -> float:
            start = time.perf_counter()
            done = consolidate(messages, _answer, conversation="c")
            log.append(root, done.entries, one_group=True)
            return (time.perf_counter() - start) * 1000

        bar = Bar(limit=10) if count == 120 else Bar()
        times = median(take_turns(RUNS, ours=once)["ours"])
        found.append(Row(f"consolidate {count} messages, model apart", "ms", times, None, bar))
    return found


def _answer(*_: object) -> Reply:
    return Reply(text(300).strip(), "end_turn")
