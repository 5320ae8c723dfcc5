"""The backend. Everything but the pool is Django's own."""

import atexit
import contextlib
import os
import sqlite3
from threading import Lock
from typing import Any

from django.db.backends.sqlite3 import base

# More than so many are seldom in use at once; each keeps a file open.
_MOST = 64

type _Place = tuple[int, str, int, int]


class Pool:
    """Connections of this process that nobody uses, the newest first."""

    def __init__(self) -> None:
        self._free: list[tuple[_Place, sqlite3.Connection]] = []
        self._lock = Lock()

    def take(self, place: _Place) -> sqlite3.Connection | None:
        """One to the same file; those to a file that is not there any more are closed."""
        while True:
            with self._lock:
                if not self._free:
                    return None
                found, connection = self._free.pop()
            if found == place:
                return connection
            _end(found, connection)

    def give(self, place: _Place, connection: sqlite3.Connection) -> None:
        """Take one back."""
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


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes a connection from the pool, and gives it back in place of closing it."""

    _place: _Place | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection to the file as it is now."""
        self._place = None if self.is_in_memory_db() else _place_of(str(conn_params["database"]))
        if self._place is not None and (found := POOL.take(self._place)) is not None:
            # Changing the schema switches it off for a while.
            found.execute("PRAGMA foreign_keys = ON")
            return found
        made = super().get_new_connection(conn_params)
        if self._place is None and not self.is_in_memory_db():
            self._place = _place_of(str(conn_params["database"]))  # it was made just now
        return made

    def _close(self) -> None:
        place, connection = self._place, self.connection
        # One at which something went wrong is not used again.
        if connection is None or place is None or self.errors_occurred or place[0] != os.getpid():
            super()._close()  # type: ignore[misc]
            return
        try:
            connection.rollback()
        except sqlite3.Error:
            super()._close()  # type: ignore[misc]
            return
        POOL.give(place, connection)


def _place_of(name: str) -> _Place | None:
    """Which file it is, for this process: a connection crosses no fork, and is of no use for
    another file of the same name."""
    try:
        status = os.stat(name)  # noqa: PTH116  (it is asked at each request)
    except (OSError, ValueError):
        return None
    return os.getpid(), name, status.st_dev, status.st_ino


def _end(place: _Place, connection: sqlite3.Connection) -> None:
    """Close a connection, unless it is that of the process that this one was forked from."""
    if place[0] == os.getpid():
        with contextlib.suppress(sqlite3.Error):
            connection.close()
