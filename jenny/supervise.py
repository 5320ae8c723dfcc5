"""Keeps the parts of Jenny running in one terminal, and ends them together.

The supervisor stays single-threaded and holds no connection, so that it can fork its parts
from what it has already imported: a start costs the imports once, and the parts share their
memory. A part that dies is forked again; one that dies at once waits longer each time.
"""

import contextlib
import fcntl
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from jenny.processes import Part, end_group, fork

# A part that lived this long did not die at once.
SETTLED_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 15.0
TICK_SECONDS = 0.05
IDLE_SECONDS = 1.0
LOCK_SECONDS = 3.0


class CannotStart(Exception):
    """Starting is refused; the sentence says why and what to do."""

    def __init__(self, sentence: str) -> None:
        """Keep *sentence*."""
        super().__init__(sentence)
        self.sentence = sentence


@contextlib.contextmanager
def only_one(path: Path, *, shared: bool = False) -> Iterator[IO[str]]:
    """Hold the lock file *path* with our process id in it; refuse when another holds it.

    The parts inherit the lock: the data folder is free once all of them are gone, which
    after a killed supervisor takes a moment, and is waited for.
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
                if time.monotonic() > deadline or (holder and _is_alive(holder)):
                    raise CannotStart(_taken(path, holder)) from None
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


def _taken(path: Path, holder: str) -> str:
    who = f"by process {holder}" if holder else "by a command"
    return (
        f"The data folder {path.parent} is in use {who}. Stop that one first, or choose "
        "another folder with JENNY_DATA_DIR."
    )


def listen(host: str, port: int) -> socket.socket:
    """The web server's socket, bound before anything starts.

    It stays open in the supervisor, so that while a web server that died comes back, browsers
    wait for it and are not turned away.
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
    """A part's process now, and how it fared."""

    part: Part
    pid: int = 0
    started: float = 0.0
    is_ready: bool = False
    quick_deaths: int = 0
    start_again_at: float = 0.0


@dataclass
class Supervisor:
    """Runs *parts* until it is told to end; ``say`` gets its sentences.

    ``check`` tells whether everything answers; ``when_ready`` is called once, when it does
    and every part has said that it is ready.
    """

    parts: Sequence[Part]
    say: Callable[[str], None]
    check: Callable[[], bool]
    when_ready: Callable[[], None]
    # Closed in each part: (file, names of the parts that keep it).
    owned: Sequence[tuple[socket.socket, frozenset[str]]] = ()
    # There while every part is ready; what a container's health check looks for.
    ready_file: Path | None = None
    _running: list[_Running] = field(default_factory=list)
    _ending: bool = False
    _signals: int = 0

    def __post_init__(self) -> None:
        """Make the pipes by which signals and parts wake the loop."""
        self._wake_reader, self._wake_writer = os.pipe()
        self._ready_reader, self._ready_writer = os.pipe()

    def run(self) -> int:
        """Run until SIGINT, SIGTERM or SIGHUP; return the exit code."""
        for end in (self._wake_reader, self._wake_writer, self._ready_reader):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # ``nohup`` has it ignored, and means it.
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
        """Process id of each part that runs."""
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
            # At first, a part waits for those it uses; later they find each other again.
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
        """In the part's process: tell the supervisor."""
        os.write(self._ready_writer, bytes([index]))

    def _forget(self, name: str) -> None:
        """In the part's process: let go of what is not its own."""
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
            # As the first process of a container it also inherits orphans, which are nobody's.
            one = next((each for each in self._running if each.pid == pid), None)
            if one is None:
                continue
            # What it started must not outlive it and work on beside its successor.
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
        """End the parts, upper layers first; kill what does not end within its grace time."""
        for layer in sorted({part.layer for part in self.parts}, reverse=True):
            group = [one for one in self._running if one.part.layer == layer and one.pid]
            for one in group:
                # Only the part itself: it knows best how to end what it started.
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
                self.say(f"{one.part.name} did not end in time and is killed.")
                end_group(one.pid)
                os.waitpid(one.pid, 0)
                one.pid = 0
