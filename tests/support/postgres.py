"""A private PostgreSQL cluster, run as a user that is not root (it refuses root)."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.waiting import free_port, wait_until


def _program(name: str) -> str:
    """A program of the newest PostgreSQL here; distributions keep servers off the PATH."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    found = shutil.which(
        name, path=os.pathsep.join([*map(str, reversed(folders)), os.environ["PATH"]])
    )
    assert found, f"{name} is not installed; `make test` says how to get it"
    return found


def _unprivileged() -> dict[str, object]:
    """How to start a process as somebody who is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            person = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    pytest.fail("there is no unprivileged user to run PostgreSQL as")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A running server; yields its URL without a database's name."""
    who = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    if "user" in who:
        os.chown(folder, int(str(who["user"])), int(str(who["group"])))
    port = free_port()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": "/"}
    subprocess.run(
        [
            _program("initdb"),
            "-D",
            folder / "data",
            "-U",
            "jenny",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ],
        check=True,
        stderr=subprocess.PIPE,
        **quiet,
        **who,
    )
    server = subprocess.Popen(
        [
            _program("postgres"),
            "-D",
            folder / "data",
            "-p",
            str(port),
            "-k",
            folder,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "fsync=off",
            "-c",
            "full_page_writes=off",
            "-c",
            "shared_buffers=32MB",
            "-c",
            "max_connections=200",
        ],
        stderr=subprocess.DEVNULL,
        **quiet,
        **who,
    )
    url = f"postgres://jenny@127.0.0.1:{port}"

    def answers() -> bool:
        try:
            psycopg.connect(f"{url}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_until(answers, 90, "PostgreSQL to answer")
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_database(postgres: str) -> Iterator[Callable[[], str]]:
    """Make an empty database and return its URL; all go with the test."""
    names: list[str] = []

    def make() -> str:
        name = f"t{uuid.uuid4().hex[:12]}"
        with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        names.append(name)
        return f"{postgres}/{name}"

    yield make
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as connection:
        for name in names:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
