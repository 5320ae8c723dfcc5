"""A run waits for its model for minutes, and holds no database connection meanwhile."""

from django.db import connection


def give_back() -> None:
    """Let the pool have this thread's connection. SQLite has no pool and no limit."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
