"""Forks the parts of Jenny in one terminal, keeps them running, and ends them together.

A part dies with its supervisor, also after SIGKILL: on Linux by the kernel; elsewhere a thread of
the part polls its parent.

The supervisor is single-threaded and has no database connection, so that it can fork its parts
after the imports: a start imports once, and the parts share memory. A part that dies is forked
again, after a longer wait each time it dies at once.
"""

import contextlib
import ctypes
import fcntl
import logging
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

log = logging.getLogger("jenny.part")

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PARENT_CHECK_SECONDS = 1.0
# Enough for every page of many people: each open event stream takes two files.
OPEN_FILES = 65_536

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Part:
    """A process that the supervisor keeps running.

    ``run`` is called in the forked process with a function to call once it is ready for work; the
    process ends when it returns. Parts with the same ``layer`` stop together; higher layers stop
    first, since they use the lower ones.
    """

    name: str
    run: Callable[[Callable[[], None]], None]
    layer: int = 1
    grace_seconds: float = 10.0
    dies_by: signal.Signals = signal.SIGKILL
    # For a part that is another program and cannot report: called in the supervisor.
    probe: Callable[[], bool] | None = None
    # Called in the supervisor when the part ended before it was ready; returns a sentence or
    # nothing.
    repair: Callable[[], str] | None = None


def allow_open_files() -> None:
    """Raise the limit of open files to the system's maximum.

    A shell's default (1,024, on macOS 256) is too small for many open pages.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems allow less than they report.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def fork(part: Part, is_ready: Callable[[], None], forget: Callable[[], None]) -> int:
    """Fork *part* and return its process id.

    *forget* runs first in the child and must close what belongs to the supervisor alone.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        _tie_to(parent, part)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        forget()
        # Its own group: Ctrl-C in the terminal reaches the supervisor alone, which ends the parts
        # in order; and children of the part can be ended with it.
        os.setpgid(0, 0)
        part.run(is_ready)
        _leave(0)
    except SystemExit as end:
        _leave(end.code if isinstance(end.code, int) else int(end.code is not None))
    except BaseException:
        log.exception("the part failed", extra={"part": part.name})
        _leave(1)


def _tie_to(parent: int, part: Part) -> None:
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, int(part.dies_by), 0, 0, 0)
        _libc.prctl(
            PR_SET_NAME, f"jenny-{part.name.removeprefix('worker-')}"[:15].encode(), 0, 0, 0
        )
        if os.getppid() != parent:
            os._exit(1)
        return
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _leave(code: int) -> NoReturn:
    """Exit without running the supervisor's exit handlers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


# A part that lived this long did not die at once.
SETTLED_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15.0
TICK_SECONDS = 0.05
IDLE_SECONDS = 1.0
LOCK_SECONDS = 3.0


class CannotStart(Exception):
    """Jenny cannot start; the sentence says why and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@contextlib.contextmanager
def only_one(path: Path, *, shared: bool = False) -> Iterator[IO[str]]:
    """Hold the lock file *path* with our process id in it; refuse when another process holds it.

    The parts inherit the lock: the data folder is free once all of them have ended. After a killed
    supervisor this takes a moment, which is waited for.
    """
    with path.open("a+") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            try:
                fcntl.flock(file, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip()
                if _is_alive(holder) and _has_open(holder, path):
                    raise CannotStart(_taken(path, f"by process {holder}")) from None
                if time.monotonic() > deadline:
                    raise CannotStart(_taken(path, _users_of(path))) from None
                time.sleep(TICK_SECONDS)
        if not shared:
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        try:
            yield file
        finally:
            if not shared:
                file.truncate(0)


def _is_alive(holder: str) -> bool:
    try:
        os.kill(int(holder), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _has_open(holder: str, path: Path) -> bool:
    """True when the process has the file open, or the system does not tell.

    The number of a dead process may be another process's now.
    """
    try:
        return any(link.exists() and link.samefile(path) for link in _open_files(holder))
    except OSError:
        return True


def _open_files(process: str) -> list[Path]:
    return list(Path("/proc", process, "fd").iterdir())


def _users_of(path: Path) -> str:
    """Return the live processes that have the lock file open, as far as the system tells."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            links = _open_files(folder.name)
            if folder.name != str(os.getpid()) and any(
                link.exists() and link.samefile(path) for link in links
            ):
                words = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                found.append(f"{folder.name} ({words.strip()[:100]})")
    if not found:
        return "by a process that is not known"
    return f"by process {', '.join(sorted(found))}"


def _taken(path: Path, who: str) -> str:
    return (
        f"The data folder {path.parent} is in use {who}. Stop that one first, or choose "
        "another folder with JENNY_DATA_DIR."
    )


def listen(host: str, port: int) -> socket.socket:
    """Return the web server's socket, bound before anything starts.

    The supervisor keeps it open, so that browsers wait instead of failing while the web server
    restarts.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family)
    except OSError as error:
        message = f"JENNY_HOST is {host!r}, which is no address of this machine ({error})."
        raise CannotStart(message) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        message = (
            f"Port {port} on {host} cannot be used ({error.strerror}). Stop what uses it, or "
            "choose another with JENNY_PORT."
        )
        raise CannotStart(message) from error
    return listener


@dataclass
class _Running:
    part: Part
    pid: int = 0
    started: float = 0.0
    is_ready: bool = False
    quick_deaths: int = 0
    start_again_at: float = 0.0


@dataclass
class Supervisor:
    """Runs *parts* until it is told to end; ``say`` gets its sentences.

    ``check`` tells whether everything answers; ``when_ready`` is called once, when it does and
    every part has reported that it is ready.
    """

    parts: Sequence[Part]
    say: Callable[[str], None]
    check: Callable[[], bool]
    when_ready: Callable[[], None]
    # Closed in each part: (file, names of the parts that keep it).
    owned: Sequence[tuple[socket.socket, frozenset[str]]] = ()
    # Exists while every part is ready; a container's health check reads it.
    ready_file: Path | None = None
    _running: list[_Running] = field(default_factory=list)
    _ending: bool = False
    _signals: int = 0

    def __post_init__(self) -> None:
        """Create the pipes by which signals and parts wake the loop."""
        self._wake_reader, self._wake_writer = os.pipe()
        self._ready_reader, self._ready_writer = os.pipe()

    def run(self) -> int:
        """Run until SIGINT, SIGTERM or SIGHUP; return the exit code."""
        for end in (self._wake_reader, self._wake_writer, self._ready_reader):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # ``nohup`` ignores SIGHUP on purpose.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._told_to_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._running = [_Running(part) for part in sorted(self.parts, key=lambda p: p.layer)]
        try:
            return self._loop()
        finally:
            self._note_readiness(is_ready=False)
            self._end_all()

    def pids(self) -> dict[str, int]:
        return {one.part.name: one.pid for one in self._running if one.pid}

    # --- The loop ----------------------------------------------------------------------------

    def _loop(self) -> int:
        is_announced = False
        while not self._ending:
            self._start_what_is_due()
            self._probe()
            are_ready = all(one.is_ready for one in self._running)
            if are_ready and not is_announced and self.check():
                is_announced = True
                self.when_ready()
            self._note_readiness(is_ready=are_ready and is_announced)
            self._sleep(IDLE_SECONDS if are_ready and is_announced else TICK_SECONDS)
            self._reap()
        return 0

    def _probe(self) -> None:
        for one in self._running:
            if one.pid and not one.is_ready and one.part.probe:
                one.is_ready = one.part.probe()

    def _note_readiness(self, *, is_ready: bool) -> None:
        if self.ready_file is None or is_ready == self.ready_file.exists():
            return
        if is_ready:
            self.ready_file.touch()
        else:
            self.ready_file.unlink(missing_ok=True)

    def _sleep(self, seconds: float) -> None:
        """Wait for a signal, a part that became ready, or *seconds*."""
        ready, _, _ = select.select([self._wake_reader, self._ready_reader], [], [], seconds)
        if self._wake_reader in ready:
            os.read(self._wake_reader, 512)
        if self._ready_reader in ready:
            for index in os.read(self._ready_reader, 512):
                self._running[index].is_ready = True

    def _start_what_is_due(self) -> None:
        for index, one in enumerate(self._running):
            below = [other for other in self._running if other.part.layer < one.part.layer]
            if one.pid or time.monotonic() < one.start_again_at:
                continue
            # At the start a part waits for those it uses; later they reconnect by themselves.
            if not one.started and not all(other.is_ready for other in below):
                continue
            one.started = time.monotonic()
            one.is_ready = False
            one.pid = fork(
                one.part,
                lambda index=index: self._say_ready(index),  # type: ignore[misc]  # a lambda's default has no type
                lambda name=one.part.name: self._forget(name),  # type: ignore[misc]  # a lambda's default has no type
            )

    def _say_ready(self, index: int) -> None:
        """Tell the supervisor, from the part's process."""
        os.write(self._ready_writer, bytes([index]))

    def _forget(self, name: str) -> None:
        """Close in the part's process what is not its own."""
        signal.set_wakeup_fd(-1)
        for end in (self._wake_reader, self._wake_writer, self._ready_reader):
            os.close(end)
        for listener, owners in self.owned:
            if name not in owners:
                listener.close()

    def _reap(self) -> None:
        while any(one.pid for one in self._running):
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            # As the first process of a container it also inherits orphans, which are not its parts.
            one = next((each for each in self._running if each.pid == pid), None)
            if one is None:
                continue
            # Its children must not outlive it and work at the same time as its successor.
            end_group(pid)
            one.pid = 0
            if not self._ending:
                self._plan_return(one, os.waitstatus_to_exitcode(status))

    def _plan_return(self, one: _Running, code: int) -> None:
        lived = time.monotonic() - one.started
        one.quick_deaths = one.quick_deaths + 1 if lived < SETTLED_SECONDS else 0
        repaired = one.part.repair() if one.part.repair and not one.is_ready else ""
        one.is_ready = False
        pause = 0.0
        if one.quick_deaths > 1 and not repaired:
            pause = min(0.25 * 2**one.quick_deaths, LONGEST_PAUSE_SECONDS)
        one.start_again_at = time.monotonic() + pause
        how = (
            f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        )
        when = f"in {pause:g} s" if pause else "now"
        self.say(repaired or f"{one.part.name} {how}; it is started again {when}.")

    # --- The end -----------------------------------------------------------------------------

    def _told_to_end(self, _number: int, _frame: FrameType | None) -> None:
        self._ending = True
        self._signals += 1

    def _end_all(self) -> None:
        """End the parts, upper layers first; kill those that exceed their grace time."""
        for layer in sorted({part.layer for part in self.parts}, reverse=True):
            group = [one for one in self._running if one.part.layer == layer and one.pid]
            for one in group:
                # Only the part itself: it can best end its children.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGTERM)
            deadline = time.monotonic() + max([one.part.grace_seconds for one in group], default=0)
            while any(one.pid for one in group):
                if time.monotonic() > deadline or self._signals > 1:
                    self._kill(group)
                    break
                self._sleep(TICK_SECONDS)
                self._reap()

    def _kill(self, group: Sequence[_Running]) -> None:
        for one in group:
            if one.pid:
                why = "is told to end at once" if self._signals > 1 else "did not end in time"
                self.say(f"{one.part.name} {why} and is killed.")
                end_group(one.pid)
                os.waitpid(one.pid, 0)
                one.pid = 0
