"""The tools that find files and lines in the workspace, bounded in time and in what they say."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from jenny.agent.errors import ToolProblem
from jenny.agent.tools.box import Tool, ToolContext, ToolOutcome
from jenny.agent.tools.file_access import READ_BYTES
from jenny.agent.tools.search.globs import Glob
from jenny.agent.tools.search.lines import LineSearch, TimeUp
from jenny.workspace.errors import FileMissing, FileTooLarge, PathRefused

_PATHS = 1_000
_MATCHES = 500
_CONTEXT = 10
# Of a long line, the part around the match that is shown.
_SHOWN = 300
_BEFORE = 100
# Between looks at whether the run should end.
_STRIDE = 200


def find_files(context: ToolContext, pattern: str, path: str = "", limit: int = 200) -> ToolOutcome:
    """Find files by name. A * stands for any letters, ** for any number of folders; case counts.

    pattern: such as *.md, or wikis/**/index.md; without a slash it is for the name alone
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
    """What a search found so far."""

    limit: int
    around: int
    rows: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matches: int = 0
    shown: int = 0
    files: int = 0
    skipped: int = 0

    def add(self, path: str, data: bytes, hits: list[tuple[int, int]]) -> None:
        """Note one file's matches."""
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
        """The report as the model reads it."""
        rows = self.rows or [f"No line matches {pattern!r}."]
        if self.matches > self.shown:
            self.notes.insert(
                0, f"{self.shown:,} of {self.matches:,} matches in {self.files:,} files are shown."
            )
        if self.skipped:
            self.notes.append(f"{self.skipped:,} files are no text or too large and were skipped.")
        if self.notes:
            rows = [*rows, f"[{' '.join(self.notes)}]"]
        return ToolOutcome(
            ok=True, content="\n".join(rows), data={"matches": self.matches, "files": self.files}
        )


def _search_file(context: ToolContext, search: LineSearch, path: str, report: _Report) -> None:
    try:
        data = context.workspace.read(path, limit=READ_BYTES).data
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
    """The file at *path*, or all files of that folder."""
    if path and context.workspace.resolve(path, must_exist=True).is_file():
        shown = context.workspace.relative(path)
        yield shown.rsplit("/", 1)[-1], shown
        return
    yield from _files(context, path)


def _files(context: ToolContext, path: str) -> Iterator[tuple[str, str]]:
    """Every file below a folder: its path from there, and from the workspace.

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
    """A line, or the part of a long one around the match."""
    line = line.removesuffix("\r")
    if len(line) <= _SHOWN:
        return line
    first = max(0, min(start - _BEFORE, len(line) - _SHOWN))
    part = line[first : first + _SHOWN]
    before = "…" if first else ""
    after = "…" if first + _SHOWN < len(line) else ""
    return f"{before}{part}{after}"


SEARCH_TOOLS = {function.__name__: Tool.of(function) for function in (find_files, grep)}
