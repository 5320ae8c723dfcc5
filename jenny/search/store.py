"""Keep documents and their passages, and find those with some of the words of a query.

Everything here is derived: a store may be emptied at any time. ``SqliteStore`` is a file for each
workspace; ``jenny.search.postgres`` keeps the same tables, for all workspaces, in PostgreSQL.
"""

import contextlib
import sqlite3
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Any

from jenny.agent.clock import MONTHS, WEEKDAYS
from jenny.search.words import PREFIX, index_words
from jenny.workspace.sqlite_cache import SqliteCache, is_busy, transaction

VERSION = 5
# Passages, or removed documents, that are written in one transaction.
_BATCH = 50
# Pages of words that are merged in one transaction.
_MERGED_PAGES = 500
# The stamp of a document that is not stored whole.
_INCOMPLETE = "incomplete"
# Passages that are ranked exactly.
CANDIDATES = 120
# The commonest words of a query choose no candidates when the others have so many passages.
_POSTINGS = 4_000

type Key = tuple[str, str]
# How many passages have a word of the query, and its forms.
type Group = tuple[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Document:
    """Something that is searched: its *kind*, and its *place* (a path, an id).

    *stamp* differs whenever its content does.
    """

    kind: str
    place: str
    stamp: str

    @property
    def key(self) -> Key:
        return self.kind, self.place


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document of about a page at most.

    *anchors*: for each line the number by which its place is named (a line, a message, an entry).
    *title* is searched as well. *day*: when it was said, as 2026-12-04, or "".
    """

    lines: tuple[str, ...]
    anchors: tuple[int, ...]
    title: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored passage with its words, a line for the title and one for each of its lines."""

    kind: str
    place: str
    stamp: str
    passage: Passage
    words: str

    @property
    def key(self) -> Key:
        return self.kind, self.place


@dataclass(frozen=True, slots=True)
class Limits:
    """Conditions for a passage: it has a form of each of *needed*, one of these *kinds*, and
    a day from *since* to *until* ("": any), unless it has no day."""

    kinds: Sequence[str]
    needed: Sequence[frozenset[str]] = ()
    since: str = ""
    until: str = ""

    @property
    def days(self) -> tuple[str, str]:
        return self.since, self.until or "9999"


@dataclass(frozen=True, slots=True)
class Totals:
    passages: int
    words: float


class PassageStore(ABC):
    """The documents of one workspace. Statements are written with ``%s`` for values."""

    workspace: str = ""

    @abstractmethod
    def connect(self) -> contextlib.AbstractContextManager["Execute"]:
        """Open a transaction. Yields the function that executes a statement."""

    @abstractmethod
    def clear(self) -> None:
        """Delete everything that is kept of the workspace."""

    @abstractmethod
    def exists(self) -> bool:
        """True when something may be kept of the workspace."""

    @abstractmethod
    def frequencies(self, forms: Iterable[str]) -> dict[str, int]:
        """Return the number of passages with each form, without those that have none. The number
        of a beginning (``words.PREFIX``) is an estimate."""

    @abstractmethod
    def matching(self, groups: Sequence[Group], limits: Limits, most: int) -> list[Any]:
        """Return the best *most* passages with a word of *groups*, as rows of ``COLUMNS``."""

    @abstractmethod
    def insert_passage(self, execute: "Execute", values: Sequence[Any]) -> None:
        """Insert one passage; *values* as in ``VALUES``."""

    @abstractmethod
    def compact(self) -> None:
        """Overwrite what is left of removed texts."""

    def stamps(self) -> dict[Key, str]:
        with self.connect() as execute:
            rows = execute(
                "select kind, place, stamp from search_document where workspace = %s",
                [self.workspace],
            )
        return {(kind, place): stamp for kind, place, stamp in rows}

    def put(
        self,
        document: Document,
        passages: Iterable[Passage],
        until: float | None = None,
        *,
        is_new: bool = False,
    ) -> bool:
        """Store a document. Passages that it had before stay as they are; one that *is_new* has
        none.

        It is written in short transactions, since others wait for each. ``False``: it is not
        complete, because the time *until* (of the monotonic clock) came or somebody removed it
        meanwhile; the next call continues.
        """
        known = set() if is_new else self._digests(document)
        wanted: set[str] = set()
        batch: list[list[Any]] = []
        for passage in passages:
            digest = _digest(passage)
            if digest in wanted:
                continue
            wanted.add(digest)
            if digest in known:
                continue
            batch.append(self._values(document, digest, passage))
            if len(batch) == _BATCH:
                self._insert(document, batch)
                batch = []
                if until is not None and time.monotonic() > until:
                    return False
        return self._insert(document, batch, wanted)

    def _digests(self, document: Document) -> set[str]:
        with self.connect() as execute:
            rows = execute(
                "select digest from search_passage where document in (select id from"
                " search_document where workspace = %s and kind = %s and place = %s)",
                [self.workspace, *document.key],
            )
        return {digest for (digest,) in rows}

    def _values(self, document: Document, digest: str, passage: Passage) -> list[Any]:
        title, *lines = (_storable(text) for text in (passage.title, *passage.lines))
        words = "\n".join(index_words([f"{title} {_day(passage.day)}", *lines]))
        return [
            self.workspace,
            document.kind,
            digest,
            words.count(" ") + words.count("\n") + 1,
            title,
            passage.day,
            " ".join(map(str, passage.anchors)),
            "\n".join(lines),
            words,
        ]

    def _insert(
        self, document: Document, batch: Sequence[Sequence[Any]], wanted: set[str] | None = None
    ) -> bool:
        """Insert passages. With *wanted*, the digests of all its passages, the document is complete
        then: others are deleted, and it gets its stamp unless one is missing."""
        with self.connect() as execute:
            # The row stays locked until the end, so that nobody removes it in between.
            number = execute(
                "insert into search_document (workspace, kind, place, stamp) values"
                " (%s, %s, %s, %s) on conflict (workspace, kind, place)"
                " do update set stamp = excluded.stamp returning id",
                [self.workspace, *document.key, _INCOMPLETE],
            )[0][0]
            for values in batch:
                self.insert_passage(execute, [number, *values])
            if wanted is None:
                return False
            stored = dict(
                execute("select digest, id from search_passage where document = %s", [number])
            )
            for digest in stored.keys() - wanted:
                execute("delete from search_passage where id = %s", [stored[digest]])
            is_whole = wanted <= stored.keys()
            if is_whole:
                execute(
                    "update search_document set stamp = %s where id = %s", [document.stamp, number]
                )
            return is_whole

    def remove(self, keys: Iterable[Key]) -> None:
        """Remove documents with their passages; in one order, so that two never wait for each
        other."""
        ordered = sorted(keys)
        for at in range(0, len(ordered), _BATCH):
            with self.connect() as execute:
                for key in ordered[at : at + _BATCH]:
                    execute(
                        "delete from search_document"
                        " where workspace = %s and kind = %s and place = %s",
                        [self.workspace, *key],
                    )

    def totals(self) -> Totals:
        with self.connect() as execute:
            count, mean = execute(
                "select count(*), avg(length) from search_passage where workspace = %s",
                [self.workspace],
            )[0]
        return Totals(count, float(mean or 1))

    def candidates(self, groups: Sequence[Group], limits: Limits) -> list[Candidate]:
        """Return passages with words of the query."""
        chosen: list[Group] = []
        postings = 0
        for group in sorted(groups, key=itemgetter(0)):
            if chosen and postings + group[0] > _POSTINGS:
                break
            postings += group[0]
            chosen.append(group)
        return [
            Candidate(
                kind,
                place,
                stamp,
                Passage(tuple(text.split("\n")), tuple(map(int, anchors.split(" "))), title, day),
                words,
            )
            for kind, place, stamp, title, day, anchors, text, words in (
                self.matching(chosen, limits, CANDIDATES) if chosen else ()
            )
        ]


COLUMNS = (
    "passage.kind, document.place, document.stamp, passage.title, passage.day, passage.anchors,"
    " passage.text, passage.words"
)
VALUES = "document, workspace, kind, digest, length, title, day, anchors, text, words"


class Execute:
    """Executes statements in one transaction, and returns their rows."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def __call__(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._run(statement, values))


_SCHEMA = (
    (
        "create table search_document (id integer primary key, workspace text not null,"
        " kind text not null, place text not null, stamp text not null,"
        " unique (workspace, kind, place))"
    ),
    (
        "create table search_passage (id integer primary key, document integer not null,"
        " workspace text not null, kind text not null, digest text not null,"
        " length integer not null, title text not null, day text not null, anchors text not null,"
        " text text not null, words text not null, unique (document, digest))"
    ),
    "create index passage_length on search_passage (workspace, length)",
    (
        "create virtual table term using fts5(words, content = 'search_passage',"
        " content_rowid = 'id',"
        " tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* Co'\")"
    ),
    "create virtual table frequency using fts5vocab(term, 'row')",
    (
        "create trigger passage_added after insert on search_passage begin"
        " insert into term (rowid, words) values (new.id, new.words); end"
    ),
    (
        "create trigger passage_removed after delete on search_passage begin"
        " insert into term (term, rowid, words) values ('delete', old.id, old.words);"
        " insert into about values ('removed', 1)"
        " on conflict (key) do update set value = value + 1; end"
    ),
    (
        "create trigger document_removed after delete on search_document begin"
        " delete from search_passage where document = old.id; end"
    ),
)


class SqliteStore(PassageStore):
    """One SQLite file (FTS5) a workspace; *path* None: in memory."""

    def __init__(self, path: Path | None) -> None:
        self.cache = SqliteCache(path, _SCHEMA, VERSION)

    @contextlib.contextmanager
    def connect(self) -> Iterator[Execute]:
        # Deferred: whoever reads does not wait for those who write, unless these commit just then.
        with self._guarded() as connection, transaction(connection, "deferred"):
            yield Execute(lambda text, values: connection.execute(text.replace("%s", "?"), values))

    def clear(self) -> None:
        self.cache.discard()

    def exists(self) -> bool:
        return self.cache.exists()

    def compact(self) -> None:
        # FTS5 keeps removed words until the parts of its table are merged: all of them, in steps,
        # between which others write.
        with self.connect() as execute:
            removed = execute("select value from about where key = 'removed'")
        if not removed:
            return
        pages = -_MERGED_PAGES
        while self._merge(pages):
            pages = _MERGED_PAGES
        with self.connect() as execute:
            # What was removed meanwhile is left for the next time.
            execute("delete from about where key = 'removed' and value = %s", removed[0])

    def _merge(self, pages: int) -> bool:
        """Merge so many pages; below zero: begin to merge all. ``False``: nothing was left to
        merge."""
        with self.connect() as execute:
            before = execute("select total_changes()")[0][0]
            execute("insert into term (term, rank) values ('merge', %s)", [pages])
            return bool(execute("select total_changes()")[0][0] - before > 1)

    def frequencies(self, forms: Iterable[str]) -> dict[str, int]:
        wanted = list(forms)
        marks = ", ".join("?" * len(wanted))
        with self._guarded() as connection:
            found = dict(
                connection.execute(
                    f"select term, doc from frequency where term in ({marks})",  # noqa: S608 - marks
                    wanted,
                )
            )
            for form in (form for form in wanted if form.endswith(PREFIX)):
                count = connection.execute(
                    "select sum(doc) from frequency where term >= ? and term < ?",
                    [form[:-1], form[:-1] + chr(sys.maxunicode)],
                ).fetchone()[0]
                if count:
                    found[form] = count
        return found

    def matching(self, groups: Sequence[Group], limits: Limits, most: int) -> list[Any]:
        chosen = [forms for _, forms in groups]
        wanted = " AND ".join(
            f"({' OR '.join(map(_quoted, forms))})"
            for forms in [[form for group in chosen for form in group], *limits.needed]
        )
        marks = ", ".join("?" * len(limits.kinds))
        with self._guarded() as connection:
            return connection.execute(
                f"select {COLUMNS} from (select term.rowid as id, term.rank as score from term"  # noqa: S608 - marks
                " join search_passage as passage on passage.id = term.rowid"
                f" where term match ? and kind in ({marks}) and (day = '' or day between ? and ?)"
                " order by term.rank limit ?) as best"
                " join search_passage as passage on passage.id = best.id"
                " join search_document as document on document.id = passage.document"
                " order by best.score",
                [wanted, *limits.kinds, *limits.days, most],
            ).fetchall()

    def insert_passage(self, execute: Execute, values: Sequence[Any]) -> None:
        marks = ", ".join(["%s"] * len(values))
        execute(
            f"insert into search_passage ({VALUES}) values ({marks}) on conflict do nothing",  # noqa: S608 - marks
            values,
        )

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """Open the file; after an error the next call finds a new one, or one in memory."""
        try:
            with self.cache.open() as connection:
                yield connection
        except sqlite3.Error as error:
            self.cache.recover(error)
            raise (IndexBusy if is_busy(error) else IndexLost) from error


class IndexLost(Exception):
    """The index was lost, or a statement failed; what is missing can be filled in again."""


class IndexBusy(IndexLost):
    """The index, or what it follows, cannot be read for now; nothing was lost."""


def _quoted(form: str) -> str:
    return f'"{form[:-1]}"*' if form.endswith(PREFIX) else f'"{form}"'


def _day(day: str) -> str:
    """Return the words in which people ask for a day."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return ""
    return f"{WEEKDAYS[found.weekday()]} {found.day} {MONTHS[found.month - 1]} {found.year}"


def _storable(text: str) -> str:
    """Return the text without what a database refuses: half characters and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _digest(passage: Passage) -> str:
    text = "\0".join((passage.title, passage.day, str(passage.anchors), *passage.lines))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
