"""Processes that do an act and are killed with SIGKILL at a chosen moment.

A step is a call that reaches the disk, such as ``os.fsync``; which ones count, each test says by
their names.
"""

import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).parents[2]

type Act = Callable[[Path], object]


class Steps:
    """The steps of this process, which is killed right before the one numbered *last* (0: at
    none). ``count``: how many it has begun."""

    def __init__(self, last: int) -> None:
        self.count = 0
        self._last = last

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """*call*, as a step."""

        @functools.wraps(call)
        def step(*args: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return step


def die_at(number: int, steps: Sequence[str]) -> Steps:
    """Arrange for this process to be killed right before its step of that number; *steps*: the
    functions of ``os`` that count."""
    found = Steps(number)
    for name in steps:
        setattr(os, name, found.counted(getattr(os, name)))
    return found


def forked(act: Callable[[], object]) -> int:
    """The id of a process that does *act*."""
    child = os.fork()
    if child:
        return child
    try:
        act()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  (the parent must hear of everything)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)


def got_through(child: int) -> bool:
    """Wait for a process: whether it did its act; it was killed otherwise."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "the process failed"
        return True
    assert os.WTERMSIG(status) == signal.SIGKILL
    return False


def in_process(act: Callable[[], object], number: int = 0, steps: Sequence[str] = ()) -> bool:
    """Whether *act* got through in a process that is killed at a step of it (0: at none)."""

    def mortal() -> None:
        die_at(number, steps)
        act()

    return got_through(forked(mortal))


def told(module: str, *words: object, seconds: float = 3_600) -> list[dict[str, Any]]:
    """What a module that is run in a process of its own tells: a line of JSON each time."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=_PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_everywhere(
    root: Path,
    start: Act,
    act: Act,
    reopen: Act,
    *,
    steps: Sequence[str],
    only: frozenset[int] = frozenset(),
    twice: bool = False,
) -> Iterator[dict[str, Any]]:
    """Kill *act* at each of its steps in turn, each time in a fresh folder *root* that *start*
    fills, until one gets through; what was left stands there at each row.

    *reopen* is done afterwards; with *twice* it is killed at each of its own steps as well, and
    done again. *only*: the first kills are at these numbers.
    """
    for number in itertools.count(1):
        if number not in only and number <= max(only, default=0):
            continue
        again = twice and not (only and number > max(only))
        for second in itertools.count(1):
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
            start(root)
            through = in_process(lambda: act(root), number, steps)
            opened = in_process(lambda: reopen(root), second if again else 0, steps)
            in_process(lambda: reopen(root))
            yield {"step": number, "second": second, "through": through}
            if opened:
                break
        if through:
            return
