"""Disk space used by each part of the data, and how long the data is kept."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# A larger folder is measured in part, since the page must not take long to open.
MOST_ENTRIES = 50_000


@dataclass(frozen=True, slots=True)
class Part:
    """A kind of stored data with its place and retention. ``size`` is in bytes, a lower bound
    with ``is_more``."""

    name: str
    kept: str
    size: int
    is_more: bool = False


def part(name: str, kept: str, paths: Iterable[Path], *, most: int = MOST_ENTRIES) -> Part:
    """Measure the files and folders of one part."""
    size, left = 0, most
    for path in paths:
        found, left = _measured(path, left)
        size += found
    return Part(name, kept, size, is_more=left <= 0)


def total(parts: Iterable[Part]) -> Part:
    rows = list(parts)
    return Part("All", "", sum(row.size for row in rows), any(row.is_more for row in rows))


def _measured(path: Path, left: int) -> tuple[int, int]:
    """Return bytes and remaining entries to look at. Links are not followed; unreadable entries
    count 0."""
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
