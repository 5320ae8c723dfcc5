"""The end of the history file: read backwards, and put right before anything is added.

What stands at the end without having been finished was never acknowledged: half a line, or a
group without its last parts. It is cut off, and kept in ``memory/.history.cut`` for whoever wants
to look.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import linefile
from jenny.workspace.linefile import GrowingLines, Lines
from jenny.workspace.rules import Actor
from memory.history.entries import Entry, is_whole, parse

CUT = "memory/.history.cut"
# Nobody needs more of what was never acknowledged.
_CUT_BYTES = 4_000_000
# What is read at once: little for the end, which is what most want, and more for all of it.
BLOCK = 4_096
_LARGE = 65_536


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, without its end; *start*: where it begins, in bytes."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Where it ends; the line feed is there, if anything is."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class Mended:
    """Whether the end was wrong, and the highest cursor in what was cut off: somebody may have
    seen it, so it is not given out again."""

    was_wrong: bool
    highest_cut: int


def is_ended(file: Lines) -> bool:
    """Whether the last line has its end (an empty file has no line)."""
    return not file.size or file.read(file.size - 1, file.size) == b"\n"


def lines_back(file: Lines) -> Iterator[Line]:
    """The lines from the last one to the first; an unended last one is a line too."""
    if not file.size:
        return
    position = file.size - is_ended(file)
    block, rest = BLOCK, b""
    while True:
        start = max(0, position - block)
        data = file.read(start, position) + rest
        if start and b"\n" not in data:
            # A line longer than a block: the blocks grow, so that it is not copied too often.
            position, rest, block = start, data, block * 2
            continue
        pieces = data.split(b"\n")
        end = start + len(data)
        for piece in reversed(pieces[1:] if start else pieces):
            yield Line(end - len(piece), piece)
            end -= len(piece) + 1
        if not start:
            return
        position, rest, block = start, pieces[0], min(block * 2, _LARGE)


def mend(root: Path, file: GrowingLines, actor: Actor, *, groups: bool = True) -> Mended:
    """Put the end right. The history lock is held.

    Without *groups* only half a line counts as unfinished.
    """
    was_wrong, highest = False, 0
    while file.size:
        if not is_ended(file):
            last = next(lines_back(file))
            was_wrong = True
            if is_whole(last.data):
                file.add(b"\n")
                continue
            highest = max(highest, _cut(root, file, last.start, actor))
            continue
        start = _unfinished(file) if groups else None
        if start is None:
            break
        was_wrong = True
        highest = max(highest, _cut(root, file, start, actor))
    return Mended(was_wrong, highest)


def unfinished_lines(file: Lines) -> int:
    """How many lines at the end a reader passes over, since they are not acknowledged yet."""
    if not file.size:
        return 0
    lines = lines_back(file)
    torn = 0
    if not is_ended(file) and not is_whole(next(lines).data):
        torn = 1
    # What stands before half a line may be the beginning of its group.
    group = _open_group(file, torn)
    return torn + len(group)


def _unfinished(file: Lines) -> int | None:
    """Where a group at the end begins that is not whole; ``None`` when all is well."""
    lines = _open_group(file, 0)
    return lines[-1].start if lines else None


def _open_group(file: Lines, skip: int) -> list[Line]:
    """The lines of a group at the end that is not whole, last one first; *skip* lines are not
    looked at. Lines within it that are no entries belong to it."""
    lines = lines_back(file)
    for _ in range(skip):
        next(lines)
    last = next(lines, None)
    # Most entries are whole by themselves: they need no second look.
    entry = parse(last.data) if last and b'"part"' in last.data else None
    if last is None or entry is None or entry.part is None:
        return []
    found, parts, of_group = [last], [entry.part], 1
    for line in lines:
        if len(found) >= max(entry.part[1], 1):
            break
        before = parse(line.data)
        if before is not None and before.group != entry.group:
            break
        found.append(line)
        if before is not None and before.part is not None:
            parts.append(before.part)
            of_group = len(found)
    if _is_whole_group(entry, parts) and of_group == len(parts):
        return []
    return found[:of_group]


def _is_whole_group(last: Entry, parts: list[tuple[int, int]]) -> bool:
    """Whether *parts*, last one first, are all that the group has."""
    total = last.part[1] if last.part else 0
    return parts == [(number, total) for number in range(total, 0, -1)]


def _cut(root: Path, file: GrowingLines, start: int, actor: Actor) -> int:
    """Cut the end off from *start* on; what is cut is kept aside first. Its highest cursor."""
    data = file.read(start, file.size)
    with linefile.open_growing(root, CUT, actor) as kept:
        if kept.size + len(data) <= _CUT_BYTES:
            kept.add(data if data.endswith(b"\n") else data + b"\n")
    file.cut(start)
    entries = (parse(line) for line in data.split(b"\n"))
    return max((entry.cursor for entry in entries if entry), default=0)
