"""What one forked process needs: a tie to its parent, clean signals, a name, a way to go.

A part dies with its supervisor, also when that is killed with SIGKILL: on Linux the kernel
sees to it; elsewhere a thread of the part looks whether its parent is still there.
"""

import contextlib
import ctypes
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

log = logging.getLogger("jenny.part")

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PARENT_CHECK_SECONDS = 1.0
# Enough for every page of many people: each open event stream is two files.
OPEN_FILES = 65_536

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Part:
    """A process that the supervisor keeps running.

    ``run`` is called in the forked process with a function to call once it is ready for
    work; the process ends when it returns. Parts with the same ``layer`` stop together;
    higher layers stop first, since they use the lower ones.
    """

    name: str
    run: Callable[[Callable[[], None]], None]
    layer: int = 1
    grace_seconds: float = 10.0
    dies_by: signal.Signals = signal.SIGKILL
    # For a part that is another program and cannot call: asked in the supervisor.
    probe: Callable[[], bool] | None = None
    # Called in the supervisor when the part ended before it was ready; a sentence, or nothing.
    repair: Callable[[], str] | None = None


def allow_open_files() -> None:
    """Let this process and its parts open as many files as the system allows; what a shell
    allows by itself (1,024, on macOS 256) is soon used up by open pages."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems allow less than they say.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def fork(part: Part, is_ready: Callable[[], None], forget: Callable[[], None]) -> int:
    """Fork *part* and return its process id. *forget* runs in it first: it must close what is
    the supervisor's alone."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        _tie_to(parent, part)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        forget()
        # Its own group: Ctrl-C in the terminal reaches the supervisor alone, which ends the
        # parts in order; and what a part started can be ended with it.
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
    """End the process without running what the supervisor registered for its own end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_group(pid: int) -> None:
    """Kill what the part *pid* started, and the part."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
