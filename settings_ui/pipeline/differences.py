"""What changed in a file, line by line below each other: what went, then what came."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from jenny.workspace.texts import SideRow, side_by_side

# Of a file that was replaced whole, so many lines are shown.
MOST_LINES = 400
MOST_CHARS = 500_000


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
