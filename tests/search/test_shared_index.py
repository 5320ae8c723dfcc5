"""Several processes fill and search one index; none waits long for another, or loses its work."""

import contextlib
import datetime as dt
import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jenny.search import Document, Index, Key, Passage, PassageStore, SqliteStore
from jenny.search.postgres import PostgresStore
from jenny.workspace.errors import StoreBusy
from jenny.workspace.files import Actor, Entry, open_workspace
from jenny.workspace.versions import commits
from memory import search_sources
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.search_sources import ARCHIVED, FILE, KINDS, VERSION, FileSource, VersionSource
from tests.support.waiting import wait_until

PROCESSES = 3


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def index_of(store: PassageStore, root: Path) -> Index:
    return Index(store, search_sources.sources(root))


def places(index: Index, query: str, **limits: Any) -> list[str]:
    return [hit.place for hit in index.search(query, KINDS, **limits).hits]


class Book:
    """A source with one document of many passages."""

    def __init__(self, passages: int, on_passage: Callable[[int], None] = lambda _: None) -> None:
        self._passages = passages
        self._on_passage = on_passage

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        yield Document(FILE, "book.txt", "1")

    def passages(self, document: Document) -> Iterator[Passage]:
        for number in range(self._passages):
            self._on_passage(number)
            yield Passage((f"the viola of page {number}",), (number,))


class Slow(Book):
    """Another large document."""

    def __init__(self, on_passage: Callable[[int], None]) -> None:
        super().__init__(100, on_passage)

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        yield Document(FILE, "slow.txt", "1")


def postgres_store(url: str) -> PostgresStore:
    @contextlib.contextmanager
    def cursor() -> Iterator[Any]:
        with psycopg.connect(url) as connection, connection.cursor() as found:
            yield found

    return PostgresStore("one", cursor)


def fill_and_remove(url: str, root: Path, barrier: Any, number: int) -> None:
    """Index files and remove them again, together with other processes; then one removes what the
    others store."""
    store = postgres_store(url)
    try:
        for _ in range(3):
            barrier.wait()
            Index(store, [FileSource(root)]).update()
            barrier.wait()
            Index(store, []).update()
        barrier.wait()
        for _ in range(5):
            Index(store, [FileSource(root)] if number else []).update()
    except BaseException:
        barrier.abort()
        raise


def test_processes_fill_one_index_at_once(new_database: Callable[[], str], root: Path) -> None:
    """On PostgreSQL several index and remove the same documents without an error, and no passage
    is left without its document."""
    for number in range(150):
        write(root, f"notes/{number}.md", f"Note {number} about the viola.\n")
    url = new_database()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(PROCESSES, timeout=120)
    processes = [
        context.Process(target=fill_and_remove, args=(url, root, barrier, number))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=300)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    with psycopg.connect(url) as connection:
        orphans = connection.execute(
            "select count(*) from search_passage where document not in"
            " (select id from search_document)"
        ).fetchone()
        assert orphans == (0,)
    index = Index(postgres_store(url), [FileSource(root)])
    assert index.update() == 0
    assert len(places(index, "viola", most=1_000)) == 120
    assert postgres_store(url).totals().passages == 150


def test_a_large_document_is_stored_in_steps(store: PassageStore) -> None:
    """Others see and write the index while one document is read; what was read is kept when the
    time is over, and the next update goes on there."""
    seen: list[int] = []

    def look(number: int) -> None:
        if number == 140:
            seen.append(store.totals().passages)

    book = Book(150, look)
    index = Index(store, [book])
    updates = 0
    while index.update(seconds=0):
        updates += 1
        assert updates < 10
        assert store.totals().passages >= 50 * updates
    assert store.totals().passages == 150
    assert max(seen) >= 50


def test_a_locked_index_is_not_given_up(tmp_path: Path, root: Path) -> None:
    """While another program holds the file locked, the search shows what there is; later it adds
    the rest to the same file."""
    path = tmp_path / "search.sqlite3"
    write(root, "notes/a.md", "A viola.\n")
    index = index_of(SqliteStore(path), root)
    source = FileSource(root)
    # Until the file's signature can be relied on.
    wait_until(lambda: list(source.documents()) == list(source.documents()), what="the clock")
    assert places(index, "viola") == ["notes/a.md"]
    write(root, "notes/b.md", "Another viola.\n")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        assert places(index, "viola") == ["notes/a.md"]
        other.execute("rollback")
    assert sorted(places(index, "viola")) == ["notes/a.md", "notes/b.md"]
    assert len(SqliteStore(path).stamps()) == 2


def test_a_search_does_not_wait_for_a_long_update(store: PassageStore) -> None:
    """While a thread of the process reads a large document, others are shown what there is."""
    is_reading, is_over = threading.Event(), threading.Event()

    def wait(number: int) -> None:
        if number == 60:
            is_reading.set()
            assert is_over.wait(60)

    Index(store, [Book(40)]).update()
    index = Index(store, [Book(40), Slow(wait)])
    with ThreadPoolExecutor(2) as threads:
        update = threads.submit(index.update)
        try:
            assert is_reading.wait(60)
            found = threads.submit(index.search, "viola", KINDS, seconds=0.1).result(timeout=60)
        finally:
            is_over.set()
        assert {hit.place for hit in found.hits} == {"book.txt"}
        assert update.result(timeout=60) == 0


def test_what_another_process_adds_meanwhile_stays(store: PassageStore, root: Path) -> None:
    """A document that is stored after this process listed its sources is not removed."""

    class Late(FileSource):
        """A source during whose listing another process adds a file."""

        def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
            yield from list(super().documents(only))
            write(root, "notes/new.md", "A new viola.\n")
            Index(store, [FileSource(root)]).update()

    write(root, "notes/old.md", "An old viola.\n")
    Index(store, [Late(root)]).update()
    assert ("file", "notes/new.md") in store.stamps()


def test_a_name_or_a_text_that_is_none_breaks_no_search(store: PassageStore, root: Path) -> None:
    """A name that is not UTF-8, half a character, a NUL: everything else is found."""
    write(root, "notes/a.md", "A viola.\n")
    log.append(root, [NewHistoryEntry("- [durable] Has a parrot")])
    with (root / "memory/history.jsonl").open("a") as file:
        file.write('{"cursor": 9, "timestamp": "2026-03-02 10:00", "content": "a \\u0000 zebra"}\n')
        file.write('{"cursor": 10, "timestamp": "2026-03-02 10:00", "content": "a \\ud800 lynx"}\n')
    if sys.platform == "linux":  # others refuse such names
        Path(os.fsdecode(os.fsencode(root / "notes") + b"/caf\xe9.txt")).write_text("A viola.\n")
    index = index_of(store, root)
    assert places(index, "viola") == ["notes/a.md"]
    for word in ("parrot", "zebra", "lynx"):
        assert places(index, word) == ["memory/history.jsonl"]


def test_a_document_that_breaks_stops_no_other(store: PassageStore, root: Path) -> None:
    """Whatever is wrong with one document, the others are found, and its old text is not."""
    is_broken = False

    class Broken(FileSource):
        def passages(self, document: Document) -> Iterator[Passage]:
            if is_broken and document.place == "notes/a.md":
                raise RuntimeError
            yield from super().passages(document)

    write(root, "notes/a.md", "A viola.\n")
    index = Index(store, [Broken(root)])
    assert places(index, "viola") == ["notes/a.md"]
    is_broken = True
    write(root, "notes/a.md", "A viola again.\n")
    write(root, "notes/b.md", "Another viola.\n")
    assert places(index, "viola") == ["notes/b.md"]
    assert index.update() == 0


def test_one_long_line_becomes_passages_of_a_page(root: Path) -> None:
    """A file, an entry and an archived text without line ends are cut like others."""
    words = "viola " * 30_000
    write(root, "notes/long.txt", words)
    log.append(root, [NewHistoryEntry(words[:20_000])])
    for source in search_sources.sources(root):
        for document in source.documents():
            for passage in source.passages(document):
                assert sum(map(len, passage.lines)) <= search_sources.PASSAGE_CHARS


def test_deleted_and_edited_text_is_not_shown(tmp_path: Path, root: Path) -> None:
    """Also in a workspace of so many files that not all are looked at before each search, and when
    there was no time to read an edited file again."""
    for number in range(1_100):
        write(root, f"notes/{number}.md", f"Note {number}.\n")
    write(root, "notes/a.md", "A viola.\n")
    write(root, "notes/b.md", "Another viola.\n")
    index = Index(SqliteStore(tmp_path / "search.sqlite3"), [FileSource(root)])
    index.update()
    (root / "notes/a.md").unlink()
    assert places(index, "viola") == ["notes/b.md"]
    write(root, "notes/b.md", "A cello.\n")
    assert places(index, "viola", seconds=0) == []
    assert places(index, "cello") == ["notes/b.md"]


def test_an_archived_text_that_was_edited_is_indexed_again(store: PassageStore, root: Path) -> None:
    """Its date and heading stay, so the text itself counts."""
    place = open_workspace(root, Actor("browser"))
    place.write("USER.md", b"# User\n\n## Music\n\n- Plays the viola on Sundays\n")
    place.write("USER.md", b"# User\n\n## Music\n")
    (file,) = (root / "memory/archive").glob("*.md")
    index = index_of(store, root)
    assert [hit.kind for hit in index.search("viola", KINDS).hits] == [ARCHIVED]
    file.write_text(file.read_text().replace("viola", "cello"))
    assert [hit.kind for hit in index.search("cello", KINDS).hits] == [ARCHIVED]
    assert index.search("viola", KINDS).hits == ()


def test_removed_words_leave_the_file(tmp_path: Path, root: Path) -> None:
    """A removed document's words are nowhere in the bytes of the index after it was compacted."""
    path = tmp_path / "search.sqlite3"
    write(root, "notes/a.md", "A xylophone.\n")
    write(root, "notes/b.md", "A viola.\n")
    index = index_of(SqliteStore(path), root)
    index.update()
    assert b"xylophon" in path.read_bytes()
    (root / "notes/a.md").unlink()
    index.update()
    index.compact()
    assert b"xylophon" not in path.read_bytes()
    assert places(index, "viola") == ["notes/b.md"]


def test_an_index_that_only_grew_is_not_rewritten(tmp_path: Path, root: Path) -> None:
    """Compacting it is for what was removed."""
    path = tmp_path / "search.sqlite3"
    index = index_of(SqliteStore(path), root)
    for number in range(3):
        write(root, f"notes/{number}.md", f"Viola {number}.\n")
        index.update()
    before = path.read_bytes()
    index.compact()
    assert path.read_bytes() == before
    (root / "notes/0.md").unlink()
    index.update()
    # By another process, after this one ended.
    SqliteStore(path).compact()
    compacted = path.read_bytes()
    assert compacted != before
    index.compact()
    assert path.read_bytes() == compacted


def test_others_write_while_a_large_index_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done in steps, and nobody holds the file between them."""
    path = tmp_path / "search.sqlite3"
    store = SqliteStore(path)
    words = [f"w{number}xylophone" for number in range(3_000)]
    documents = [Document(FILE, f"{number}.txt", "1") for number in range(3)]
    for number, document in enumerate(documents):
        store.put(document, [Passage((" ".join(words[number::3]),), (1,))])
    monkeypatch.setattr("jenny.search.store._MERGED_PAGES", 2)
    connect = store.connect
    steps = []

    @contextlib.contextmanager
    def watched() -> Iterator[Any]:
        with connect() as execute:
            yield execute
        with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            other.execute("begin immediate")
            other.execute("rollback")
        steps.append(path)

    monkeypatch.setattr(store, "connect", watched)
    store.remove([documents[0].key])
    store.compact()
    assert len(steps) > 5
    data = path.read_bytes()
    assert b"xylophon" in data
    store.remove([document.key for document in documents[1:]])
    store.compact()
    assert b"xylophon" not in path.read_bytes()


def test_a_quick_search_waits_for_nobody_and_reads_no_book(
    store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds what there is while others are at the index, and leaves a large new document to
    them."""
    Index(store, [Book(40)]).update()
    read: list[int] = []
    index = Index(store, [Book(40), Slow(read.append)])
    found = index.search("viola", KINDS, seconds=0, is_quick=True)
    assert {hit.place for hit in found.hits} == {"book.txt"}
    assert found.missing == 1
    assert len(read) <= 1

    waits: list[float] = []

    class Held:
        def acquire(self, *, timeout: float) -> bool:
            waits.append(timeout)
            return False

    monkeypatch.setattr(index, "_lock", Held())
    found = index.search("viola", KINDS, is_quick=True)
    assert {hit.place for hit in found.hits} == {"book.txt"}
    assert not any(waits)


def test_a_file_on_a_disk_of_whole_seconds_is_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the same second it may change once more and look the same."""
    second = (time.time_ns() // 1_000_000_000 - 1) * 1_000_000_000
    entry = Entry("notes/a.md", "file", 9, 0.0, (second, second, 9, 1))
    monkeypatch.setattr(search_sources, "walk_folder", lambda _: [entry])
    source = FileSource(root)
    stamps = [document.stamp for _ in range(2) for document in source.documents()]
    assert stamps[0] != stamps[1]


def test_versions_that_cannot_be_read_for_now_stay_in_the_index(
    store: PassageStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found meanwhile, and a version that could not be read counts as not read."""
    place = open_workspace(root, Actor("browser"))
    for text in (b"# User\n\n- Plays the viola\n", b"# User\n"):
        place.write("USER.md", text)
        commits.commit_pending(root)
    source = VersionSource(root, dt.UTC)
    index = Index(store, [source])
    open_history = search_sources.open_history

    def busy(_: Path) -> Any:
        message = "Others are at it."
        raise StoreBusy(message)

    def later(document: Document) -> Iterator[Passage]:
        with monkeypatch.context() as patch:
            patch.setattr(search_sources, "open_history", busy)
            yield from VersionSource(root, dt.UTC).passages(document)

    monkeypatch.setattr(source, "passages", later)
    index.update()
    assert index.search("viola", (VERSION,)).hits == ()
    index = Index(store, [VersionSource(root, dt.UTC)])
    assert index.search("viola", (VERSION,)).hits
    stored = store.stamps()
    monkeypatch.setattr(search_sources, "open_history", busy)
    assert index.search("viola", (VERSION,)).hits
    assert store.stamps() == stored
    monkeypatch.setattr(search_sources, "open_history", open_history)
    assert index.update() == 0
