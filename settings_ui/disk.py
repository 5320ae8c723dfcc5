"""How much room each part of the data takes, and how long it is kept."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A folder with more entries is measured in part: a page must not take long to open.
MOST_ENTRIES = 50_000


@dataclass(frozen=True, slots=True)
class Part:
    """What is stored, where, and for how long. ``size``: bytes; ``is_more``: at least that."""

    name: str
    kept: str
    size: int
    is_more: bool = False


def part(name: str, kept: str, paths: Iterable[Path], *, most: int = MOST_ENTRIES) -> Part:
    """A part that lies in those files and folders."""
    size, left = 0, most
    for path in paths:
        found, left = _measured(path, left)
        size += found
    return Part(name, kept, size, is_more=left <= 0)


def total(parts: Iterable[Part]) -> Part:
    """All of them together."""
    rows = list(parts)
    return Part("All", "", sum(row.size for row in rows), any(row.is_more for row in rows))


def _measured(path: Path, left: int) -> tuple[int, int]:
    """Bytes in a file or folder, and how many more entries may be looked at. Links are not
    followed; what cannot be read counts as nothing."""
    size = 0
    waiting = [str(path)]
    try:
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size, left - 1
    except OSError:
        return 0, left
    while waiting and left > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return size, left
