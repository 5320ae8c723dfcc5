"""Derived data in a SQLite file that may be lost at any moment.

A damaged file is deleted and made again; where the disk cannot be written, the data is in memory.
Several processes share a file.
"""

import contextlib
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

_BUSY_SECONDS = 5.0


class SqliteCache:
    """The file at *path* or, where that cannot be written, a database in memory.

    *schema*: its statements; a file with another *version* is emptied and made anew.
    """

    def __init__(self, path: Path | None, schema: Sequence[str], version: int) -> None:
        self._path = path
        self._schema = schema
        self._version = version
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open a connection; a damaged file is replaced by an empty one."""
        connection = self._connect()
        try:
            yield connection
        finally:
            if connection is self._memory:
                self._lock.release()
            else:
                connection.close()

    def born(self, connection: sqlite3.Connection) -> str:
        """Return the cache's id, which is new when it was rebuilt."""
        row = connection.execute("select value from about where key = 'born'").fetchone()
        return str(row[0]) if row else ""

    def exists(self) -> bool:
        """True when there is a file, or the data is in memory."""
        return self._memory is not None or (self._path is not None and self._path.exists())

    def discard(self) -> None:
        """Delete the file; the next process to open it creates a new one."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
            if self._path is not None:
                for ending in ("", "-journal", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        self._path.with_name(self._path.name + ending).unlink()

    def recover(self, error: sqlite3.Error) -> None:
        """Make the cache usable after *error*. A damaged file is deleted; where the disk is full or
        cannot be written, the data is in memory from then on. A file that others hold locked stays
        as it is."""
        if is_busy(error):
            return
        if isinstance(error, sqlite3.OperationalError):
            with self._lock:
                self._path = None
        else:
            self.discard()

    def _connect(self) -> sqlite3.Connection:
        if self._path is not None and self._memory is None:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return self._opened(str(self._path))
            except sqlite3.OperationalError as error:
                if is_busy(error):
                    raise
            except sqlite3.DatabaseError:
                self.discard()
                with contextlib.suppress(sqlite3.Error):
                    return self._opened(str(self._path))
            except OSError:
                pass
        self._lock.acquire()
        try:
            if self._memory is None:
                self._memory = self._opened(":memory:")
        except BaseException:
            self._lock.release()
            raise
        return self._memory

    def _opened(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # A cache torn by a power cut is detected and rebuilt; deleted data is overwritten.
            connection.execute("pragma synchronous = off")
            connection.execute("pragma secure_delete = on")
            if connection.execute("pragma user_version").fetchone()[0] != self._version:
                self._create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        with transaction(connection):
            if connection.execute("pragma user_version").fetchone()[0] == self._version:
                return  # another process was first
            # Virtual tables have no page of their own; they go first, with the tables below them.
            tables = connection.execute(
                "select name from sqlite_master where type = 'table' order by rootpage"
            ).fetchall()
            for (name,) in tables:
                connection.execute(f'drop table if exists "{name}"')
            connection.execute(
                "create table about (key text primary key, value text) without rowid"
            )
            for statement in self._schema:
                connection.execute(statement)
            connection.execute("insert into about values ('born', ?)", [uuid.uuid4().hex])
            connection.execute(f"pragma user_version = {self._version}")


def is_busy(error: BaseException) -> bool:
    """True when another process or thread held the file locked for too long."""
    # The lower byte is the kind of the error.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextlib.contextmanager
def transaction(
    connection: sqlite3.Connection, kind: Literal["immediate", "deferred"] = "immediate"
) -> Iterator[None]:
    connection.execute(f"begin {kind}")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
