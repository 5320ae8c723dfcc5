"""Text as a browser's form sends it, and two texts beside each other."""

from dataclasses import dataclass
from typing import Literal

from jenny.workspace import diffs

BOM = "\ufeff"
SIDE_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row of two texts beside each other; ``None``: that side has no such line."""

    kind: Literal["same", "changed", "gap"]
    left_number: int | None = None
    left: str | None = None
    right_number: int | None = None
    right: str | None = None


def normalised(text: str, old: bytes | None) -> bytes:
    """The bytes to write for what a form sent: lines end like Unix's, a byte order mark stays if
    the file had one, lone surrogates become question marks."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix(BOM)
    mark = BOM if old is not None and old.startswith(BOM.encode()) else ""
    return (mark + plain).encode("utf-8", "replace")


def is_same(text: str, old: bytes | None) -> bool:
    """Whether saving *text* would change nothing but line ends."""
    if old is None:
        return False
    try:
        before = old.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return normalised(before, old) == normalised(text, old)


def side_by_side(left: str, right: str, *, context: int = 3) -> list[SideRow]:
    """Both texts line by line, equal stretches shortened to *context* lines around changes."""
    old, new = left.splitlines(), right.splitlines()
    rows: list[SideRow] = []
    for tag, i1, i2, j1, j2 in diffs.opcodes(old, new):
        if tag == "equal":
            _same(rows, old, (i1, i2), j1, context=context, ends=(len(old), len(new), j2))
            continue
        for step in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + step, j1 + step
            has_left, has_right = i < i2, j < j2
            rows.append(
                SideRow(
                    "changed",
                    i + 1 if has_left else None,
                    old[i] if has_left else None,
                    j + 1 if has_right else None,
                    new[j] if has_right else None,
                )
            )
    return rows[:SIDE_ROWS]


def _same(
    rows: list[SideRow],
    old: list[str],
    span: tuple[int, int],
    j1: int,
    *,
    context: int,
    ends: tuple[int, int, int],
) -> None:
    """Add an equal stretch: all of a short one, the edges of a long one."""
    i1, i2 = span
    at_start, at_end = i1 == 0 and j1 == 0, i2 == ends[0] and ends[2] == ends[1]
    first = 0 if at_start else context
    last = 0 if at_end else context
    offset = j1 - i1
    if i2 - i1 <= first + last + 1:
        rows += [SideRow("same", i + 1, old[i], i + offset + 1, old[i]) for i in range(i1, i2)]
        return
    rows += [SideRow("same", i + 1, old[i], i + offset + 1, old[i]) for i in range(i1, i1 + first)]
    rows.append(SideRow("gap"))
    rows += [SideRow("same", i + 1, old[i], i + offset + 1, old[i]) for i in range(i2 - last, i2)]
