"""The embedded server, as commands use it while Jenny does not run."""

import subprocess
import sys

import redis

from jenny.env import DataFolder
from jenny.runtime import valkey
from tests.support.stack import clean_environment, give_owner, manage
from tests.support.waiting import wait_until

# Holds a server until its standard input ends.
HOLD = """
import sys
from pathlib import Path
from jenny.runtime import valkey
from jenny.env import DataFolder
with valkey.for_command(DataFolder(Path(sys.argv[1]))):
    print("ready", flush=True)
    sys.stdin.read()
"""


def hold(data: DataFolder) -> subprocess.Popen[str]:
    """A process that needs a server, once it has one."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, data.root],
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_command_has_a_server_for_its_duration(short_path):
    """It is there while the command runs, gone afterwards, and what it held is kept."""
    data = DataFolder(short_path)
    with valkey.for_command(data):
        with redis.Redis(unix_socket_path=str(data.redis_socket)) as client:
            client.set("kept", "yes")
            assert client.config_get("port")["port"] == "0"
        assert data.redis_socket.stat().st_mode & 0o077 == 0
    assert not valkey.answers(data)
    with (
        valkey.for_command(data),
        redis.Redis(unix_socket_path=str(data.redis_socket)) as client,
    ):
        assert client.get("kept") == b"yes"


def test_commands_at_once_share_a_server_and_the_last_ends_it(short_path):
    """The first to end does not take the server from the others."""
    data = DataFolder(short_path)
    processes = [hold(data) for _ in range(3)]
    for process in processes[:-1]:
        process.communicate()
        assert valkey.answers(data)
    processes[-1].communicate()
    wait_until(lambda: not valkey.answers(data))


def test_a_server_that_a_killed_command_left_is_used_again(short_path):
    """After SIGKILL of a command the next one finds its server, and ends it."""
    data = DataFolder(short_path)
    process = hold(data)
    process.kill()
    process.communicate()
    assert valkey.answers(data)
    hold(data).communicate()
    wait_until(lambda: not valkey.answers(data))


def test_a_command_uses_the_server_of_a_running_instance(start_stack):
    """It neither starts one of its own nor ends the instance's."""
    stack = start_stack()
    before = stack.pids()["valkey"]
    with valkey.for_command(stack.data):
        assert valkey.answers(stack.data)
    assert stack.pids()["valkey"] == before
    assert valkey.answers(stack.data)


def test_say_works_without_the_app_and_complains_of_nothing(short_path):
    """One turn from the terminal, with no server running before or after, and quiet logs."""
    data = short_path / "data"
    give_owner(data)
    said = manage(data, "say", "hello", check=False)
    assert "WARNING" not in said
    assert "ERROR" not in said
    assert not valkey.answers(DataFolder(data))
