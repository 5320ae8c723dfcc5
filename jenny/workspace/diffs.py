"""Compare two texts line by line, for people and for models; diffs have a bounded size.

Lines end in LF or CRLF, which count as the same; a lone CR and a missing end of the last line do
count. For bytes that are not UTF-8 only the fact of a change is reported.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

# A changed stretch of more lines is shown as replaced whole; the time to match it would grow with
# its square.
_STRETCH_LINES = 3000
_CONTEXT = 3

type Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of added and removed lines.

    ``is_binary``: one side is not text, so none are counted.
    """

    added: int = 0
    removed: int = 0
    is_binary: bool = False


def lines_of(data: bytes | None) -> list[str] | None:
    """Split into lines with their ends, CRLF as LF; ``None`` when it is not text.

    A missing file has no lines.
    """
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None
    return re.findall(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n"))


def is_same_text(old: bytes | None, new: bytes | None) -> bool:
    """True when two contents differ at most in their line ends.

    A missing file is not an empty one.
    """
    if old == new:
        return True
    if old is None or new is None:
        return False
    if old.replace(b"\r\n", b"\n") != new.replace(b"\r\n", b"\n"):
        return False
    return lines_of(old) is not None and lines_of(new) is not None


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return the ``difflib`` opcodes from *old* to *new* (tag, from, to, from, to)."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(a), len(b)) > _STRETCH_LINES:
        middle: list[Opcode] = [("replace", 0, len(a), 0, len(b))]
    else:
        middle = list(SequenceMatcher(None, a, b).get_opcodes())
    rows: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    rows += [(tag, i + start, j + start, k + start, m + start) for tag, i, j, k, m in middle]
    if end:
        rows.append(("equal", len(old) - end, len(old), len(new) - end, len(new)))
    return rows


def counts(old: bytes | None, new: bytes | None) -> Counts:
    before, after = lines_of(old), lines_of(new)
    if before is None or after is None:
        return Counts(is_binary=True)
    added = removed = 0
    for tag, i, j, k, m in opcodes(before, after):
        if tag != "equal":
            removed += j - i
            added += m - k
    return Counts(added, removed)


def added_lines(old: bytes | None, new: bytes | None) -> list[str]:
    """Return the added lines, without their ends; none when one side is not text."""
    before, after = lines_of(old), lines_of(new)
    if before is None or after is None:
        return []
    return [
        line.rstrip("\n")
        for tag, _, _, k, m in opcodes(before, after)
        if tag != "equal"
        for line in after[k:m]
    ]


def unified(path: str, old: bytes | None, new: bytes | None) -> str:
    """Return a unified diff of one file, or one line with the reason why there is none."""
    before, after = lines_of(old), lines_of(new)
    shown = plain_path(path)
    head = f"--- {f'a/{shown}' if old is not None else '/dev/null'}\n"
    head += f"+++ {f'b/{shown}' if new is not None else '/dev/null'}\n"
    if before is None or after is None:
        return head + "binary or not UTF-8: no lines are shown\n"
    return head + "".join(_hunk(before, after, group) for group in _grouped(opcodes(before, after)))


def _grouped(rows: list[Opcode]) -> list[list[Opcode]]:
    """Group close changes, with a few lines of context."""
    groups: list[list[Opcode]] = [[]]
    for index, (tag, i, j, k, m) in enumerate(rows):
        if tag != "equal":
            groups[-1].append((tag, i, j, k, m))
            continue
        before = _CONTEXT if index else 0
        after = _CONTEXT if index < len(rows) - 1 else 0
        if j - i <= before + after and groups[-1]:
            groups[-1].append((tag, i, j, k, m))
            continue
        if index:
            size = min(before, j - i)
            groups[-1].append((tag, i, i + size, k, k + size))
            groups.append([])
        size = min(after, j - i)
        groups[-1].append((tag, j - size, j, m - size, m))
    return [group for group in groups if any(row[0] != "equal" for row in group)]


def _hunk(before: Sequence[str], after: Sequence[str], group: list[Opcode]) -> str:
    out = [f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"]
    for tag, i, j, k, m in group:
        if tag == "equal":
            out += [_line(" ", line) for line in before[i:j]]
            continue
        out += [_line("-", line) for line in before[i:j]]
        out += [_line("+", line) for line in after[k:m]]
    return "".join(out)


def _line(mark: str, line: str) -> str:
    if line.endswith("\n"):
        return mark + line
    return f"{mark}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def bounded(text: str, limit: int) -> str:
    """Cut *text* at a line end after about *limit* characters; the last line reports the cut."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    kept = kept[: kept.rfind("\n") + 1] or f"{kept}\n"
    rest = text[len(kept) :].count("\n")
    return f"{kept}… {rest:,} more {'line' if rest == 1 else 'lines'}\n"


def fenced(text: str, language: str = "diff") -> str:
    """Put *text* in a Markdown fence that nothing inside can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith('\n') else '\n'}{fence}"


def code_span(text: str) -> str:
    """Format *text* as Markdown code on one line, whatever it contains."""
    plain = plain_path(text)
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def plain_path(path: str) -> str:
    """Return a path on one line, without invisible characters."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in path)


# At most so many lines of one file are shown among others, and on a page of its own.
MOST_LINES = 400
MOST_LINES_ALONE = 2_000
MOST_CHARS = 500_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a difference. *number* is its line number before for removed lines, else after."""

    kind: Literal["same", "went", "came", "gap"]
    text: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Lines of a difference. *left_out* counts the lines not shown; *is_text*: both sides are
    text."""

    lines: tuple[Line, ...] = ()
    left_out: int = 0
    is_text: bool = True


def difference(old: bytes | None, new: bytes | None, *, most: int = MOST_LINES) -> Difference:
    """Compare two states of a file by line; ``None``: there was no file."""
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return Difference(is_text=False)
    return text_difference(before, after, most=most)


def text_difference(before: str, after: str, *, most: int = MOST_LINES_ALONE) -> Difference:
    old, new = before.splitlines(), after.splitlines()
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag == "equal":
            is_end = i2 == len(old) and j2 == len(new)
            same = [Line("same", new[at], at + 1) for at in range(j1, j2)]
            lines += _edges(same, 0 if i1 == j1 == 0 else _CONTEXT, 0 if is_end else _CONTEXT)
            continue
        lines += [Line("went", old[at], at + 1) for at in range(i1, i2)]
        lines += [Line("came", new[at], at + 1) for at in range(j1, j2)]
    if not any(line.kind in {"went", "came"} for line in lines):
        return Difference()
    return Difference(tuple(lines[:most]), max(0, len(lines) - most))


def _edges(same: list[Line], first: int, last: int) -> Iterator[Line]:
    """Yield an unchanged stretch: a short one whole, of a long one its first and last lines."""
    if len(same) <= first + last + 1:
        yield from same
        return
    yield from same[:first]
    yield Line("gap")
    yield from same[len(same) - last :]


def _text(data: bytes | None) -> str | None:
    try:
        return (data or b"").decode("utf-8")[:MOST_CHARS]
    except UnicodeDecodeError:
        return None


def read_unified(text: str) -> Difference:
    lines: list[Line] = []
    before = after = 0
    for row in text.splitlines():
        if hunk := _HUNK.match(row):
            before, after = int(hunk[1]), int(hunk[2])
            lines += [Line("gap")] if lines else []
        elif row.startswith("-") and before:
            lines.append(Line("went", row[1:], before))
            before += 1
        elif row.startswith("+") and after:
            lines.append(Line("came", row[1:], after))
            after += 1
        elif row.startswith(" ") and after:
            lines.append(Line("same", row[1:], after))
            before, after = before + 1, after + 1
    return Difference(tuple(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES))
