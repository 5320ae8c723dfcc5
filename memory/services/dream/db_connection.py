"""Releases the database connection while a run waits for its model for minutes."""

from django.db import connection


def release_db_connection() -> None:
    """Return this thread's connection to the pool. SQLite has no pool and no limit."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
