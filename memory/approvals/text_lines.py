"""Line operations on a file: positions and sections as hunks need them."""

from collections.abc import Iterator, Sequence

from jenny.workspace.texts import keep_line_ends, to_lf
from memory import facts


def lines_of(text: str) -> list[str]:
    """Split a text into lines without line ends and byte order mark."""
    lines = to_lf(text.removeprefix("\ufeff")).split("\n")
    return lines[:-1] if not lines[-1] else lines


def joined(lines: Sequence[str], like: str) -> str:
    """Join lines with the line ends that *like* uses."""
    had = lines_of(like)
    text = "\n".join(lines)
    is_open = bool(had) and not like.endswith("\n") and bool(lines) and lines[-1] == had[-1]
    if text and not is_open:
        text += "\n"
    text = keep_line_ends(text, like.removeprefix("\ufeff"))
    return f"\ufeff{text}" if like.startswith("\ufeff") else text


def line_at(lines: Sequence[str], at: int) -> str:
    """Return a line without trailing white space; empty outside the file."""
    return lines[at].rstrip() if 0 <= at < len(lines) else ""


def places(lines: Sequence[str], sought: Sequence[str]) -> list[int]:
    wanted = [line.rstrip() for line in sought]
    if not wanted:
        return []
    return [
        at
        for at in range(len(lines) - len(wanted) + 1)
        if lines[at].rstrip() == wanted[0]
        and all(lines[at + n].rstrip() == line for n, line in enumerate(wanted))
    ]


def nearest_line(lines: Sequence[str], sought: str, start: int, stop: int, at: int) -> int | None:
    """Find the nearest line with this content; ``None`` for empty content."""
    found = [
        number
        for number in range(max(start, 0), min(stop, len(lines)))
        if sought and lines[number].rstrip() == sought
    ]
    return min(found, key=lambda number: abs(number - at), default=None)


def blanks_above(lines: Sequence[str], at: int, most: int | None) -> int:
    """Count the empty lines above a line, up to the limit *most*."""
    count = 0
    while at - count - 1 > (most if most is not None else -1) and not lines[at - count - 1].strip():
        count += 1
    return count


def blanks_below(lines: Sequence[str], at: int) -> int:
    count = 0
    while at + 1 + count < len(lines) and not lines[at + 1 + count].strip():
        count += 1
    return count


def sections(lines: Sequence[str], title: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each section with that title; without a title, the part above all
    headings."""
    found = [fact for fact in facts.facts("\n".join(lines)) if fact.kind == "heading"]
    starts = [fact.first - 1 for fact in found]
    ends = [*starts[1:], len(lines)] if starts else []
    if not title:
        yield 0, starts[0] if starts else len(lines)
        return
    wanted = facts.normal(title)
    for fact, end in zip(found, ends, strict=True):
        if facts.normal(fact.text.strip("#").strip()) == wanted:
            yield fact.first, end


def own_heading(after: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the last of the leading headings and the lines below it."""
    title, rest = "", tuple(after)
    for number, line in enumerate(after):
        if not line.strip():
            continue
        row = next(iter(facts.facts(line)), None)
        if row is None or row.kind != "heading":
            break
        title, rest = row.text.strip("#").strip(), tuple(after[number + 1 :])
    return title, trimmed(rest) if title else rest


def trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without empty lines at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return tuple(lines[first:last])


def said(lines: Sequence[str]) -> set[str]:
    return {facts.normal(row.text) for row in facts.facts("\n".join(lines)) if row.has_content}
