"""Database connections that are released before a long wait.

A turn waits minutes for its model, and a worker has more turns than the pool has connections: a
waiting turn that kept its connection would starve the others. A stream may be open for hours.
"""

import threading
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.db import connection, connections

# In one of the process's threads: an open stream has no thread of its own
# (``jenny.runtime.asgi_middleware``).


class LoanedConnectionLock:
    """A reentrant lock that returns the thread's connection to the pool with its last release.

    On SQLite, which has no pool and no limit, the connection stays.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        """Acquire the lock; ``False``: another thread holds it, and *blocking* is false."""
        is_held = self._lock.acquire(blocking=blocking)
        if is_held:
            self._depth += 1
        return is_held

    def release(self) -> None:
        self._depth -= 1
        try:
            if not self._depth:
                release_db_connection()
        finally:
            self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_exception: object) -> None:
        self.release()


def release_db_connection() -> None:
    """Return this thread's connection to the pool before a long wait."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()


def query_database[**P, T](question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Query the database for a stream, and release the connection."""
    try:
        return question(*args, **kwargs)
    finally:
        connections.close_all()


# In one of the process's threads: an open stream has no thread of its own
# (``jenny.runtime.asgi_middleware``).
query_database_apart = sync_to_async(query_database, thread_sensitive=False)
