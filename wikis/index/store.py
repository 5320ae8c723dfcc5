"""The cache of the index: one SQLite file a workspace, with a full-text table (FTS5).

It holds nothing that is not in the files, so it may be deleted at any time; what is damaged is
thrown away and made again. Several processes share it: each writes what it saw change.
"""

import contextlib
import re
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wikis import names
from wikis.index.entries import Entry, Parsed
from wikis.index.scanning import Stamp

VERSION = 1
BUSY_SECONDS = 10.0
# Scripts written without spaces are looked for sign by sign.
UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")

_SCHEMA = """
create table if not exists about (key text primary key, value text) without rowid;
create table if not exists file (
  id integer primary key, wiki text not null, path text not null, stamp text not null,
  entry text not null, unique (wiki, path)
);
create virtual table if not exists words using fts5(
  title, path, headings, tags, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
"""


class Store:
    """The cache at *path*, or, where that cannot be written, one in memory."""

    def __init__(self, path: Path | None) -> None:
        """Nothing is opened yet."""
        self._path = path
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A connection; what was damaged is empty again."""
        connection = self._connect()
        try:
            yield connection
        finally:
            if connection is self._memory:
                self._lock.release()
            else:
                connection.close()

    def born(self, connection: sqlite3.Connection) -> str:
        """Which cache this is; another one when it was made again."""
        row = connection.execute("select value from about where key = 'born'").fetchone()
        return str(row[0]) if row else ""

    def rows(self, connection: sqlite3.Connection, wiki: str) -> dict[str, tuple[str, str]]:
        """The wiki's files: path → stamp and entry."""
        query = "select path, stamp, entry from file where wiki = ?"
        return {path: (stamp, entry) for path, stamp, entry in connection.execute(query, [wiki])}

    def put(
        self, connection: sqlite3.Connection, wiki: str, rows: Iterable[tuple[Stamp | None, Parsed]]
    ) -> None:
        """Keep what was read, in one go."""
        with _transaction(connection):
            for stamp, parsed in rows:
                entry = parsed.entry
                _remove(connection, wiki, [entry.path])
                cursor = connection.execute(
                    "insert into file (wiki, path, stamp, entry) values (?, ?, ?, ?)",
                    [wiki, entry.path, coded(stamp), entry.as_json()],
                )
                connection.execute(
                    "insert into words (rowid, title, path, headings, tags, body)"
                    " values (?, ?, ?, ?, ?, ?)",
                    [cursor.lastrowid, *_searched(entry, parsed.body)],
                )

    def remove(self, connection: sqlite3.Connection, wiki: str, paths: Sequence[str]) -> None:
        """Forget files that are gone."""
        with _transaction(connection):
            _remove(connection, wiki, paths)

    def keep_only(self, connection: sqlite3.Connection, wikis: Iterable[str]) -> None:
        """Forget wikis that are gone."""
        known = {row[0] for row in connection.execute("select distinct wiki from file")}
        for wiki in known - set(wikis):
            paths = connection.execute("select path from file where wiki = ?", [wiki]).fetchall()
            self.remove(connection, wiki, [row[0] for row in paths])

    def discard(self) -> None:
        """Throw the cache away; the next one to open it begins anew."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
            if self._path is not None:
                for ending in ("", "-journal", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        self._path.with_name(self._path.name + ending).unlink()

    def use_memory(self) -> None:
        """From now on keep it in memory: the disk is full, read-only, or held by others."""
        with self._lock:
            self._path = None

    def _connect(self) -> sqlite3.Connection:
        if self._path is not None and self._memory is None:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return _opened(str(self._path))
            except sqlite3.OperationalError:
                pass
            except sqlite3.DatabaseError:
                self.discard()
                with contextlib.suppress(sqlite3.Error):
                    return _opened(str(self._path))
            except OSError:
                pass
        self._lock.acquire()
        try:
            if self._memory is None:
                self._memory = _opened(":memory:")
        except BaseException:
            self._lock.release()
            raise
        return self._memory


def coded(stamp: Stamp | None) -> str:
    """A stamp as it is kept; one that tells nothing is equal to none."""
    return "" if stamp is None else " ".join(map(str, stamp))


def searched(text: str) -> str:
    """*text* as it is looked in: small letters, no accents, signs of unspaced scripts apart."""
    folded = names.plain(text) if len(text) < 1_000 else names.plain.__wrapped__(text)  # noqa: PLR2004 - longer ones fill the cache
    return folded if folded.isascii() else UNSPACED.sub(r" \g<0> ", folded)


def _opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # What a crash of the machine may tear is found and made again; what leaves is wiped.
        connection.execute("pragma synchronous = off")
        connection.execute("pragma secure_delete = on")
        version = connection.execute("pragma user_version").fetchone()[0]
        if version != VERSION:
            with _transaction(connection):
                for table in ("about", "file", "words"):
                    connection.execute(f"drop table if exists {table}")
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute("insert into about values ('born', ?)", [uuid.uuid4().hex])
                connection.execute(f"pragma user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _remove(connection: sqlite3.Connection, wiki: str, paths: Sequence[str]) -> None:
    for path in paths:
        row = connection.execute(
            "select id from file where wiki = ? and path = ?", [wiki, path]
        ).fetchone()
        if row:
            connection.execute("delete from words where rowid = ?", row)
            connection.execute("delete from file where id = ?", row)


def _searched(entry: Entry, body: str) -> list[str]:
    return [
        searched(part)
        for part in (
            entry.title,
            entry.path,
            "\n".join(entry.headings),
            " ".join(entry.tags),
            body,
        )
    ]
