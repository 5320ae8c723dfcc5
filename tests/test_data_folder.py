"""The data folder: where it may lie, who may read it, and the key in it."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jenny import env
from jenny.accounts.services import first_run
from jenny.env import DataFolder, EnvironmentProblem
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, ROOT, clean_environment, manage
from tests.support.waiting import free_port

UNFIT_KEYS = [
    b"",
    b"\n",
    b"\0" * 64,
    b"\0\0",
    b"short\n",
    b"\xff\xfe" * 40,
    b"a" * 40 + b"\n\n" + b"b" * 40,
]


@pytest.mark.parametrize("content", UNFIT_KEYS)
def test_a_file_without_a_key_is_refused_at_start(tmp_path: Path, content: bytes) -> None:
    """A sentence names the file and what is lost without it; the file stays as it is."""
    path = tmp_path / "secret_key"
    path.write_bytes(content)
    said = manage(tmp_path, "up", check=False)
    assert str(path) in said
    assert ("is empty, or holds NUL bytes only" in said) == (not content.strip(b"\0\n"))
    assert "API keys" in said
    assert "Traceback" not in said
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", ["", "one\ntwo"])
def test_a_named_file_without_a_key_is_refused(tmp_path: Path, content: str) -> None:
    """The key of the data folder is not taken in its place unasked."""
    path = tmp_path / "key"
    path.write_text(content)
    with pytest.raises(EnvironmentProblem, match="JENNY_SECRET_KEY_FILE names"):
        env.secret_key(DataFolder(tmp_path), {"JENNY_SECRET_KEY_FILE": str(path)})


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"\xff\xfe", b"a\nb"])
def test_a_file_without_a_setup_token_is_made_anew(tmp_path: Path, content: bytes) -> None:
    """The token is used once, so that a new one is as good; an empty one would let anybody in."""
    (tmp_path / "setup_token").write_bytes(content)
    token = first_run.current_token(DataFolder(tmp_path), {})
    assert len(token) > env.SHORTEST_KEY
    assert first_run.current_token(DataFolder(tmp_path), {}) == token


@pytest.mark.parametrize("name", ["a#b?c=d&e", '100%25 50% it\'s "añ界"\\${HOME};@h:1'])
def test_any_name_of_a_data_folder_works(start_stack, short_path: Path, name: str) -> None:
    """Signs that mean something in addresses are signs of a name here: a message is answered."""
    stack = start_stack(data=short_path / name, has_owner=True)
    person = Client(stack.url).login(OWNER, PASSWORD)
    assert "hello" in person.answer(person.begin("hello"))
    assert sorted(path.name for path in short_path.iterdir()) == [name]


@pytest.mark.parametrize("name", ["a\nb", "a\tb", os.fsdecode(b"a\xffb")])
def test_a_data_folder_with_control_characters_is_refused(tmp_path: Path, name: str) -> None:
    """A log line and a server's settings could not name it."""
    with pytest.raises(EnvironmentProblem, match="JENNY_DATA_DIR names"):
        env.data_folder({"JENNY_DATA_DIR": str(tmp_path / name)})
    assert not list(tmp_path.iterdir())


def test_an_older_data_folder_is_closed_to_others(start_stack, short_path: Path) -> None:
    """Database, key, queue and backups are their owner's, also where they were open before."""
    data = short_path / "data"
    manage(data, "migrate", "-v0")
    (data / "redis").mkdir()
    (data / "backups").mkdir()
    (data / "redis" / "server.log").touch()
    (data / "backups" / "database-old.sqlite3").touch()
    for path in [data, *data.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (data / "workspaces").mkdir()
    (data / "workspaces" / "mine").touch(0o644)
    start_stack(data=data)
    private = [data, *data.glob("db.sqlite3*"), data / "secret_key", data / "setup_token"]
    for folder in (data / "redis", data / "backups"):
        private += [folder, *folder.rglob("*")]
    assert {data / "db.sqlite3-wal", data / "redis" / "appendonlydir"} <= set(private)
    modes = {path: path.stat().st_mode & 0o077 for path in private if path.name != "redis.sock"}
    assert set(modes.values()) == {0}, modes
    assert stat.S_IMODE((data / "workspaces" / "mine").stat().st_mode) == 0o644


def test_a_new_database_is_never_open_to_others(tmp_path: Path) -> None:
    """It is made with these rights, whatever the process gives to other files."""
    tmp_path.chmod(0o755)
    script = (
        "import os, sys; os.umask(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "manage.py"), "migrate", "-v0"],
        env=clean_environment(JENNY_DATA_DIR=str(tmp_path)),
        check=True,
    )
    assert stat.S_IMODE((tmp_path / "db.sqlite3").stat().st_mode) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_what_stays_open_to_others_is_named(tmp_path: Path, monkeypatch) -> None:
    """Where the rights cannot be taken away, the path is named with what to do."""

    def refuse(_path: Path, _mode: int) -> None:
        raise PermissionError

    (tmp_path / "db.sqlite3").touch(0o644)
    tmp_path.chmod(0o700)
    # Only another user's folder refuses, and tests may run as root.
    monkeypatch.setattr(Path, "chmod", refuse)
    assert env.protect(DataFolder(tmp_path)) == [tmp_path / "db.sqlite3"]
    assert env.open_paths(DataFolder(tmp_path)) == [tmp_path / "db.sqlite3"]
    assert f"can read {tmp_path / 'db.sqlite3'}" in env.warning(tmp_path / "db.sqlite3")


HOLD = """
import sys
from pathlib import Path
from jenny.runtime import valkey
from jenny.env import DataFolder
with valkey.for_command(DataFolder(Path(sys.argv[1]))):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_start_beside_a_command_after_a_kill_works(start_stack) -> None:
    """A command that runs on after the supervisor was killed keeps no start waiting, and its end
    takes no server away."""
    stack = start_stack()
    stack.process.send_signal(signal.SIGKILL)
    stack.process.wait()
    command = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(stack.data.root)],
        env=clean_environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout
    assert command.stdout.readline() == "ready\n"
    again = start_stack(data=stack.data.root)
    command.communicate()
    again.manage("create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
    person = Client(again.url).login(OWNER, PASSWORD)
    assert "hello" in person.answer(person.begin("hello"))
    assert not any("again" in one["message"] for one in again.said())


HOLD_LOCK = """
import fcntl, sys
with open(sys.argv[1], "a") as file:
    fcntl.flock(file, fcntl.LOCK_SH)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_refused_start_names_the_process_that_lives(short_path: Path) -> None:
    """The number of a dead process in the lock file, or one that another process has got since, is
    not blamed."""
    lock = short_path / "running.lock"
    lock.write_text(f"{os.getppid()}\n")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLD_LOCK,
            str(lock),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout
        holder.stdout.readline()
        said = manage(short_path, "up", check=False, JENNY_PORT=str(free_port()))
        assert f"in use by process {holder.pid}" in said
        assert str(os.getppid()) not in said
    finally:
        holder.communicate()
