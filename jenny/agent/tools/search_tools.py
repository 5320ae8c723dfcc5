"""The tools that find files and lines in the workspace, with limits of time and output."""

import contextlib
import fnmatch
import json
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jenny.agent.errors import ToolProblem
from jenny.agent.tools.file_tools import READ_BYTES
from jenny.agent.tools.toolbox import Stop, Tool, ToolContext, ToolOutcome
from jenny.text_normalisation import canonical
from jenny.workspace.errors import FileMissing, FileTooLarge, PathRefused


class Glob:
    """``*.md`` (any folder), ``wikis/*/AGENTS.md``, ``memory/**/*.md``; case-sensitive.

    A pattern without a slash matches the name alone. ``**`` matches any number of folders.
    """

    def __init__(self, pattern: str) -> None:
        # Equivalent codings of a name are the same name.
        pattern = canonical(pattern)
        parts = [part for part in pattern.strip().split("/") if part not in {"", "."}]
        if "/" not in pattern.strip().strip("/"):
            parts = ["**", *parts]
        if parts and parts[-1] == "**":
            parts.append("*")
        # fnmatch's patterns do not backtrack into a matched star.
        self._parts = [
            None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts
        ]

    def matches(self, path: str) -> bool:
        """True when the path (relative to the workspace or folder, with ``/``) matches."""
        # The positions of the pattern that match the names so far.
        alive = {0}
        for name in canonical(path).split("/"):
            alive = self._skipped(alive)
            following: set[int] = set()
            for at in alive:
                if at == len(self._parts):
                    continue
                part = self._parts[at]
                if part is None:
                    following.add(at)
                elif part.match(name):
                    following.add(at + 1)
            alive = following
        return len(self._parts) in alive

    def _skipped(self, alive: set[int]) -> set[int]:
        """Add the positions after every ``**`` that may match no folder."""
        skipped = set(alive)
        for at in sorted(alive):
            step = at
            while step < len(self._parts) and self._parts[step] is None:
                step += 1
                skipped.add(step)
        return skipped


_CHILD = Path(__file__).with_name("search_process.py")
PATTERN_CHARS = 1_000
# Pause between two looks at whether the run should end.
_CHECK_MILLISECONDS = 50


class TimeUp(Exception):
    pass


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
        """*hits*: the maximum of lines for each text."""
        if len(pattern) > PATTERN_CHARS:
            message = f"The pattern is longer than {PATTERN_CHARS:,} characters."
            raise ToolProblem(message)
        self._watch = watch
        self._until = time.monotonic() + seconds
        self._order = {
            "pattern": canonical(pattern),
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
        # Without environment: the pattern is untrusted, and needs nothing of it.
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
        """Return the number (from 1) of each matching line, and the match's start (characters).

        Raises:
            TimeUp: no time is left.
            Cancelled: the run should end.
        """
        found: list[list[int]] = self._ask(len(data).to_bytes(8, "big") + data)
        return [(number, start) for number, start in found]

    def _ask(self, question: bytes) -> Any:
        """Write *question* and wait for the line that answers it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # pragma: no cover - both are pipes
            raise TimeUp
        try:
            # The child reads a whole question before it works on it, so this cannot block long.
            view = memoryview(question)
            while view:
                view = view[stdin.write(view) or 0 :]
        except OSError as error:
            raise TimeUp from error
        while b"\n" not in self._rest:
            self._await(stdout.fileno())
            piece = stdout.read(65_536)
            if not piece:
                # Its own limits of time or memory ended it.
                raise TimeUp
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _await(self, fileno: int) -> None:
        poller = select.poll()
        poller.register(fileno, select.POLLIN)
        is_ready = False
        while not is_ready:
            if self._watch is not None:
                self._watch.check()
            if time.monotonic() >= self._until:
                raise TimeUp
            is_ready = bool(poller.poll(_CHECK_MILLISECONDS))


_PATHS = 1_000
_MATCHES = 500
_CONTEXT = 10
# Characters of a long line that are shown around the match.
_SHOWN = 300
_BEFORE = 100
# Files between two checks for cancellation.
_STRIDE = 200


def find_files(context: ToolContext, pattern: str, path: str = "", limit: int = 200) -> ToolOutcome:
    """Find files by name. A * stands for any letters, ** for any number of folders; case counts.

    pattern: such as *.md, or **/index.md; without a slash it is for the name alone
    path: the folder to look in; nothing means the whole workspace
    limit: how many to list at most
    """
    if not pattern.strip():
        raise ToolProblem("The pattern is empty; a * stands for any name.")
    glob, limit = Glob(pattern), max(1, min(limit, _PATHS))
    found: list[str] = []
    count = 0
    notes: list[str] = []
    try:
        for name, shown in _files(context, path):
            if glob.matches(name):
                count += 1
                if len(found) < limit:
                    found.append(shown)
    except TimeUp:
        notes.append(f"Stopped after {context.seconds:g} seconds. Use a narrower path.")
    if count > len(found):
        notes.insert(0, f"{len(found):,} of {count:,} are listed.")
    rows = [
        *(found or [f"No file matches {pattern!r}."]),
        *([f"[{' '.join(notes)}]"] if notes else []),
    ]
    return ToolOutcome(ok=True, content="\n".join(rows), data={"count": count})


def grep(
    context: ToolContext,
    pattern: str,
    path: str = "",
    *,
    glob: str = "",
    ignore_case: bool = False,
    literal: bool = False,
    lines_around: int = 0,
    limit: int = 100,
) -> ToolOutcome:
    """Find lines by a regular expression (Python's), in one file or in all files of a folder.

    Each match is shown as path:line: text.

    pattern: the regular expression, matched within one line
    path: a file or a folder; nothing means the whole workspace
    glob: only files that match it, such as *.md
    ignore_case: whether A and a are the same
    literal: take the pattern as plain text
    lines_around: how many lines to show before and after each match
    limit: how many matches to show at most
    """
    if not pattern:
        raise ToolProblem("The pattern is empty.")
    report = _Report(max(1, min(limit, _MATCHES)), max(0, min(lines_around, _CONTEXT)))
    search = LineSearch(
        re.escape(pattern) if literal else pattern,
        ignore_case=ignore_case,
        seconds=context.seconds,
        hits=_MATCHES,
        watch=context.watch,
    )
    chosen = Glob(glob) if glob else None
    try:
        with search:
            for name, shown in _searched(context, path):
                if chosen is None or chosen.matches(name):
                    _search_file(context, search, shown, report)
    except TimeUp:
        report.notes.append(
            f"Stopped after {context.seconds:g} seconds: the pattern or the folder is too large. "
            "Use a simpler pattern or a narrower path."
        )
    return report.outcome(pattern)


@dataclass
class _Report:
    limit: int
    around: int
    rows: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matches: int = 0
    shown: int = 0
    files: int = 0
    skipped: int = 0

    def add(self, path: str, data: bytes, hits: list[tuple[int, int]]) -> None:
        self.files += 1
        self.matches += len(hits)
        wanted = hits[: self.limit - self.shown]
        self.shown += len(wanted)
        if not wanted:
            return
        lines = data.decode("utf-8", "replace").split("\n")
        upto = 0
        for number, start in wanted:
            if self.around and upto and number - self.around > upto + 1:
                self.rows.append("--")
            for at in range(max(number - self.around, upto + 1), number):
                self.rows.append(f"{path}-{at}- {_excerpt(lines[at - 1], 0)}")
            if number > upto:
                self.rows.append(f"{path}:{number}: {_excerpt(lines[number - 1], start)}")
            after = next((other for other, _ in wanted if other > number), len(lines) + 1)
            upto = min(number + self.around, after - 1, len(lines))
            for at in range(number + 1, upto + 1):
                self.rows.append(f"{path}-{at}- {_excerpt(lines[at - 1], 0)}")

    def outcome(self, pattern: str) -> ToolOutcome:
        rows = self.rows or [f"No line matches {pattern!r}."]
        if self.matches > self.shown:
            self.notes.insert(
                0, f"{self.shown:,} of {self.matches:,} matches in {self.files:,} files are shown."
            )
        if self.skipped:
            self.notes.append(
                f"{self.skipped:,} files were skipped: they are no text, too large, or hard links."
            )
        if self.notes:
            rows = [*rows, f"[{' '.join(self.notes)}]"]
        return ToolOutcome(
            ok=True, content="\n".join(rows), data={"matches": self.matches, "files": self.files}
        )


def _search_file(context: ToolContext, search: LineSearch, path: str, report: _Report) -> None:
    try:
        data = context.visible(path, context.workspace.read(path, limit=READ_BYTES).data)
    except (FileTooLarge, PathRefused):
        report.skipped += 1
        return
    except FileMissing:
        return
    if b"\0" in data:
        report.skipped += 1
        return
    data = data.removesuffix(b"\n")
    if data and (hits := search.find(data)):
        report.add(path, data, hits)


def _searched(context: ToolContext, path: str) -> Iterator[tuple[str, str]]:
    """Yield the file at *path*, or all files of that folder."""
    if path and context.workspace.resolve(path, must_exist=True).is_file():
        shown = context.workspace.relative(path)
        yield shown.rsplit("/", 1)[-1], shown
        return
    yield from _files(context, path)


def _files(context: ToolContext, path: str) -> Iterator[tuple[str, str]]:
    """Yield every file below a folder: its path from there, and from the workspace.

    Raises:
        TimeUp: the folder is too large for the time there is.
    """
    until = time.monotonic() + context.seconds
    folder = context.workspace.relative(path) if path else ""
    start = len(folder) + 1 if folder else 0
    for number, entry in enumerate(context.workspace.walk(path)):
        if number % _STRIDE == 0:
            context.check()
            if time.monotonic() > until:
                raise TimeUp
        if entry.kind == "file":
            yield entry.path[start:], entry.path


def _excerpt(line: str, start: int) -> str:
    """Return a line, or the part of a long one around the match."""
    line = line.removesuffix("\r")
    if len(line) <= _SHOWN:
        return line
    first = max(0, min(start - _BEFORE, len(line) - _SHOWN))
    part = line[first : first + _SHOWN]
    before = "…" if first else ""
    after = "…" if first + _SHOWN < len(line) else ""
    return f"{before}{part}{after}"


SEARCH_TOOLS = {function.__name__: Tool.of(function) for function in (find_files, grep)}
