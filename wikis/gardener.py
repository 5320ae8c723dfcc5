"""The gardener turns a project's log into pages: its lines, its tools, and where it may write.

It runs only when a person starts it or switches it on; it writes only pages, and the log stays as
it is.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from jenny.agent.errors import ToolProblem
from jenny.agent.prompt import framed
from jenny.agent.tools import Tool, ToolContext, ToolOutcome
from jenny.markdown.comments import blank_comments
from jenny.workspace import diffs, names, texts
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change, Workspace
from wikis import pages, project, scaffold

# Lines of one run; the rest waits for the next.
MOST_LINES = 200
_LINE_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Line:
    """A log line with text: the log's file, from the project's folder, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Unread lines, oldest first.

    *read*: the number of the last line of each file. Further lines wait beyond them.
    """

    lines: tuple[Line, ...]
    read: Mapping[str, int]
    left: int = 0

    @property
    def text(self) -> str:
        """The numbered lines, each with its file."""
        rows = [f"{at}. [{line.path}] {line.text}" for at, line in enumerate(self.lines, 1)]
        return framed("\n".join(rows), "text")


def select_unread(
    workspace: Workspace, read: Mapping[str, int], *, most: int = MOST_LINES
) -> Batch:
    """Return the new lines of the log.

    *workspace* is opened within the project's folder; *read*: the number of lines read of each
    file. A file that has become shorter since has nothing new until it grows again.
    """
    lines: list[Line] = []
    places: dict[str, int] = {}
    left = 0
    for path in project.log_days(workspace):
        inside = path.removeprefix(f"{workspace.within}/")
        rows = blank_comments(workspace.read(path).data.decode("utf-8", "replace")).splitlines()
        places[inside] = start = min(read.get(inside, 0), len(rows))
        for number, row in enumerate(rows[start:], start + 1):
            text = _said(row)
            if text and len(lines) >= most:
                left += 1
                continue
            if text:
                lines.append(Line(inside, text))
            if not left:
                places[inside] = number
    return Batch(tuple(lines), places, left)


def _said(row: str) -> str:
    """Return a line's text; empty for headings and empty items."""
    text = row.strip()
    if not text or text.startswith("#"):
        return ""
    return text if len(text) <= _LINE_CHARS else f"{text[:_LINE_CHARS]}…"


_CHARS = 500


@dataclass(slots=True)
class GardenContext(ToolContext):
    """The tools' context in a run of the gardener: what it says at its end."""

    lines: int = field(kw_only=True, default=0)
    summary: str = ""
    left_out: tuple[str, ...] = ()
    has_finished: bool = False


def add_open(context: ToolContext, question: str) -> ToolOutcome:
    """Add a question to the Open section of the index: where two lines, or a line and a page,
    contradict each other, or where something is undecided.

    question: one sentence that names both sides, and the pages or log files they stand in
    """
    text = " ".join(question.split())
    if not text or len(text) > _CHARS:
        message = f"A question has from 1 to {_CHARS} characters. Nothing was added."
        raise ToolProblem(message)

    def asked(old: bytes | None) -> bytes:
        before = (old or b"# Index\n").decode("utf-8", "surrogateescape")
        added = scaffold.add_line_below(texts.to_lf(before), "Open", f"- {text}")
        return texts.keep_line_ends(added, before).encode("utf-8", "surrogateescape")

    written = context.workspace.edit(pages.INDEX, asked)
    path = pages.INDEX if written is None else written.path
    return ToolOutcome(ok=True, content=f"Added to {path}.", data={"path": path})


def finish_tidying(context: ToolContext, summary: str, left_out: list[str]) -> ToolOutcome:
    """End the tidying, once every line of the log was looked at.

    summary: what you did, in one or two sentences for the person
    left_out: lines that no page needs, each as its number and the reason in a few words
    """
    if not isinstance(context, GardenContext):
        message = "There is nothing to finish here."
        raise ToolProblem(message)
    context.summary = " ".join(summary.split())[:_CHARS]
    context.left_out = tuple(" ".join(one.split())[:_CHARS] for one in left_out[: context.lines])
    context.has_finished = True
    return ToolOutcome(ok=True, content="Finished.", ends_run=True)


GARDENER_TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (Tool.of(add_open), Tool.of(finish_tidying))
}


ACTOR = "gardener"
_PARTS = 4  # wikis/<name>/wiki/<page>


def guard_write(change: Change) -> None:
    """Refuse the gardener's writes outside a wiki's pages. A write rule.

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.kind != ACTOR:
        return
    parts = change.path.split("/")
    is_page = len(parts) >= _PARTS and parts[0] == pages.WIKIS and parts[2] == pages.PAGES
    if not is_page or not pages.is_page(change.path):
        message = (
            f"{names.shown(change.path)} was not written: the gardener writes pages below "
            f"{pages.PAGES}/ and nothing else."
        )
        raise WriteRefused(message, "protected")


@dataclass(slots=True)
class Written:
    """The writes of one run: contents before and after, by path."""

    files: dict[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)

    def diff(self, limit: int) -> str:
        """Return all of them as a unified diff of at most about *limit* characters."""
        rows = [
            diffs.unified(path, old, new)
            for path, (old, new) in sorted(self.files.items())
            if old != new
        ]
        return diffs.bounded("".join(rows), limit)


_RUNS: dict[str, Written] = {}
_LOCK = threading.Lock()


@contextmanager
def watch_writes(run: str) -> Iterator[Written]:
    """Record the writes of the run of that name while the block lasts."""
    written = Written()
    with _LOCK:
        _RUNS[run] = written
    try:
        yield written
    finally:
        with _LOCK:
            _RUNS.pop(run, None)


def note_writes(changes: Sequence[Change]) -> None:
    """Record a transaction right before it is written. Registered as an act rule."""
    for change in changes:
        written = _RUNS.get(change.actor.run) if change.actor.kind == ACTOR else None
        if written is not None:
            first = written.files.get(change.path, (change.old, None))[0]
            written.files[change.path] = (first, change.new)
