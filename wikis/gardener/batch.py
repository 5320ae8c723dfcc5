"""Which lines of a project's log the gardener has not read yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from jenny.agent.prompt import framed
from jenny.workspace.files import Workspace
from wikis.project import log

# Lines of one run; what is left waits for the next.
MOST_LINES = 200
_LINE_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Line:
    """A line that says something: the log's file, from the project's folder, and its text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines that were not read yet, oldest first; up to which line of each file they go (*read*),
    and how many wait beyond them."""

    lines: tuple[Line, ...]
    read: Mapping[str, int]
    left: int = 0

    @property
    def text(self) -> str:
        """The lines, numbered, each with the file that it stands in."""
        rows = [f"{at}. [{line.path}] {line.text}" for at, line in enumerate(self.lines, 1)]
        return framed("\n".join(rows), "text")


def unread(workspace: Workspace, read: Mapping[str, int], *, most: int = MOST_LINES) -> Batch:
    """What is new in the log. *workspace* is opened within the project's folder; *read*: up to
    which line each of its files was read. A file that has become shorter since has nothing new
    until it grows again."""
    lines: list[Line] = []
    places: dict[str, int] = {}
    left = 0
    for path in log.days(workspace):
        inside = path.removeprefix(f"{workspace.within}/")
        rows = workspace.read(path).data.decode("utf-8", "replace").splitlines()
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
    """A line's text; empty for headings, comments and what says nothing."""
    text = row.strip()
    if not text or text.startswith(("#", "<!--")):
        return ""
    return text if len(text) <= _LINE_CHARS else f"{text[:_LINE_CHARS]}…"
