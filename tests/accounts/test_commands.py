"""Accounts by command, each run as a process of its own."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.stack import PASSWORD, ROOT, clean_environment

OTHER = "another good password"


class Instance:
    """A data folder with a database, and its commands."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def run(self, *words: str, said: str = "", **environment: str) -> tuple[int, str]:
        """Run a command with *said* on standard input: its exit code, and all it printed."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *words],
            env=clean_environment(JENNY_DATA_DIR=str(self.data), **environment),
            input=said,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def json(self, *words: str, said: str = "", **environment: str) -> tuple[int, dict[str, Any]]:
        """Run a command with ``--json``."""
        code, printed = self.run(*words, "--json", said=said, **environment)
        (answer,) = (line for line in printed.splitlines() if line.startswith("{"))
        return code, json.loads(answer)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose database is set up, without an account."""
    data = tmp_path_factory.mktemp("data")
    assert Instance(data).run("migrate", "-v0")[0] == 0
    return data


@pytest.fixture
def instance(empty: Path, tmp_path: Path) -> Instance:
    """An instance without an account, to be changed."""
    (tmp_path / "db.sqlite3").write_bytes((empty / "db.sqlite3").read_bytes())
    return Instance(tmp_path)


def owner(instance: Instance) -> tuple[int, dict[str, Any]]:
    """Make the owner."""
    return instance.json("create_owner", "--username", "ana", JENNY_OWNER_PASSWORD=PASSWORD)


def test_the_owner_is_made_once_with_a_workspace(instance: Instance) -> None:
    """The account can be used, its workspace has its files, and there is no second owner."""
    code, told = owner(instance)
    assert (code, told["ok"], told["username"], told["workspace"]) == (0, True, "ana", "ana")
    assert (instance.data / "workspaces" / "ana" / "SOUL.md").exists()
    code, told = instance.json("create_owner", "--username", "b", JENNY_OWNER_PASSWORD=PASSWORD)
    assert (code, told["ok"]) == (1, False)
    assert "has an owner already" in told["error"]
    assert not (instance.data / "workspaces" / "b").exists()


def test_further_accounts_and_their_passwords(instance: Instance) -> None:
    """An account after the owner, with a password from standard input; then a new password."""
    owner(instance)
    code, told = instance.json("create_account", "--username", "bo", said=f"{PASSWORD}\n")
    assert (code, told["workspace"]) == (0, "bo")
    code, told = instance.json("create_account", "--username", "BO", said=f"{PASSWORD}\n")
    assert code == 1
    assert "already" in told["error"]
    code, printed = instance.run("reset_password", "--username", "Bo", said=f"{OTHER}\n")
    assert (code, printed.strip()) == (0, "bo has a new password. Sessions ended: 0.")


@pytest.mark.parametrize(
    ("words", "said", "complaint"),
    [
        (("create_owner", "--username", "ana"), "short", "10 characters"),
        (("create_owner", "--username", "ana"), "", "No password"),
        (("create_owner", "--username", "a b"), PASSWORD, "cannot be a user name"),
        (("create_owner", "--username", ""), PASSWORD, "cannot be a user name"),
        (("create_owner", "--username", "x" * 151), PASSWORD, "cannot be a user name"),
        (("create_owner", "--username", "ana", "--zone", "Mars/X"), PASSWORD, "no time zone"),
        (("create_owner",), PASSWORD, "--username"),
        (("create_account", "--username", "bo"), PASSWORD, "no owner yet"),
        (("reset_password", "--username", "bo"), PASSWORD, "no account called bo"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(
    instance: Instance, words: tuple[str, ...], said: str, complaint: str
) -> None:
    """The exit code is not 0, nothing is made, and nobody has to read a traceback."""
    code, printed = instance.run(*words, said=said)
    assert code != 0
    assert complaint in printed
    assert "Traceback" not in printed
    assert not (instance.data / "workspaces").exists()


def test_the_first_command_prepares_the_database(tmp_path: Path) -> None:
    """On a fresh data folder any command works or says what is to be done; none asks for another
    command that makes tables."""
    instance = Instance(tmp_path)
    code, told = instance.json("say", "hello")
    assert code == 1
    assert "create_owner" in told["error"]
    assert owner(instance)[0] == 0
    code, told = instance.json("say", "hello")
    assert (code, told["ok"]) == (0, True)


def test_commands_at_once_prepare_a_database_once(tmp_path: Path) -> None:
    """Each waits for the one that makes the tables."""
    words = [sys.executable, str(ROOT / "manage.py"), "check_workspace", "--json"]
    environment = clean_environment(JENNY_DATA_DIR=str(tmp_path))
    running = [
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in running:
        assert "no workspace yet" in process.communicate()[0]


def test_a_command_migrates_after_a_backup(tmp_path: Path) -> None:
    """An older database is copied first, as a start of Jenny does."""
    instance = Instance(tmp_path)
    assert instance.run("migrate", "-v0", "memory", "0001")[0] == 0
    code, printed = instance.run("create_owner", "--username", "ana", JENNY_OWNER_PASSWORD=PASSWORD)
    assert code == 0, printed
    assert "Backed up the database" in printed
    assert len(list((tmp_path / "backups").glob("database-*"))) == 1


def test_a_command_migrates_nothing_below_a_running_instance(tmp_path: Path) -> None:
    """Its tables stay; the sentence says how they are brought up to date."""
    with (tmp_path / "running.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        code, told = owner(Instance(tmp_path))
    assert code == 1
    assert "make run" in told["error"]


@pytest.mark.parametrize("command", ["create_owner", "create_account", "reset_password"])
def test_help_says_where_the_password_comes_from(instance: Instance, command: str) -> None:
    """Every command explains itself."""
    code, printed = instance.run(command, "--help")
    assert code == 0
    assert "password" in printed
    assert "--json" in printed


def test_a_password_is_asked_twice_and_not_shown(instance: Instance) -> None:
    """At a terminal: typed blind, twice, and two that differ change nothing."""
    for second, expected in (("mistyped password", 1), (PASSWORD, 0)):
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "create_owner", "--username", "ana"],
            env=clean_environment(JENNY_DATA_DIR=str(instance.data)),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        printed = b""
        for prompt, typed in ((b"Password: ", PASSWORD), (b"Password again: ", second)):
            printed = _until(controller, prompt, printed)
            os.write(controller, typed.encode() + b"\n")
        printed = _until(controller, None, printed)
        os.close(controller)
        assert process.wait(timeout=60) == expected, printed
        assert PASSWORD.encode() not in printed


def _until(controller: int, mark: bytes | None, printed: bytes) -> bytes:
    """Read until *mark* was printed, or the other side closed."""
    deadline = time.monotonic() + 60
    while mark is None or mark not in printed:
        assert time.monotonic() < deadline, printed
        try:
            chunk = os.read(controller, 1024)
        except OSError:
            break
        if not chunk:
            break
        printed += chunk
    return printed


def left_behind(instance: Instance, slug: str = "ana") -> Path:
    """A workspace's folder of which the database knows nothing."""
    folder = instance.data / "workspaces" / slug
    folder.mkdir(parents=True)
    (folder / "SOUL.md").write_text("mine")
    (folder / "notes.md").write_text("of years")
    return folder


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("create_owner", "--username", "Ana"), ()),
        (("create_account", "--username", "ana"), ("create_owner", "--username", "first")),
        (("create_workspace", "Ana"), ("create_owner", "--username", "first")),
    ],
)
def test_files_of_a_lost_database_are_offered(
    instance: Instance, words: tuple[str, ...], before: tuple[str, ...]
) -> None:
    """Nothing is made beside them unasked; they become the workspace as they are, or stay."""
    if before:
        assert instance.run(*before, said=PASSWORD)[0] == 0
    folder = left_behind(instance)
    code, told = instance.json(*words, said=PASSWORD)
    assert code == 1
    assert str(folder) in told["error"]
    assert "--attach" in told["error"]
    assert not folder.with_name("ana-2").exists()
    code, told = instance.json(*words, "--attach", said=PASSWORD)
    assert (code, told["workspace"]) == (0, "ana")
    assert (folder / "SOUL.md").read_text() == "mine"
    assert (folder / "notes.md").read_text() == "of years"
    assert (folder / "AGENTS.md").exists()
    assert not folder.with_name("ana-2").exists()


def test_a_folder_that_was_found_can_be_left(instance: Instance) -> None:
    """The new one lies beside it, and the answer names what was left."""
    folder = left_behind(instance)
    words = ("create_owner", "--username", "ana", "--new-folder")
    code, told = instance.json(*words, JENNY_OWNER_PASSWORD=PASSWORD)
    assert (code, told["workspace"]) == (0, "ana-2")
    assert "“ana” begins in the new folder" in told["message"]
    assert "make a workspace called “ana”" in told["message"]
    assert sorted(path.name for path in folder.iterdir()) == ["SOUL.md", "notes.md"]


def test_there_may_be_nothing_to_attach(instance: Instance) -> None:
    """Then it is said what there is, and no account is made."""
    left_behind(instance, "work")
    words = ("create_owner", "--username", "ana", "--attach")
    code, told = instance.json(*words, JENNY_OWNER_PASSWORD=PASSWORD)
    assert code == 1
    assert "Folders of no workspace: work" in told["error"]
    assert owner(instance)[0] == 0
