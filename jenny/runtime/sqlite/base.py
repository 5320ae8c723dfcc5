"""The database backend. Everything but the pool and the write queue is Django's own."""

import atexit
import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

# More are seldom in use at once; each takes a file descriptor.
_MOST = 64
_LOOK_AGAIN_SECONDS = 0.001

type _Place = tuple[int, str, int, int]


class Pool:
    """Unused connections of this process, the newest first."""

    def __init__(self) -> None:
        self._free: list[tuple[_Place, sqlite3.Connection]] = []
        self._lock = Lock()

    def take(self, place: _Place) -> sqlite3.Connection | None:
        """Return a connection to the same file; those to a deleted file are closed."""
        while True:
            with self._lock:
                if not self._free:
                    return None
                found, connection = self._free.pop()
            if found == place:
                return connection
            _end(found, connection)

    def give(self, place: _Place, connection: sqlite3.Connection) -> None:
        with self._lock:
            if len(self._free) < _MOST:
                self._free.append((place, connection))
                return
        _end(place, connection)

    def drain(self) -> None:
        """Close all of them: before a fork, before the file is replaced, and at the end."""
        with self._lock:
            free, self._free = self._free, []
        for place, connection in free:
            _end(place, connection)


POOL = Pool()
atexit.register(POOL.drain)
os.register_at_fork(before=POOL.drain)


class Queue:
    """Threads of this process that wait to write. The first one polls the file often.

    SQLite itself polls ever more seldom, up to a tenth of a second apart: with steady writers, some
    would wait for a third of a second.
    """

    def __init__(self) -> None:
        self._first = Lock()

    @contextlib.contextmanager
    def stand(self, seconds: float) -> Iterator[None]:
        """Become the first for the block; after *seconds* run it without being the first."""
        is_first = self._first.acquire(timeout=seconds)
        try:
            yield
        finally:
            if is_first:
                self._first.release()


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes a connection from the pool and returns it there instead of closing it.

    Starts a write transaction as soon as other writers allow it.
    """

    _pool_key: _Place | None = None
    _queue = Queue()

    def _start_transaction_under_autocommit(self) -> None:
        seconds = float(self.settings_dict["OPTIONS"].get("timeout", 5))
        until = time.monotonic() + seconds
        had_errors = self.errors_occurred
        with self._queue.stand(seconds):
            self.connection.execute("PRAGMA busy_timeout = 0")
            try:
                while not self._begun(until):
                    self.errors_occurred = had_errors
                    time.sleep(_LOOK_AGAIN_SECONDS)
            finally:
                self.connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection to the present file."""
        self._pool_key = None if self.is_in_memory_db() else _place_of(str(conn_params["database"]))
        if self._pool_key is not None and (found := POOL.take(self._pool_key)) is not None:
            # Changing the schema switches it off for a while.
            found.execute("PRAGMA foreign_keys = ON")
            return found
        if self._pool_key is None and not self.is_in_memory_db():
            # SQLite would let others read the file; the files next to it get the same rights.
            with contextlib.suppress(OSError):
                os.close(os.open(conn_params["database"], os.O_CREAT | os.O_RDWR, 0o600))
        made = super().get_new_connection(conn_params)
        if self._pool_key is None and not self.is_in_memory_db():
            self._pool_key = _place_of(str(conn_params["database"]))  # it was created just now
        return made

    def _begun(self, until: float) -> bool:
        """True when the transaction has begun; ``False``: somebody else is writing.

        :raises OperationalError: this is still so at the time *until*, or something else is wrong.
        """
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # the stubs lack it
        except OperationalError as error:
            if not _is_busy(error) or time.monotonic() >= until:
                raise
            return False
        return True

    def _close(self) -> None:
        place, connection = self._pool_key, self.connection
        # A connection is not reused after an error.
        if connection is None or place is None or self.errors_occurred or place[0] != os.getpid():
            super()._close()  # type: ignore[misc]  # the stubs lack it
            return
        try:
            connection.rollback()
        except sqlite3.Error:
            super()._close()  # type: ignore[misc]  # the stubs lack it
            return
        POOL.give(place, connection)


def _place_of(name: str) -> _Place | None:
    """Identify the file within this process.

    A connection must not cross a fork, nor serve another file of the same name.
    """
    try:
        status = os.stat(name)  # noqa: PTH116  (it is asked at each request)
    except (OSError, ValueError):
        return None
    return os.getpid(), name, status.st_dev, status.st_ino


def _is_busy(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _renew_queue() -> None:
    """Reset the queue in a forked process: the parent's threads do not wait here."""
    DatabaseWrapper._queue = Queue()  # noqa: SLF001 - of this module


os.register_at_fork(after_in_child=_renew_queue)


def _end(place: _Place, connection: sqlite3.Connection) -> None:
    """Close a connection, unless it belongs to the process that this one was forked from."""
    if place[0] == os.getpid():
        with contextlib.suppress(sqlite3.Error):
            connection.close()
