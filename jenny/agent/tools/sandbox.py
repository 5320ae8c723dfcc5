"""python_exec: runs Python code of a model in a sandbox with read access to the workspace.

The code runs in Monty, a separate Python interpreter in a process of its own, without network,
environment and file system. Its ``open``, ``pathlib`` and ``os`` call ``SandboxFiles.answer``: the
root ``/`` is the workspace's folder, and paths are checked like those of every tool. Without Monty
the tool is off and ``unavailable`` says why; code never runs in this interpreter instead.
"""

import ast
import atexit
import contextlib
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from jenny.agent.errors import ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools.file_tools import READ_BYTES
from jenny.agent.tools.toolbox import Tool, ToolContext, ToolOutcome
from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError
from jenny.workspace.files import Entry

if TYPE_CHECKING:
    import pydantic_monty

_SCAN_ENTRIES = 20_000
_READ_ONLY = "files can only be read here; write them with another tool"


class SandboxFiles:
    """Answers one run's calls about files. Its errors are Python's own, for the code to see."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._answers: dict[str, Callable[..., Any]] = {
            "open": self._open,
            "Path.read_text": self._read_text,
            "Path.read_bytes": self._read_bytes,
            "Path.exists": lambda path: self._kind(path) is not None,
            "Path.is_file": lambda path: self._kind(path) == "file",
            "Path.is_dir": lambda path: self._kind(path) == "folder",
            "Path.is_symlink": lambda _path: False,
            "Path.iterdir": self._iterdir,
            "Path.scan": self._scan,
            "Path.stat": self._stat,
            "Path.resolve": lambda path: _inside(path, "/"),
            "Path.absolute": lambda path: _inside(path, "/"),
        }

    def read_file(self, path: str) -> str:
        return self._read(str(path)).decode()

    def list_dir(self, path: str = "") -> list[str]:
        """Return the names in a folder; those of folders end in ``/``."""
        return [
            f"{entry.name}/" if entry.kind == "folder" else entry.name
            for entry in self._listed(str(path))
        ]

    def answer(self, *, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> Any:
        """Answer a call of ``open``, ``pathlib`` or ``os`` in the sandbox."""
        answer = self._answers.get(name)
        if answer is not None:
            return answer(*args, **kwargs)
        if name in {"os.getenv", "os.environ"}:
            return None if name == "os.getenv" else {}
        raise PermissionError(_READ_ONLY)

    def _read(self, path: str) -> bytes:
        path = _inside(path)
        self._context.check()
        try:
            file = self._context.workspace.read(path, limit=READ_BYTES)
            return self._context.visible(file.path, file.data)
        except FileMissing as error:
            shipped = self._context.shipped.get(path)
            if shipped is not None:
                return shipped.encode()
            raise FileNotFoundError(error.message) from error
        except WorkspaceError as error:
            raise PermissionError(error.message) from error

    def _listed(self, path: str) -> tuple[Entry, ...]:
        try:
            return self._context.workspace.list(_inside(path))
        except FileMissing as error:
            raise FileNotFoundError(error.message) from error
        except WorkspaceError as error:
            raise PermissionError(error.message) from error

    def _kind(self, path: Any) -> str | None:
        try:
            place = self._context.workspace.resolve(_inside(path))
        except PathRefused:
            return None
        if place.is_dir():
            return "folder"
        if place.is_file() or _inside(path) in self._context.shipped:
            return "file"
        return None

    def _open(self, path: Any, mode: str = "r", *_: Any) -> Any:
        # Loaded by now: only a running sandbox calls this.
        from pydantic_monty import MontyFileHandle  # noqa: PLC0415 - loaded by now, as above

        if set(mode) - set("rbt"):
            raise PermissionError(_READ_ONLY)
        self._read(str(path))
        return MontyFileHandle(str(path), mode)

    def _read_text(self, path: Any) -> str:
        return self._read(_path_of(path)).decode().removeprefix("\ufeff").replace("\r\n", "\n")

    def _read_bytes(self, path: Any) -> bytes:
        return self._read(_path_of(path))

    def _iterdir(self, path: Any) -> list[PurePosixPath]:
        return [PurePosixPath("/", entry.path) for entry in self._listed(str(path))]

    def _scan(self, path: Any, *, max_depth: int | None = None, **_: Any) -> list[Any]:
        from pydantic_monty import ScanEntry  # noqa: PLC0415 - as in ``_open``

        kind = self._kind(path)
        if kind is None:
            raise FileNotFoundError(str(path))
        found = [ScanEntry("", kind == "folder", kind == "file", is_symlink=False)]
        if kind == "file":
            return found
        start = len(_inside(path)) + 1 if _inside(path) else 0
        for entry in self._context.workspace.walk(_inside(path)):
            relative = entry.path[start:]
            if max_depth is not None and relative.count("/") >= max_depth:
                continue
            if len(found) >= _SCAN_ENTRIES:
                raise PermissionError(f"the folder has more than {_SCAN_ENTRIES:,} entries")
            found.append(
                ScanEntry(relative, entry.kind == "folder", entry.kind == "file", is_symlink=False)
            )
        return found

    def _stat(self, path: Any) -> Any:
        from pydantic_monty import StatResult  # noqa: PLC0415 - as in ``_open``

        kind = self._kind(path)
        if kind is None:
            raise FileNotFoundError(str(path))
        place = self._context.workspace.resolve(_inside(path))
        if not place.exists():
            return StatResult.file_stat(len(self._read(str(path))))
        status = place.stat()
        if kind == "folder":
            return StatResult.dir_stat(mtime=status.st_mtime)
        return StatResult.file_stat(status.st_size, mtime=status.st_mtime)


def _path_of(path: Any) -> str:
    return str(getattr(path, "path", path))


def _inside(path: Any, start: str = "") -> str:
    """Convert a path of the sandbox to one of the workspace: its root is the workspace's folder."""
    parts = [part for part in str(path).split("/") if part not in {"", "."}]
    return start + "/".join(parts)


MEMORY_BYTES = 64 * 1024 * 1024
OUTPUT_CHARS = 200_000
CODE_CHARS = 100_000
_DEPTH = 400
# Calls to the host (files, names) that one run may make.
_CALLS = 2_000
# Time that a run waits for a free sandbox.
_QUEUE_SECONDS = 30.0
_POLL_SECONDS = 0.05
# A sandbox that exceeds its own limits is killed after this.
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
    pass


@dataclass(slots=True)
class _Run:
    """One run of code, in a thread of its own, so that a waiting turn can leave it."""

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
        return self.size > OUTPUT_CHARS

    def take(self, _stream: str, text: str) -> None:
        self.size += len(text)
        if self.is_full:
            # Ends the run at its next call to the host; the waiting turn leaves at once.
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
    # Its own limits end the thread; a stopped turn does not wait for that.
    while not run.done.wait(_POLL_SECONDS):
        context.check()
    printed = "".join(run.printed)
    if run.problem:
        return ToolOutcome(ok=False, content=f"{printed.rstrip('\n')}\n{run.problem}".strip())
    return ToolOutcome(ok=True, content=printed.rstrip("\n") or "The code ran and printed nothing.")


def unavailable() -> str:
    """Return why there is no sandbox on this machine; empty when there is one.

    It is tried once per process.
    """
    with _lock:
        if _STATE.pid == 0:
            _STATE.pid, _STATE.problem = os.getpid(), _start()
        if _STATE.pid != os.getpid():
            # The thread that runs the sandboxes does not survive a fork; a call would wait for
            # ever.
            return "the sandbox belongs to the process that this one was forked from."
        return _STATE.problem


def _start() -> str:
    """Start this process's sandboxes and try one; return the error."""
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
            # A sandbox keeps the memory it once had; a new one frees it.
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
    """Describe the error so that the model knows what to change."""
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
        # The markers below lines are misplaced once our own prefix is removed.
        shown = re.sub(r"\n +~+(?=\n)", "", shown.replace(_PREFIX, ""))
    if len(shown) <= _TRACEBACK_CHARS:
        return shown
    half = _TRACEBACK_CHARS // 2
    return f"{shown[:half]}\n…\n{shown[-half:]}"


def _with_last_value(code: str) -> str:
    """Change the code to print the value of a last expression in the sandbox.

    It is printed there, not returned, so that a huge value meets the sandbox's limits and not ours.
    Lines keep their numbers.
    """
    try:
        tree = compile(code, "code.py", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The sandbox reports the syntax error.
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
