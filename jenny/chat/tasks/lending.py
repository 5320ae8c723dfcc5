"""The lock of a running turn, which holds a database connection no longer than a write takes.

A turn waits for its model for minutes, and a worker has more turns than the pool has
connections: one that kept its own while it waits would starve the others.
"""

import threading

from django.db import connection


class Lending:
    """A reentrant lock; when the last hold ends, the thread's connection goes to the pool.

    SQLite has no pool and no limit: there the connection stays.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        """Hold the lock; ``False``: another thread does, and *blocking* was not asked for."""
        is_held = self._lock.acquire(blocking=blocking)
        if is_held:
            self._depth += 1
        return is_held

    def release(self) -> None:
        """End a hold."""
        self._depth -= 1
        try:
            if not self._depth:
                give_back()
        finally:
            self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_exception: object) -> None:
        self.release()


def give_back() -> None:
    """Let the pool have this thread's connection, before a long wait."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
