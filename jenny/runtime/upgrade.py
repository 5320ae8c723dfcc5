"""Migrates the database and the settings of workspaces before anything starts, after a backup."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, OperationalError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.runtime.sqlite.base import POOL
from jenny.runtime.supervisor import CannotStart
from jenny.workspace import config, retention
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots.create import create
from jenny.workspace.snapshots.store import Store
from memory.services.snapshots import before_upgrade

# Any number will do, as long as no other program on the same database uses it.
ADVISORY_LOCK = 0x4A656E6E79
WAIT_SECONDS = 120.0
LOOK_SECONDS = 0.5

Say = Callable[[str], None]


def migrate_database(say: Say) -> None:
    """Back up, then migrate, when there is something to migrate. One process at a time.

    Refuses a database that a newer version has migrated: this code would write into tables that it
    does not know.
    """
    wait_for_server(say)
    if not pending():
        return
    with _alone():
        steps = pending()
        if not steps:
            return
        first = None
        if _has_tables():
            say(f"Backed up the database to {_backup()}.")
            first = _first_backup()
            for trouble in before_upgrade():
                say(f"No snapshot before the upgrade. {trouble}")
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except DatabaseError as error:
            raise CannotStart(_broke_off(error, first)) from error
        _unfinished().unlink(missing_ok=True)


def wait_until_migrated(say: Say) -> None:
    """Return once another process has migrated; fail after two minutes."""
    wait_for_server(say)
    deadline = time.monotonic() + WAIT_SECONDS
    is_told = False
    while pending():
        if time.monotonic() > deadline:
            message = "The database was not migrated. Start the web service, which does that."
            raise CannotStart(message)
        if not is_told:
            say("Waiting for the web service to migrate the database.")
            is_told = True
        time.sleep(LOOK_SECONDS)


def wait_for_server(say: Say) -> None:
    """Return once the database answers; fail after two minutes."""
    deadline = time.monotonic() + WAIT_SECONDS
    is_told = False
    while True:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            reason = str(error).strip().splitlines()[0]
            if connection.vendor == "sqlite" or time.monotonic() > deadline:
                message = f"The database cannot be opened: {reason}"
                raise CannotStart(message) from error
            if not is_told:
                say("Waiting for the database to answer.")
                is_told = True
            time.sleep(LOOK_SECONDS)
        else:
            return


def let_go() -> None:
    """Close every connection and the pools; PostgreSQL's pool has threads.

    Required before a fork: the child would share the socket, and would wait for threads of the pool
    that it does not have.
    """
    connections.close_all()
    POOL.drain()
    for one in connections.all(initialized_only=True):
        if one.vendor == "postgresql":
            one.close_pool()  # type: ignore[attr-defined]  # psycopg's backend has it


def pending() -> list[str]:
    """Return the names of the unapplied migrations; refuses a database newer than the code."""
    executor = MigrationExecutor(connection)
    ours = {config.label for config in apps.get_app_configs()}
    unknown = [
        f"{label}.{name}"
        for label, name in executor.loader.applied_migrations
        if label in ours
        and (label, name) not in executor.loader.disk_migrations
        and (label, name) not in _replaced(executor)
    ]
    if unknown:
        message = (
            f"The database was made by a newer version of Jenny (it knows {min(unknown)}). "
            "Start that version, or put back the backup made before it migrated "
            f"({_backup_folder()})."
        )
        raise CannotStart(message)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def _replaced(executor: MigrationExecutor) -> set[tuple[str, str]]:
    """Return the migrations that squashed migrations on disk replace."""
    return {
        key for migration in executor.loader.disk_migrations.values() for key in migration.replaces
    }


def _has_tables() -> bool:
    with connection.cursor() as cursor:
        return bool(connection.introspection.table_names(cursor))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes, on this host or (PostgreSQL) on others, from migrating at once."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])
        return
    with (settings.JENNY_DATA.root / "migrating.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _broke_off(error: DatabaseError, first: Path | None) -> str:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    said = f"The upgrade of the database broke off: {reason}. Start again to go on with it"
    return f"{said}, or put back the state before it: {first}." if first else f"{said}."


def _unfinished() -> Path:
    """Return the file that names the backup from before an unfinished upgrade.

    Repeated attempts must not replace that backup.
    """
    return _backup_folder() / "unfinished"


def _first_backup() -> Path | None:
    try:
        first = _backup_folder() / _unfinished().read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return first if first.is_file() else None


def _backup_folder() -> Path:
    return Path(settings.JENNY_DATA.root / "backups")


def _backup() -> Path:
    folder = _backup_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    for broken in folder.glob("partial-*"):
        # Its process was killed: no other process is here now.
        broken.unlink()
    # In microseconds, so that an immediate restart does not overwrite the previous backup.
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    is_sqlite = connection.vendor == "sqlite"
    target = folder / f"database-{stamp}.{'sqlite3' if is_sqlite else 'pgdump'}"
    partial = folder / f"partial-{stamp}"
    try:
        if is_sqlite:
            _copy_sqlite(partial)
        else:
            _dump_postgresql(partial)
        partial.chmod(0o600)
        partial.replace(target)
    except (OSError, sqlite3.Error, subprocess.CalledProcessError) as error:
        partial.unlink(missing_ok=True)
        message = f"The database was not migrated, since it cannot be backed up first: {error}"
        raise CannotStart(message) from error
    if _first_backup() is None:
        _unfinished().write_text(target.name, encoding="utf-8")
    first = _first_backup()
    for old in sorted(folder.glob("database-*"))[: -retention.DATABASE_COPIES]:
        if old != first:
            old.unlink()
    return target


def _copy_sqlite(target: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(settings.JENNY_DATA.database)) as source,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)


def _dump_postgresql(target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        message = "pg_dump is not installed. Install the PostgreSQL client."
        raise OSError(message)
    database = settings.DATABASES["default"]
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {key: str(database[name]) for key, name in names.items() if database.get(name)}
    subprocess.run(  # noqa: S603 -- our own command line; the password goes by environment
        [program, "--format=custom", f"--file={target}", f"--dbname={database['NAME']}"],
        env={**os.environ, **given},
        check=True,
        capture_output=True,
    )


INSTANCE_WAIT_SECONDS = 60.0
INSTANCE_LOOK_SECONDS = 0.1
_RUNS = (
    "The database is not set up for this version yet, and Jenny runs on this data folder. Start "
    "her again (make run, or docker compose up): that brings the database up to date. Then run "
    "this again."
)


def prepare_for_command(say: Say) -> None:
    """Bring database and settings to this version before a command uses them.

    A running instance on this data folder has the version of the database; it must not lose its
    tables while it runs.

    :raises CommandError: nothing was done, and what to do.
    """
    with settings.JENNY_DATA.running_lock.open("a+") as lock:
        deadline = time.monotonic() + INSTANCE_WAIT_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                lock.seek(0)
                # "up" writes its number there; another command is waited for.
                if lock.read().strip() or time.monotonic() > deadline:
                    raise CommandError(_RUNS) from error
                time.sleep(INSTANCE_LOOK_SECONDS)
        try:
            migrate_database(say)
            migrate_settings(say)
        except CannotStart as problem:
            raise CommandError(problem.message) from problem


def migrate_settings(say: Say) -> int:
    """Rewrite each ``config.json`` of an older version, after a snapshot; return how many.

    One of a newer version stays as it is; pages of its workspace say so. One that cannot be written
    is converted while reading, and tried again at the next start.
    """
    done = 0
    for row in Workspace.objects.exclude(folder_made_at=None).order_by("slug"):
        try:
            if not config.is_old(row.root):
                continue
            store = Store(settings.JENNY_DATA.snapshots / f"{row.pk}.git")
            create(store, row.root, "upgrade", now=timezone.now())
            done += config.migrate_config(row.root)
        except WorkspaceError as error:
            say(f"The settings of {row.slug} were not brought up to date. {error.message}")
    if done:
        count = "one workspace" if done == 1 else f"{done} workspaces"
        say(f"The settings of {count} were brought up to date; snapshots hold the older ones.")
    return done
