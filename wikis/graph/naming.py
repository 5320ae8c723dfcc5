"""Which names of a graph are written, and where."""

from collections.abc import Mapping
from itertools import islice

MOST_LABELS = 60
MOST_TRIED = 300
_ABOVE = 4


def named(rows: Mapping[str, tuple[int, int, int, int]], font: int) -> dict[str, int]:
    """The pages whose names are written, each with the line that its name stands on: the
    best-linked ones, above the dot or else below it, as far as no name lies on another.

    *rows*: place, size and length of the name, the most important first.
    """
    taken: list[tuple[int, int, float]] = []
    found: dict[str, int] = {}
    for path, (x, y, size, length) in islice(rows.items(), MOST_TRIED):
        half = length * font * 0.28
        for line in (y - size - _ABOVE, y + size + font):
            if all(
                abs(x - other_x) > half + other_half or abs(line - other_line) > font
                for other_x, other_line, other_half in taken
            ):
                taken.append((x, line, half))
                found[path] = line
                break
        if len(found) >= MOST_LABELS:
            break
    return found
