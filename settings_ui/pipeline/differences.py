"""What changed in a file, line by line below each other: what went, then what came."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from jenny.workspace.texts import SideRow, side_by_side

# Of a file that was replaced whole, so many lines are shown.
MOST_LINES = 400
MOST_CHARS = 500_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the difference. *number*: where it stands, before for what went, else after."""

    kind: Literal["same", "went", "came", "gap"]
    text: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines; *left_out*: how many more there are; *is_text*: whether both sides are text."""

    lines: tuple[Line, ...] = ()
    left_out: int = 0
    is_text: bool = True


def difference(old: bytes | None, new: bytes | None) -> Difference:
    """How *old* became *new*; ``None`` is no file."""
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return Difference(is_text=False)
    lines = tuple(_below(side_by_side(before, after)))
    if not any(line.kind in {"went", "came"} for line in lines):
        return Difference()
    return Difference(lines[:MOST_LINES], max(0, len(lines) - MOST_LINES))


def _below(rows: Iterable[SideRow]) -> Iterator[Line]:
    went: list[Line] = []
    came: list[Line] = []
    for row in rows:
        if row.kind == "changed":
            if row.left is not None:
                went.append(Line("went", row.left, row.left_number))
            if row.right is not None:
                came.append(Line("came", row.right, row.right_number))
            continue
        yield from (*went, *came)
        went, came = [], []
        yield Line("gap") if row.kind == "gap" else Line("same", row.right or "", row.right_number)
    yield from (*went, *came)


def _text(data: bytes | None) -> str | None:
    try:
        return (data or b"").decode("utf-8")[:MOST_CHARS]
    except UnicodeDecodeError:
        return None


def read_unified(text: str) -> Difference:
    """A unified difference of one file, as lines."""
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
