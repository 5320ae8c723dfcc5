"""Whole instances of Jenny, started as a user starts them, on free ports and own folders."""

import atexit
import contextlib
import fcntl
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import redis

from jenny.env import DataFolder
from tests.support.waiting import free_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
OWNER = "owner"
PARTS = ("valkey", "web", "chat", "memory", "maintenance", "beat")
PASSWORD = "correct horse battery staple"


def clean_environment(**changes: str) -> dict[str, str]:
    """This process's environment without what configures Jenny, with *changes*."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("JENNY_", "ANTHROPIC_", "DJANGO_", "PYTEST_"))
        and key not in {"DATABASE_URL", "REDIS_URL"}
    }
    return {**kept, "PYTHONWARNINGS": "default", **changes}


def manage(data: Path, *words: str, check: bool = True, said: str = "", **environment: str) -> str:
    """Run ``manage.py`` on *data* with *said* on standard input; what it printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        env=clean_environment(JENNY_DATA_DIR=str(data), **environment),
        cwd=ROOT,
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout if check else done.stdout + done.stderr


@dataclass
class Stack:
    """A running ``manage.py up``."""

    data: DataFolder
    port: int
    process: subprocess.Popen[bytes]
    environment: dict[str, str]
    output: Path
    errors: Path
    messages: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """The ready link that it printed."""
        return next((one["url"] for one in self.said() if "url" in one), "")

    def said(self) -> list[dict[str, str]]:
        """The sentences that it printed so far."""
        lines = self.output.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def logs(self) -> str:
        """What it logged so far."""
        return self.errors.read_text()

    def pids(self) -> dict[str, int]:
        """Process ids by part: the names of ``PARTS``."""
        found = {}
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    # Systems keep 15 characters of a process's name.
                    name = child.name().removeprefix("jenny-")
                    part = next((one for one in PARTS if name.startswith(one[:9])), "")
                    if part and child.status() != psutil.STATUS_ZOMBIE:
                        found[part] = child.pid
        return found

    def kill(self, part: str) -> int:
        """SIGKILL *part*; returns the process id that it had."""
        pid = wait_until(lambda: self.pids().get(part), what=f"{part} to run")
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_valkey(self, *, forgets: bool) -> int:
        """SIGKILL Valkey, before which it may forget all that it holds. Its files are not touched:
        its successor may have them open already."""
        if forgets:
            path = str(self.data.redis_socket)
            with contextlib.closing(redis.Redis(unix_socket_path=path)) as client:
                client.flushall()
        return self.kill("valkey")

    def manage(self, *words: str, check: bool = True, said: str = "", **environment: str) -> str:
        """Run a command on this instance's data, with *said* on its standard input."""
        settings = {**self.environment, **environment}
        settings.pop("JENNY_DATA_DIR", None)
        return manage(self.data.root, *words, check=check, said=said, **settings)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=90)


def collect_static() -> None:
    """Make ``build/static`` what it must be, once, whichever test process comes first."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    manifest = build / "static" / "staticfiles.json"
    with (build / "collect.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(path.stat().st_mtime for path in (ROOT / "static").rglob("*"))
        if manifest.exists() and manifest.stat().st_mtime > newest:
            return
        with tempfile.TemporaryDirectory() as data:
            manage(Path(data), "collectstatic", "--noinput", "--clear")


@functools.cache
def _owned_folder() -> Path:
    """A data folder after ``create_owner``, made once for all tests of this process."""
    folder = Path(tempfile.mkdtemp(prefix="j-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    manage(folder, "create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
    return folder


def give_owner(data: Path) -> None:
    """Make *data* what ``create_owner`` leaves; the key of the instance is made later."""
    kept = shutil.ignore_patterns("secret_key", "*.lock")
    shutil.copytree(_owned_folder(), data, ignore=kept, dirs_exist_ok=True)


def start(
    data: Path,
    *words: str,
    is_ready: Callable[[Stack], object] | None = None,
    has_owner: bool = False,
    **environment: str,
) -> Stack:
    """Start ``manage.py up`` on *data* and wait until it says that it is ready.

    *has_owner*: ``OWNER`` can log in with ``PASSWORD``. A database in a file is there before the
    start then, so that nothing has to be migrated.
    """
    collect_static()
    port = int(environment.pop("JENNY_PORT", "0")) or free_port()
    data.mkdir(parents=True, exist_ok=True)
    has_file = "DATABASE_URL" not in environment
    if has_owner and has_file:
        give_owner(data)
    mark = f"{os.getpid()}-{port}"
    output, errors = data / f"up-{mark}.out", data / f"up-{mark}.err"
    with output.open("wb") as out, errors.open("ab") as err:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", "--json", *words],
            env=clean_environment(
                JENNY_DATA_DIR=str(data),
                JENNY_PORT=str(port),
                **{"JENNY_WORKER_THREADS": "8", **environment},
            ),
            cwd=ROOT,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    stack = Stack(DataFolder(data), port, process, dict(environment), output, errors)

    def ready() -> object:
        if process.poll() is not None:
            message = f"up ended: {output.read_text()}{errors.read_text()[-4000:]}"
            raise AssertionError(message)
        return (
            is_ready(stack) if is_ready else any("ready" in one["message"] for one in stack.said())
        )

    try:
        wait_until(ready, 120, "the instance to be ready")
    except AssertionError:
        process.kill()
        process.wait()
        raise
    if has_owner and not has_file:
        stack.manage("create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
    return stack


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A temporary folder whose path leaves room for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="j-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start_stack(short_path: Path) -> Iterator[Callable[..., Stack]]:
    """Start instances; each call's keywords are environment variables. All end with the test."""
    stacks: list[Stack] = []

    def starter(
        *words: str, data: Path | None = None, has_owner: bool = False, **environment: str
    ) -> Stack:
        folder = data or short_path / f"data{len(stacks)}"
        stacks.append(start(folder, *words, has_owner=has_owner, **environment))
        return stacks[-1]

    yield starter
    for stack in stacks:
        with contextlib.suppress(subprocess.TimeoutExpired):
            stack.end()
        if stack.process.poll() is None:
            stack.process.kill()
            stack.process.wait()


@pytest.fixture(scope="session")
def live(scratch: Path) -> Iterator[Stack]:
    """One instance for all tests of this process that do not harm it, with an owner.

    Log in as ``OWNER`` with ``PASSWORD``; make accounts of your own with
    ``live.manage("create_account", …, said=PASSWORD)`` where tests could meet.
    """
    folder = scratch / "live"
    folder.mkdir()
    stack = start(folder, has_owner=True)
    try:
        yield stack
    finally:
        stack.end()


def environment_for(server_url: str, key: str = "sk-test-key-0123456789") -> Mapping[str, str]:
    """The variables that point an instance at a scripted model server."""
    return {
        "ANTHROPIC_BASE_URL": server_url,
        "ANTHROPIC_API_KEY": key,
        "JENNY_MODEL": "scripted-model",
    }
