"""python_exec: Python that a model wrote, run where it can do no harm.

The code runs in Monty, a Python interpreter of its own in a process of its own: it knows no
network, no environment and no file system. Files reach it through functions handed in, which
read through the workspace's gate (``sandbox_files``). Where Monty cannot be had, the tool is off
and ``unavailable`` says why; nothing ever runs in this interpreter instead.
"""

import ast
import atexit
import contextlib
import os
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools.box import Tool, ToolContext, ToolOutcome
from jenny.agent.tools.sandbox_files import SandboxFiles

if TYPE_CHECKING:
    import pydantic_monty

MEMORY_BYTES = 64 * 1024 * 1024
OUTPUT_CHARS = 200_000
CODE_CHARS = 100_000
_DEPTH = 400
# Questions to the host (files, names) that one run may ask.
_CALLS = 2_000
# How long a run waits for one of the few sandboxes to be free.
_QUEUE_SECONDS = 30.0
_POLL_SECONDS = 0.05
# A sandbox that does not keep its own limits is killed after this.
_BACKSTOP_SECONDS = 30.0
_TRACEBACK_CHARS = 4_000
_PREFIX = "__value__ = ("

_lock = threading.Lock()


@dataclass(slots=True)
class _State:
    """The sandboxes of this process; *pid* 0: not tried yet."""

    pid: int = 0
    pool: "pydantic_monty.Monty | None" = None
    problem: str = ""


_STATE = _State()


class _TooMuchOutput(Exception):
    """The code printed more than is kept."""


@dataclass(slots=True)
class _Run:
    """One run of code, in a thread of its own, so that whoever waits for it can leave."""

    code: str
    files: SandboxFiles
    zone: str
    seconds: float
    printed: list[str] = field(default_factory=list)
    size: int = 0
    problem: str = ""
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def is_full(self) -> bool:
        """Whether the code printed more than is kept."""
        return self.size > OUTPUT_CHARS

    def take(self, _stream: str, text: str) -> None:
        """Keep what the code prints."""
        self.size += len(text)
        if self.is_full:
            # Ends the run at its next question to us; who waits does not wait for that.
            self.problem = f"Ended: it printed more than {OUTPUT_CHARS:,} characters. Print less."
            self.done.set()
            raise _TooMuchOutput
        self.printed.append(text)


def python_exec(context: ToolContext, code: str) -> ToolOutcome:
    """Run Python code in a sandbox; gives back what it prints, and the value of a last expression.

    For arithmetic, dates, sorting, counting and reshaping text. Each call starts with nothing; at
    most 10 seconds, 64 MB and 200,000 characters of output. It is a part of Python 3: functions,
    classes without inheritance, comprehensions, exceptions, with, match, f-strings; no yield and no
    packages. Modules: math json re datetime time random itertools functools collections
    decimal csv hashlib base64 binascii bisect copy dataclasses typing tomllib unicodedata pathlib,
    and of os only what reads. Files of the workspace can be read and not written: read_file(path),
    list_dir(path), open(path) and pathlib take paths from the workspace's folder. There is no
    network. To keep a result, write it with another tool.

    code: the Python code
    """
    if reason := unavailable():
        raise ToolProblem(f"python_exec is off: {reason}")
    if len(code) > CODE_CHARS:
        raise ToolProblem(f"The code is longer than {CODE_CHARS:,} characters. Nothing was run.")
    run = _Run(_with_last_value(clean(code)), SandboxFiles(context), context.zone, context.seconds)
    threading.Thread(target=_carry_out, args=(run,), name="python_exec", daemon=True).start()
    # Its own limits end the thread; the turn need not wait for that when it is stopped.
    while not run.done.wait(_POLL_SECONDS):
        context.check()
    printed = "".join(run.printed)
    if run.problem:
        return ToolOutcome(ok=False, content=f"{printed.rstrip('\n')}\n{run.problem}".strip())
    return ToolOutcome(ok=True, content=printed.rstrip("\n") or "The code ran and printed nothing.")


def unavailable() -> str:
    """Why there is no sandbox on this machine; empty when there is one (tried once a process)."""
    with _lock:
        if _STATE.pid == 0:
            _STATE.pid, _STATE.problem = os.getpid(), _start()
        if _STATE.pid != os.getpid():
            # What runs the sandboxes does not survive a fork; asking it would wait for ever.
            return "the sandbox belongs to the process that this one was forked from."
        return _STATE.problem


def _start() -> str:
    """Start this process's sandboxes and try one; says what is wrong."""
    try:
        # Imported late: it costs 60 ms, and where it is missing only this tool is off.
        import pydantic_monty  # noqa: PLC0415 - costs 60 ms, as above
    except ImportError:
        return "the sandbox (pydantic-monty) is not installed."
    try:
        pool = pydantic_monty.Monty(
            min_processes=0,
            max_processes=max(2, os.cpu_count() or 1),
            checkout_timeout=_QUEUE_SECONDS,
            request_timeout=_BACKSTOP_SECONDS,
            # A sandbox keeps the memory it once had; this gives it back.
            max_checkouts_per_worker=20,
        )
        pool.__enter__()
        with pool.checkout() as session:
            session.feed_run("None")
    except (OSError, RuntimeError, pydantic_monty.MontyError) as error:
        return f"the sandbox cannot be started ({str(error)[:200].rstrip('.')})."
    _STATE.pool = pool
    atexit.register(_close, os.getpid())
    return ""


def _close(pid: int) -> None:
    if _STATE.pool is not None and pid == os.getpid():
        with contextlib.suppress(Exception):
            _STATE.pool.__exit__(None, None, None)


def _carry_out(run: _Run) -> None:
    """Run the code and note how it ended."""
    import pydantic_monty  # noqa: PLC0415 - loaded by now, see ``_start``

    try:
        pool = _STATE.pool
        if pool is None:
            run.problem = "The sandbox is gone; the code was not run."
            return
        with pool.checkout(
            limits=_limits(run.seconds), os_policy={"timezone": run.zone}
        ) as session:
            session.feed_run(
                run.code,
                external_lookup={"read_file": run.files.read_file, "list_dir": run.files.list_dir},
                os=run.files.answer,
                print_callback=run.take,
            )
    except pydantic_monty.MontyError as error:
        run.problem = run.problem or _said(error, run.seconds)
    except TimeoutError:
        run.problem = "Every sandbox is busy. Nothing was run; try again."
    except Exception as error:  # noqa: BLE001 - the edge of this thread: who waits must hear of it
        run.problem = f"The sandbox failed: {type(error).__name__}."
    finally:
        run.done.set()


def _limits(seconds: float) -> "pydantic_monty.ResourceLimits":
    return {
        "max_feed_duration_secs": seconds,
        "max_memory": MEMORY_BYTES,
        "max_recursion_depth": _DEPTH,
        "max_suspensions": _CALLS,
        "max_total_sleep_secs": 1.0,
    }


def _said(error: "pydantic_monty.MontyError", seconds: float) -> str:
    """What went wrong, in words that tell the model what to change."""
    text = str(error)
    if text.startswith("TimeoutError: feed time limit") or getattr(error, "timed_out", False):
        return f"Ended: it ran for longer than {seconds:g} seconds."
    if text.startswith("MemoryError: "):
        return f"Ended: it used more than {MEMORY_BYTES // 1024**2} MB of memory."
    if text.startswith("RuntimeError: suspension limit"):
        return f"Ended: it asked for files more than {_CALLS:,} times."
    display: Any = getattr(error, "display", None)
    if display is None:
        return "Ended: the sandbox broke on this code. Write it more simply."
    shown: str = display()
    if _PREFIX in shown:
        # The marks under the lines point beside once our own words are gone.
        shown = re.sub(r"\n +~+(?=\n)", "", shown.replace(_PREFIX, ""))
    if len(shown) <= _TRACEBACK_CHARS:
        return shown
    half = _TRACEBACK_CHARS // 2
    return f"{shown[:half]}\n…\n{shown[-half:]}"


def _with_last_value(code: str) -> str:
    """The code, ending so that the value of a last expression is printed in the sandbox.

    It is printed there, and not handed over, so that a huge value meets the sandbox's limits
    and not ours. Lines keep their numbers.
    """
    try:
        tree = compile(code, "code.py", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # What this Python cannot read, the sandbox explains.
        return f"{code}\nNone"
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or _is_print(last.value):
        return f"{code}\nNone"
    lines = code.encode().split(b"\n")
    start = sum(len(line) + 1 for line in lines[: last.lineno - 1]) + last.col_offset
    end = sum(len(line) + 1 for line in lines[: (last.end_lineno or last.lineno) - 1])
    end += last.end_col_offset or 0
    raw = code.encode()
    before, value, after = raw[:start].decode(), raw[start:end].decode(), raw[end:].decode()
    return (
        f"{before}{_PREFIX}{value}\n){after}\n"
        "if __value__ is not None: print(repr(__value__))\nNone"
    )


def _is_print(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    )


PYTHON_EXEC = Tool.of(python_exec)
