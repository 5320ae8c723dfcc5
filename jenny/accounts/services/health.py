"""Checks whether a chat would work now: the database, its tables, Redis.

``/health/ready`` and Settings → System both use it.
"""

from dataclasses import dataclass

import redis
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from jenny.broker import redis_client


@dataclass(frozen=True, slots=True)
class Check:
    """One part that a chat needs: its name, its description, and what to do when it fails."""

    name: str
    title: str
    cure: str
    is_fine: bool


def checks() -> list[Check]:
    has_database = _database()
    return [
        Check(
            "database",
            "The database answers",
            "See that it runs and that DATABASE_URL names it; with SQLite, that the data folder "
            "can be written to and its disk is not full.",
            has_database,
        ),
        Check(
            "migrations",
            "The database has this version's tables",
            "Start the web service of this version again: it brings them up to date.",
            has_database and _migrations(),
        ),
        Check(
            "redis",
            "The queue answers",
            "The embedded server is started again by itself; with REDIS_URL, see that the server "
            "it names runs. What was sent is kept in the database and goes on by itself.",
            _redis(),
        ),
    ]


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis() -> bool:
    try:
        return bool(redis_client().ping())
    except redis.RedisError:
        return False


class _Migrations:
    """Checks that the database has this code's tables.

    A positive result is kept for the process.
    """

    are_applied = False


def _migrations() -> bool:
    if not _Migrations.are_applied:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        _Migrations.are_applied = not plan
    return _Migrations.are_applied
