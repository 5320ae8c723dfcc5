"""The end of the history file: read backwards, and repaired before anything is added.

Unfinished data at the end was never acknowledged: half a line, or a group without its last parts.
It is cut off and kept in ``memory/.history.cut``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import line_files
from jenny.workspace.line_files import GrowingLines, Lines
from jenny.workspace.write_rules import Actor
from memory.history.entries import HistoryEntry, is_whole, parse_entry

CUT = "memory/.history.cut"
# Size limit of the file with cut data.
_CUT_BYTES = 4_000_000
# The first block is small, since most readers want the end only; blocks grow.
BLOCK = 4_096
_LARGE = 65_536


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file without its end; *start* is its offset in bytes."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        """The offset of its end, where the line feed is, if there is one."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class Mended:
    """Result of a repair: whether the end was wrong, and the highest cursor cut off, which is not
    given out again because somebody may have seen it."""

    was_wrong: bool
    highest_cut: int


def is_ended(file: Lines) -> bool:
    """True when the last line is terminated, and for an empty file."""
    return not file.size or file.read(file.size - 1, file.size) == b"\n"


def lines_back(file: Lines) -> Iterator[Line]:
    """Yield the lines from last to first, with an unterminated last one."""
    if not file.size:
        return
    position = file.size - is_ended(file)
    block, rest = BLOCK, b""
    while True:
        start = max(0, position - block)
        data = file.read(start, position) + rest
        if start and b"\n" not in data:
            # Blocks grow, so that a long line is not copied too often.
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
    """Repair the end under the history lock.

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
    """Return how many lines at the end are not acknowledged yet; readers skip them."""
    if not file.size:
        return 0
    lines = lines_back(file)
    torn = 0
    if not is_ended(file) and not is_whole(next(lines).data):
        torn = 1
    # The lines before half a line may begin its group.
    group = _open_group(file, torn)
    return torn + len(group)


def _unfinished(file: Lines) -> int | None:
    """Return the offset at which an incomplete group at the end begins; ``None`` without one."""
    lines = _open_group(file, 0)
    return lines[-1].start if lines else None


def _open_group(file: Lines, skip: int) -> list[Line]:
    """Return the lines of an incomplete group at the end, last one first, without the last *skip*
    lines. Lines in it that are no entries belong to it."""
    lines = lines_back(file)
    for _ in range(skip):
        next(lines)
    last = next(lines, None)
    # Most entries are complete by themselves and need no second look.
    entry = parse_entry(last.data) if last and b'"part"' in last.data else None
    if last is None or entry is None or entry.part is None:
        return []
    found, parts, of_group = [last], [entry.part], 1
    for line in lines:
        if len(found) >= max(entry.part[1], 1):
            break
        before = parse_entry(line.data)
        if before is not None and before.group != entry.group:
            break
        found.append(line)
        if before is not None and before.part is not None:
            parts.append(before.part)
            of_group = len(found)
    if _is_whole_group(entry, parts) and of_group == len(parts):
        return []
    return found[:of_group]


def _is_whole_group(last: HistoryEntry, parts: list[tuple[int, int]]) -> bool:
    """True when *parts*, last one first, are all parts of the group."""
    total = last.part[1] if last.part else 0
    return parts == [(number, total) for number in range(total, 0, -1)]


def _cut(root: Path, file: GrowingLines, start: int, actor: Actor) -> int:
    """Cut the end off from *start*, store it aside first, and return its highest cursor."""
    data = file.read(start, file.size)
    with line_files.open_growing(root, CUT, actor) as kept:
        if kept.size + len(data) <= _CUT_BYTES:
            kept.add(data if data.endswith(b"\n") else data + b"\n")
    file.cut(start)
    entries = (parse_entry(line) for line in data.split(b"\n"))
    return max((entry.cursor for entry in entries if entry), default=0)
