"""A memory file's text, changed in one place: lines added under a heading, an entry taken out.

Nothing else of the text is touched, so that what is not meant stays byte for byte as it is.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jenny.agent.errors import ToolProblem
from jenny.workspace.texts import keep_line_ends, to_lf
from memory import facts, files
from memory.facts import Fact

_HEADING = re.compile(r"\ufeff? {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_MARK = re.compile(
    r"^([ \t]*(?:[-*+]|\d{1,9}[.)])?[ \t]*)(?:\(\d+\.\d+\)[ \t]*(?:[-*+][ \t]+)?)?"
    r"\[(?:permanent|durable|ephemeral|correction|skip)\][ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ALIKE = 0.5
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class CutFact:
    """A text without an entry, and the entry's lines without their common indentation."""

    text: str
    entry: str


def unmarked(text: str) -> str:
    """The text without the marks that facts have in the history (``[durable]`` …)."""
    return _MARK.sub(r"\1", text)


def as_lines(text: str) -> list[str]:
    """Split a text to be added into lines; plain lines become bullets, one fact each."""
    lines = [line.rstrip() for line in unmarked(text).replace("\r\n", "\n").strip("\n").split("\n")]
    if any(_FENCE.match(line) or line.lstrip().startswith(("|", "#", ">")) for line in lines):
        return lines
    made: list[str] = []
    for line in lines:
        plain = line.strip()
        is_below = made and line[:1] in (" ", "\t") and plain
        made.append(line if not plain or is_below or _BULLET.match(line) else f"- {plain}")
    return made


def added(text: str | None, heading: str, lines: Sequence[str], *, path: str) -> str:
    """*text* with the *lines* at the end of the section *heading*; a heading that is not there
    is made at the end. Without a heading they come at the end of the file."""
    if text is None:
        text = new_file_text(path)
    rows = to_lf(text).split("\n")
    wanted = facts.normal(heading.strip().lstrip("#"))
    lines = _without_known_headings(lines, rows, wanted) or lines
    place = _end_of_section(rows, wanted) if wanted else _end(rows, 0, len(rows))
    if place is None:
        end = _end(rows, 0, len(rows))
        title = heading.strip().lstrip("#").strip()
        rows = [*rows[:end], *([""] if end else []), f"## {title}", "", *lines, *_rest(rows, end)]
    else:
        gap = _gap(rows, place, lines[0])
        rows = [*rows[:place], *gap, *lines, *_rest(rows, place)]
    return keep_line_ends("\n".join(rows), text)


def taken(text: str, entry: str) -> CutFact:
    """*text* without the one *entry* (a bullet, number or paragraph, with what is set in below).

    Raises:
        ToolProblem: it is not there, or more than once.
    """
    return cut_fact(text, _found(facts.facts(to_lf(text)), entry))


def cut_fact(text: str, fact: Fact) -> CutFact:
    """Return *text* without the *fact* that was found in it, and without what is indented below."""
    rows = to_lf(text).split("\n")
    first, last = fact.first - 1, end_of_block(rows, fact)
    lines = rows[first:last]
    rest = [*rows[:first], *rows[last:]]
    if first and first < len(rest) and not rest[first - 1].strip() and not rest[first].strip():
        # Of the empty lines around it, one is enough.
        del rest[first]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return CutFact(
        keep_line_ends("\n".join(rest), text),
        "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines),
    )


def _found(every: Sequence[Fact], entry: str) -> Fact:
    wanted = _plain(entry)
    stated = [fact for fact in every if fact.has_content]
    same = [fact for fact in stated if wanted and _plain(fact.text) == wanted]
    if len(same) == 1:
        return same[0]
    if same:
        lines = ", ".join(str(fact.first) for fact in same)
        raise ToolProblem(f"the entry stands there {len(same)} times (lines {lines})")
    ratios = [
        (difflib.SequenceMatcher(None, wanted, _plain(fact.text)[:500]).ratio(), fact)
        for fact in stated[:2_000]
    ]
    best = max(ratios, key=lambda row: row[0], default=None)
    if best is None or best[0] < _ALIKE:
        raise ToolProblem("there is no such entry; give its text exactly as it stands there")
    raise ToolProblem(
        f"there is no such entry; the nearest is line {best[1].first}: "
        f"{best[1].text[:_SHOWN_CHARS]!r}"
    )


def _plain(text: str) -> str:
    """An entry's text without its bullet and without how it is broken into lines."""
    return " ".join(_BULLET.sub("", text, count=1).split())


def end_of_block(rows: Sequence[str], fact: Fact) -> int:
    """Return the number of the last row of the fact with what is indented below it; below a bullet
    also behind empty rows."""
    indent = _indent(rows[fact.first - 1])
    last = fact.last
    for number, row in enumerate(rows[fact.last :], fact.last + 1):
        if not row.strip() and fact.kind in {"bullet", "numbered"}:
            continue
        if not row.strip() or _indent(row) <= indent or _HEADING.match(row):
            break
        last = number
    return last


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _end_of_section(rows: Sequence[str], wanted: str) -> int | None:
    """The line after the last one that says something in a section; ``None``: no such heading."""
    headings = list(_headings(rows))
    for number, (at, title) in enumerate(headings):
        if facts.normal(title) == wanted:
            after = headings[number + 1][0] if number + 1 < len(headings) else len(rows)
            return _end(rows, at + 1, after)
    return None


def _without_known_headings(
    lines: Sequence[str], rows: Sequence[str], wanted: str
) -> Sequence[str]:
    """Drop headings that the file has already, or under which the lines go."""
    known = {facts.normal(title) for _, title in _headings(rows)} | {wanted}
    kept = [
        line
        for line in lines
        if not ((match := _HEADING.match(line)) and facts.normal(match[2]) in known)
    ]
    first, last = 0, _end(kept, 0, len(kept))
    while first < last and not kept[first].strip():
        first += 1
    return kept[first:last]


def _headings(rows: Sequence[str]) -> list[tuple[int, str]]:
    """The headings, code and comments left out, by their line."""
    found = facts.facts("\n".join(rows))
    headings = [fact.first - 1 for fact in found if fact.kind == "heading"]
    matches = [(at, _HEADING.match(rows[at])) for at in headings]
    return [(at, match[2]) for at, match in matches if match]


def _end(rows: Sequence[str], start: int, stop: int) -> int:
    while stop > start and not rows[stop - 1].strip():
        stop -= 1
    return stop


def _gap(rows: Sequence[str], place: int, line: str) -> list[str]:
    """An empty line before what is added, unless a list goes on."""
    if not place or not rows[place - 1].strip():
        return []
    goes_on = _BULLET.match(line) and (
        _BULLET.match(rows[place - 1]) or rows[place - 1][:1] in (" ", "\t")
    )
    return [] if goes_on else [""]


def _rest(rows: Sequence[str], place: int) -> list[str]:
    """Return the lines behind, parted by an empty line; the file ends with a line end."""
    rest = list(rows[place:])
    if not any(row.strip() for row in rest):
        return [""]
    return rest if not rest[0].strip() else ["", *rest]


def new_file_text(path: str) -> str:
    """Return the beginning of a missing memory file."""
    file = files.BY_PATH[path]
    return f"# {file.name.capitalize()}\n"
