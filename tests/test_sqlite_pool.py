"""SQLite's connections are used again by later requests and tasks; nothing passes between them."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from django.db import IntegrityError, OperationalError, connections

from jenny.runtime.sqlite.base import POOL, DatabaseWrapper

pytestmark = pytest.mark.django_db


@contextmanager
def transaction_of(one: DatabaseWrapper):
    """A transaction of that connection, begun as Django begins one."""
    one.ensure_connection()
    one._start_transaction_under_autocommit()
    yield
    one.connection.commit()


@pytest.fixture
def open_one(tmp_path):
    """Opens connections to one file with two tables."""
    made = []
    settings = {**connections["default"].settings_dict, "NAME": str(tmp_path / "db.sqlite3")}
    settings["OPTIONS"] = {"timeout": 5, "transaction_mode": "IMMEDIATE"}

    def one():
        made.append(DatabaseWrapper(settings, alias=f"pooled{len(made)}"))
        return made[-1]

    first = one()
    with first.cursor() as cursor:
        cursor.execute("CREATE TABLE chat (id INTEGER PRIMARY KEY)")
        cursor.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, chat INTEGER REFERENCES chat)")
    first.close()
    yield one
    for each in made:
        each.close()
    POOL.drain()


def test_a_connection_is_used_again(open_one):
    """Whoever comes later gets the same one; two at the same time get two."""
    first = open_one()
    first.ensure_connection()
    used = first.connection
    first.close()
    again, beside = open_one(), open_one()
    again.ensure_connection()
    beside.ensure_connection()
    assert again.connection is used
    assert beside.connection is not used


def test_what_was_not_committed_is_gone(open_one):
    """A request that breaks in the middle leaves nothing to the next, no lock either."""
    first = open_one()
    first.ensure_connection()
    first.connection.execute("BEGIN IMMEDIATE")
    first.connection.execute("INSERT INTO chat VALUES (1)")
    first.close()
    later, other = open_one(), open_one()
    with later.cursor() as cursor, other.cursor() as at_once:
        assert cursor.execute("SELECT count(*) FROM chat").fetchone() == (0,)
        at_once.execute("INSERT INTO chat VALUES (2)")
        assert cursor.execute("SELECT count(*) FROM chat").fetchone() == (1,)


def test_references_are_checked_for_everybody(open_one):
    """Also after a change of the tables, which switches the checks off, ended in the middle."""
    first = open_one()
    first.ensure_connection()
    first.connection.execute("PRAGMA foreign_keys = OFF")
    first.close()
    with open_one().cursor() as cursor, pytest.raises(IntegrityError):
        cursor.execute("INSERT INTO said (chat) VALUES (99)")


def test_a_file_put_in_place_of_another_is_read(open_one, tmp_path):
    """A database that was put back from a backup is what everybody sees, at once."""
    file = tmp_path / "db.sqlite3"
    copy = tmp_path / "copy.sqlite3"
    shutil.copy(file, copy)
    beside = sqlite3.connect(copy)
    beside.execute("INSERT INTO chat VALUES (7)")
    beside.commit()
    beside.close()
    first = open_one()
    first.ensure_connection()
    first.close()
    copy.replace(file)
    with open_one().cursor() as cursor:
        assert cursor.execute("SELECT id FROM chat").fetchone() == (7,)


_FORKS = """
import os, sqlite3, sys
from jenny.runtime.sqlite.base import POOL, _place_of
place = _place_of(sys.argv[1])
POOL.give(place, sqlite3.connect(sys.argv[1]))
child = os.fork()
if not child:
    os._exit(0 if POOL.take(place) is None and POOL.take(_place_of(sys.argv[1])) is None else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_takes_none_along(open_one, tmp_path):
    """A child process opens its own: a connection that two processes share breaks the file."""
    open_one()
    command = [sys.executable, "-c", _FORKS, str(tmp_path / "db.sqlite3")]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "0\n"


def test_who_waits_to_write_does_so_as_soon_as_others_let_it(open_one, tmp_path):
    """Many threads write at once: each gets its turn, and nothing is lost. One that holds the file
    for longer than the limit is told of, and what waited can be done again."""
    number, each = 12, 25

    def write() -> None:
        one = open_one()
        one.inc_thread_sharing()  # the fixture closes it once more
        for _ in range(each):
            with transaction_of(one):
                one.connection.execute("INSERT INTO chat DEFAULT VALUES")
        one.close()

    threads = [threading.Thread(target=write) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with open_one().cursor() as cursor:
        assert cursor.execute("SELECT count(*) FROM chat").fetchone() == (number * each,)
    holder = sqlite3.connect(tmp_path / "db.sqlite3")
    holder.execute("BEGIN IMMEDIATE")
    waiting = open_one()
    waiting.settings_dict["OPTIONS"]["timeout"] = 0.1
    with pytest.raises(OperationalError, match="locked"), transaction_of(waiting):
        pass
    holder.rollback()
    with transaction_of(waiting):
        waiting.connection.execute("INSERT INTO chat DEFAULT VALUES")
    assert waiting.connection.execute("PRAGMA busy_timeout").fetchone() == (100,)
    holder.close()
