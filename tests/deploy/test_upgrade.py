"""Upgrades from the first tables on: nothing is lost, whatever happens on the way."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from settings_ui.plots import PARTS
from tests.support import old_database
from tests.support.client import Client
from tests.support.stack import ROOT, clean_environment, manage, start
from tests.support.waiting import wait_until

MIGRATE = "from jenny.runtime.upgrade import migrate_database; migrate_database(print)"
SETTINGS = "from jenny.runtime.upgrade import migrate_settings; migrate_settings(print)"


def begin(data: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that upgrades, as a container's start does."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "shell", "-v", "0", "-c", MIGRATE],
        env=clean_environment(JENNY_DATA_DIR=str(data), **environment),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def upgrade(data: Path, **environment: str) -> str:
    """The whole of it, and what it says."""
    return manage(data, "shell", "-v", "0", "-c", MIGRATE, **environment)


def backups(data: Path) -> list[Path]:
    """Copies of the database, the oldest first."""
    return sorted((data / "backups").glob("database-*"))


def said_of(query: str, data: Path, url: str = "") -> list[tuple[object, ...]]:
    """Rows of the database."""
    if url:
        with psycopg.connect(url) as server:
            return server.execute(query.encode()).fetchall()
    with contextlib.closing(sqlite3.connect(data / "db.sqlite3", timeout=30)) as database:
        return database.execute(query).fetchall()


def applied(data: Path, url: str = "") -> set[tuple[object, ...]]:
    """Migrations that the database has."""
    return set(said_of("SELECT app, name FROM django_migrations", data, url))


def everything_is_there(data: Path, url: str = "", **environment: str) -> None:
    """What Ada had, she has; every migration is applied, and a further start finds nothing."""
    texts = said_of("SELECT text FROM chat_message ORDER BY id", data, url)
    assert texts[0] == (old_database.SAID,)
    assert said_of("SELECT text FROM chat_block", data, url) == [("Two pear trees.",)]
    assert said_of("SELECT username, time_zone, theme FROM accounts_account", data, url) == [
        (old_database.OWNER, "Europe/Vienna", "system")
    ]
    code = "from jenny.runtime.upgrade import pending; print(pending())"
    assert manage(data, "shell", "-v", "0", "-c", f"{code}; {MIGRATE}", **environment) == "[]\n"
    assert not (data / "backups" / "unfinished").exists()


def test_somebody_goes_on_where_they_were(scratch: Path) -> None:
    """The whole product starts on the first tables: backed up, a snapshot taken, settings written
    in the new form with their values; Ada logs in with her password and asks on in her chat."""
    data = scratch / "old-whole"
    old_database.restore(data)
    stack = start(data)
    try:
        told = " ".join(one["message"] for one in stack.said())
        assert "Backed up the database" in told
        assert "The settings of one workspace were brought up to date" in told
        ada = Client(stack.url).login(old_database.OWNER, old_database.PASSWORD)
        assert "Two pear trees." in ada.thread(old_database.CHAT)
        # Each part says that it is up; Settings → System shows it.
        parts = "SELECT DISTINCT part FROM accounts_upspan"
        wait_until(lambda: len(said_of(parts, data)) == len(PARTS), 60, "every part to be seen")
        assert ada.get("/settings/system/").text.count("Up now, without a gap.") == len(PARTS)
        ada.send(old_database.CHAT, "And what else?")
        assert "And what else?" in ada.answer(old_database.CHAT)
    finally:
        stack.end()
    settings = json.loads((data / "workspaces/ada/config.json").read_text())
    assert settings["configVersion"] == 1
    assert settings["agents"]["defaults"]["maxTokens"] == 1234
    listed = json.loads(manage(data, "snapshot", "list", "--json"))["snapshots"]
    assert "upgrade" in {row["trigger"] for row in listed}


def test_the_kept_database_is_the_script_s(scratch: Path) -> None:
    """What is kept has the tables that the first migrations make."""
    made, kept = scratch / "old-made", scratch / "old-kept"
    old_database.make(made)
    old_database.restore(kept)
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    assert said_of(query, made) == said_of(query, kept)


def test_postgresql_is_upgraded_by_two_at_once(scratch: Path, new_database) -> None:
    """Two containers start at the same moment: one migrates, after one backup; both go on."""
    url, data = new_database(), scratch / "old-postgres"
    data.mkdir()
    old_database.make(data, DATABASE_URL=url)
    both = [begin(data, DATABASE_URL=url) for _ in range(2)]
    said = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert len(backups(data)) == 1
    assert "".join(out for out, _ in said).count("Backed up the database") == 1
    everything_is_there(data, url, DATABASE_URL=url)


def test_sqlite_is_upgraded_by_two_at_once(scratch: Path) -> None:
    """The same with one file."""
    data = scratch / "old-two"
    old_database.restore(data)
    both = [begin(data) for _ in range(2)]
    said = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert len(backups(data)) == 1
    everything_is_there(data)


@pytest.mark.parametrize("is_postgres", [False, True])
def test_an_upgrade_that_is_killed_goes_on(scratch: Path, new_database, is_postgres: bool) -> None:
    """In the middle of its migrations; the next start finishes it, and the copy of the state before
    all of it stays."""
    data = scratch / f"old-killed-{is_postgres}"
    url = new_database() if is_postgres else ""
    environment = {"DATABASE_URL": url} if url else {}
    if is_postgres:
        data.mkdir()
        old_database.make(data, **environment)
    else:
        old_database.restore(data)
    before = applied(data, url)
    process = begin(data, **environment)
    wait_until(
        lambda: process.poll() is not None or len(applied(data, url)) > len(before) + 1,
        120,
        "some migrations to be applied",
    )
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    first = backups(data)[0]
    assert process.returncode == -signal.SIGKILL
    assert applied(data, url) > before
    upgrade(data, **environment)
    assert first in backups(data)
    everything_is_there(data, url, **environment)


def test_trying_again_and_again_keeps_the_first_copy(scratch: Path) -> None:
    """An upgrade that cannot succeed, tried at each restart of a container, does not push the state
    before it out; it is said what broke, and where that state is."""
    data = scratch / "old-broken"
    old_database.restore(data)
    with contextlib.closing(sqlite3.connect(data / "db.sqlite3")) as database:
        # A table that a migration is about to make.
        database.execute("CREATE TABLE accounts_usageday (id integer)")
        database.commit()
    tries = (
        "from jenny.runtime.supervisor import CannotStart\n"
        "from jenny.runtime.upgrade import migrate_database\n"
        "for _ in range(8):\n"
        "    try:\n"
        "        migrate_database(lambda said: None)\n"
        "    except CannotStart as error:\n"
        "        print(error.message)\n"
    )
    said = manage(data, "shell", "-v", "0", "-c", tries).splitlines()
    assert len(said) == 8
    kept = backups(data)
    assert len(kept) == 6
    assert all("broke off" in line and str(kept[0]) in line for line in said)
    with contextlib.closing(sqlite3.connect(kept[0])) as copy:
        names = copy.execute("SELECT name FROM django_migrations WHERE app = 'chat'").fetchall()
    assert names == [("0001_initial",)]
    with contextlib.closing(sqlite3.connect(data / "db.sqlite3")) as database:
        database.execute("DROP TABLE accounts_usageday")
        database.commit()
    upgrade(data)
    everything_is_there(data)


def test_settings_of_a_newer_version_are_left_alone(scratch: Path) -> None:
    """A workspace that a newer Jenny wrote is not written by an older one; others are."""
    data = scratch / "old-newer"
    old_database.restore(data)
    path = data / "workspaces/ada/config.json"
    path.write_text('{"configVersion": 99}\n')
    upgrade(data)
    assert manage(data, "shell", "-v", "0", "-c", SETTINGS) == ""
    assert path.read_text() == '{"configVersion": 99}\n'
