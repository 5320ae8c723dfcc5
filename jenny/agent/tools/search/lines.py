"""Lines that a regular expression matches, found in bounded time (see ``child``)."""

import contextlib
import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from jenny.agent.errors import ToolProblem
from jenny.agent.tools.box import Stop

_CHILD = Path(__file__).with_name("child.py")
PATTERN_CHARS = 1_000


class TimeUp(Exception):
    """The search took as long as it may."""


class LineSearch:
    """One pattern, for any number of texts; ends after *seconds* altogether."""

    def __init__(
        self,
        pattern: str,
        *,
        ignore_case: bool = False,
        seconds: float = 10.0,
        hits: int = 500,
        watch: Stop | None = None,
    ) -> None:
        """*hits*: at most so many lines of each text."""
        if len(pattern) > PATTERN_CHARS:
            message = f"The pattern is longer than {PATTERN_CHARS:,} characters."
            raise ToolProblem(message)
        self._watch = watch
        self._until = time.monotonic() + seconds
        self._order = {
            "pattern": pattern,
            "ignore_case": ignore_case,
            "seconds": int(seconds) + 2,
            "hits": hits,
        }

    def __enter__(self) -> Self:
        """Start the searching process.

        Raises:
            ToolProblem: the pattern is no regular expression.
            TimeUp: it could not even be compiled in time.
        """
        # No environment: the pattern is a stranger's, and needs nothing of it.
        self._process = subprocess.Popen(  # noqa: S603 - our own file, no shell
            [sys.executable, "-I", "-S", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            bufsize=0,
        )
        self._rest = b""
        try:
            answer = self._ask(json.dumps(self._order).encode() + b"\n")
        except BaseException:
            self.__exit__()
            raise
        if answer:
            self.__exit__()
            message = (
                f"The pattern is no regular expression: {answer['error']}. "
                "Escape it, or give literal=true to look for plain text."
            )
            raise ToolProblem(message)
        return self

    def __exit__(self, *_: object) -> None:
        """End the searching process, whatever it does."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Number (from 1) of each line that matches, and where in it (characters).

        Raises:
            TimeUp: no time is left.
            Cancelled: the run should end.
        """
        found: list[list[int]] = self._ask(len(data).to_bytes(8, "big") + data)
        return [(number, start) for number, start in found]

    def _ask(self, question: bytes) -> Any:
        """Write *question*, wait for the line that answers it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # pragma: no cover - both are pipes
            raise TimeUp
        try:
            # The child reads all of a question before it works on it: this cannot wait long.
            view = memoryview(question)
            while view:
                view = view[stdin.write(view) or 0 :]
        except OSError as error:
            raise TimeUp from error
        while b"\n" not in self._rest:
            self._await(stdout.fileno())
            piece = stdout.read(65_536)
            if not piece:
                # It was ended by its own limits of time or memory.
                raise TimeUp
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _await(self, fileno: int) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeUp
        if self._watch is not None:
            ready = self._watch.wait(fileno, "read", left)
        else:
            poller = select.poll()
            poller.register(fileno, select.POLLIN)
            ready = bool(poller.poll(int(left * 1000) + 1))
        if not ready:
            raise TimeUp
