"""The ranked search: what it finds in LoCoMo, and how long it takes in a large workspace.

LoCoMo (github.com/snap-research/locomo, `data/locomo10.zip`) is given by its path in
``JENNY_LOCOMO`` and never stored here; without it only the times are measured.
"""

import hashlib
import os
import random
import time
from pathlib import Path

from bench.harness import Bar, Row, percentile
from bench.instance import scratch_folder
from bench.wikis import make_pages
from jenny.chat.services.memory_eval.stories import Texts, measure, read_benchmark
from jenny.search import Index, Passage, SqliteStore
from memory import search_sources
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.search_sources import CHAT, KINDS

LOCOMO = "5c342973da4b45c12583c9fc7594d6410880f5aba2c491a0db09db262c906fb5"
ENTRIES, CHATS = 10_000, 2_000
QUERIES = 400


def rows() -> list[Row]:
    """All rows of this module."""
    path = os.environ.get("JENNY_LOCOMO", "")
    with scratch_folder() as scratch:
        return [*(_locomo_rows(scratch, Path(path)) if path else ()), *_time_rows(scratch)]


def _locomo_rows(scratch: Path, path: Path) -> list[Row]:
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != LOCOMO:
        message = f"{path} is not the expected file: its SHA-256 is {found}."
        raise SystemExit(message)
    marks = measure(read_benchmark(path), SqliteStore(scratch / "locomo.sqlite3"))
    about = f"{marks.sessions} sessions, {marks.questions:,} questions"
    return [
        Row("LoCoMo: recall@5", "share", marks.recall_5, bar=Bar(least=0.88), note=about),
        Row("LoCoMo: recall@10", "share", marks.recall_10, bar=Bar(least=0.93), note=about),
        Row("LoCoMo: mean reciprocal rank", "share", marks.reciprocal_rank, bar=Bar(least=0.81)),
    ]


def _time_rows(scratch: Path) -> list[Row]:
    root = scratch / "pages"
    words = make_pages(root)
    chance = random.Random(2)

    def sentence(length: int) -> str:
        return " ".join(chance.choices(words, k=length))

    log.append(root, [NewHistoryEntry(f"- [durable] {sentence(30)}") for _ in range(ENTRIES)])
    chats = {
        str(number): Passage(tuple(f"You: {sentence(25)}" for _ in range(12)), tuple(range(12)))
        for number in range(CHATS)
    }
    sources = [*search_sources.sources(root), Texts(chats)]
    index = Index(SqliteStore(scratch / "search.sqlite3"), sources)
    started = time.monotonic()
    index.update()
    built = time.monotonic() - started
    times = []
    for _ in range(QUERIES):
        query = f"when did I {sentence(chance.randint(1, 5))}"
        started = time.monotonic()
        index.search(query, (*KINDS, CHAT))
        times.append(1000 * (time.monotonic() - started))
    about = f"{ENTRIES:,} entries, {CHATS:,} conversations, 5,000 pages"
    return [
        Row("ranked search, median", "ms", percentile(times, 0.5), note=about),
        Row("ranked search, p95", "ms", percentile(times, 0.95), bar=Bar(limit=20), note=about),
        Row("index made for the first time", "s", built, note=about),
    ]
