"""The supervisor keeps its word: parts come back, die with it, and end together."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.client import Client
from tests.support.stack import (
    OWNER,
    PARTS,
    PASSWORD,
    ROOT,
    Stack,
    clean_environment,
    manage,
    start,
)
from tests.support.waiting import free_port, wait_until


def health(url: str) -> int:
    """The status of the readiness page; 0 when nothing answers."""
    try:
        with urllib.request.urlopen(f"{url}/health/ready", timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def is_gone(pid: int) -> bool:
    """Whether no process runs under *pid* (one not yet collected by its parent does not run)."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(scope="module")
def stack(scratch: Path) -> Iterator[Stack]:
    """An instance for tests after which it runs as before."""
    stack = start(scratch / "supervised")
    yield stack
    stack.end()


def refused(data: Path, *words: str, **environment: str) -> str:
    """Start an instance that must refuse to start; returns what it said."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "up", *words],
        env=clean_environment(JENNY_DATA_DIR=str(data), **environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_all_parts_run_and_end_together(start_stack):
    """Ctrl-C ends everything: no process of it is left, and it says so with code 0."""
    stack = start_stack()
    pids = stack.pids()
    assert set(pids) == set(PARTS)
    assert health(stack.url) == 200
    assert stack.end(signal.SIGINT) == 0
    assert stack.said()[-1]["message"] == "Stopped."
    assert all(is_gone(pid) for pid in pids.values())


def test_open_pages_do_not_hold_it_up(start_stack):
    """With pages open it ends as quickly and as cleanly: their streams end, no fault is logged."""
    stack = start_stack(has_owner=True)
    person = Client(stack.url).login(OWNER, PASSWORD)
    chat = person.begin("hello")
    person.answer(chat)
    with person.events(chat, person.position(chat)) as stream:
        person.send(chat, "hello again")
        stream.wait_for(lambda event: event["kind"] == "item", "the stream to be open")
        assert stack.end() == 0
        assert stream.ended.wait(60)
    assert "ERROR" not in stack.logs()
    assert "CRITICAL" not in stack.logs()


def test_each_part_that_is_killed_comes_back(stack):
    """A part killed with SIGKILL runs again, the others are left alone, the product works."""
    before = stack.pids()
    for part in PARTS:
        old = stack.kill(part)
        wait_until(lambda part=part, old=old: stack.pids().get(part) not in {None, old})
        assert any(part in one["message"] for one in stack.said())
    after = wait_until(lambda: len(stack.pids()) == len(PARTS) and stack.pids())
    assert not set(before.values()) & set(after.values())
    wait_until(lambda: health(stack.url) == 200)


def test_a_visitor_waits_while_the_web_server_comes_back(stack):
    """A request made just after the web server died is answered, not refused."""
    old = stack.kill("web")
    # Until it is dead it may take the connection along.
    wait_until(lambda: is_gone(old), what="the web server to be dead")
    assert health(stack.url) == 200


def test_parts_die_with_a_killed_supervisor(start_stack):
    """After SIGKILL of the supervisor nothing is left, and the next start works at once."""
    stack = start_stack()
    pids = stack.pids()
    stack.process.kill()
    stack.process.wait()
    again = start_stack(data=stack.data.root)
    wait_until(lambda: all(is_gone(pid) for pid in pids.values()), what="all parts to be gone")
    assert health(again.url) == 200


def test_a_second_start_on_one_data_folder_is_refused(stack):
    """The sentence names the process that has the folder; the first instance is not disturbed."""
    said = refused(stack.data.root, JENNY_PORT=str(free_port()))
    assert f"in use by process {stack.process.pid}" in said
    assert health(stack.url) == 200


def test_a_port_in_use_is_told_before_anything_starts(short_path):
    """Nothing is started or left behind when the port is taken, and the port is named."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(short_path / "data", JENNY_PORT=str(port))
    assert str(port) in said
    assert not (short_path / "data" / "redis").exists()
    assert not (short_path / "data" / "db.sqlite3").exists()


def test_an_address_that_is_not_ours_is_told(short_path):
    """A host that this machine does not have is refused with its name, not with a traceback."""
    said = refused(short_path / "data", JENNY_HOST="no.such.host.invalid")
    assert "no.such.host.invalid" in said


def test_a_wrong_variable_is_named(short_path):
    """A variable that cannot be used is told by name and value."""
    said = refused(short_path / "data", JENNY_PORT="eighty")
    assert "JENNY_PORT is 'eighty'" in said


def test_a_broken_append_only_file_is_set_aside(start_stack):
    """Valkey's file torn in its middle stops nothing: it is kept aside, and Jenny starts."""
    stack = start_stack()
    stack.end()
    files = list((stack.data.redis / "appendonlydir").glob("*.incr.aof"))
    assert files
    files[0].write_bytes(b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nrubbish" * 50)
    again = start_stack(data=stack.data.root)
    assert health(again.url) == 200
    assert list(stack.data.redis.glob("appendonlydir.broken-*"))
    assert any("set aside" in one["message"] for one in again.said())


def test_readiness_names_what_does_not_answer(stack):
    """While Valkey hangs, readiness is 503 and names it; liveness stays; both recover."""
    pid = stack.pids()["valkey"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert health(stack.url) == 503
        with urllib.request.urlopen(f"{stack.url}/health/live", timeout=60) as answer:
            assert answer.status == 200
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: health(stack.url) == 200)


def test_a_deep_data_folder_works(start_stack, short_path):
    """A data folder whose path is too long for a socket's name starts all the same."""
    stack = start_stack(data=short_path / ("deep" * 20) / ("deeper" * 10))
    assert health(stack.url) == 200


def test_a_database_newer_than_the_code_is_refused(start_stack):
    """An old version does not write into tables of a newer one: it says so and changes nothing."""
    stack = start_stack()
    stack.end()
    with sqlite3.connect(stack.data.database) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('chat', '9999_later', '2030-01-01')"
        )
    said = refused(stack.data.root, JENNY_PORT=str(free_port()))
    assert "newer version" in said
    assert "chat.9999_later" in said


def test_the_database_is_backed_up_before_it_is_migrated(start_stack):
    """An upgrade leaves a copy of the database as it was, readable by its owner only."""
    stack = start_stack()
    stack.end()
    manage(stack.data.root, "migrate", "django_celery_beat", "0018")
    again = start_stack(data=stack.data.root)
    backup = next((stack.data.root / "backups").iterdir())
    assert backup.stat().st_mode & 0o077 == 0
    with sqlite3.connect(backup) as copy:
        names = {name for (name,) in copy.execute("SELECT name FROM django_migrations")}
    assert "0001_initial" in names
    assert not any(name.startswith("0019") for name in names)
    assert any(str(backup) in one["message"] for one in again.said())


def test_the_ready_link_lets_the_first_visitor_in(start_stack):
    """Before an owner exists the link carries the setup token that the data folder keeps."""
    stack = start_stack()
    token = stack.data.setup_token.read_text().strip()
    assert stack.link == f"{stack.url}/setup/?token={token}"
    named = start_stack(JENNY_SETUP_TOKEN="open sesame & more")
    assert named.link == f"{named.url}/setup/?token=open+sesame+%26+more"


def test_a_bind_beyond_loopback_is_warned_of(stack, start_stack):
    """Whoever opens the port to the network is told so; loopback is the quiet default."""
    open_to_all = start_stack(JENNY_HOST="0.0.0.0")
    assert any(one["message"].startswith("Warning: JENNY_HOST") for one in open_to_all.said())
    assert not any("Warning" in one["message"] for one in stack.said())


def test_one_service_alone_needs_a_redis(short_path):
    """``--only`` is for containers: without a Redis to share it refuses and says which variable."""
    assert "REDIS_URL" in refused(short_path / "data", "--only", "worker")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_start_can_be_ended_before_it_is_ready(short_path, number):
    """Ending it in the middle of its start leaves no process and no lock behind."""
    data = short_path / "data"
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "up"],
        env=clean_environment(JENNY_DATA_DIR=str(data), JENNY_PORT=str(free_port())),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # What the tests run under may ignore it (nohup, a job behind a shell's back), and their
        # children would inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 -- one system call
    )
    wait_until((data / "redis").exists)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.wait(timeout=60)
    wait_until(lambda: all(is_gone(child.pid) for child in children))
