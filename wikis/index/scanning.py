"""What lies in a wiki's folder now: every file with its stamp. Links are not followed."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from jenny.workspace import names as file_names
from wikis import pages
from wikis.pages import Wiki

type Stamp = tuple[int, int, int, int]

_stamp = attrgetter("st_ctime_ns", "st_mtime_ns", "st_size", "st_ino")
# What is scanned of a wiki: its pages, its sources, its log. What stands in ``audit/`` is read
# by ``wikis.feedback``.
FOLDERS = (pages.PAGES, pages.RAW, pages.LOG)
MOST_FILES = 50_000
DEEPEST = 24
# A file may change once more within a tick of the disk's clock without its stamp telling.
_TICK_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Scan:
    """Markdown files with their stamps (``None``: too young to be told by it), other files, and
    what was left out: names that cannot be shown, folders that cannot be read, too many files."""

    pages: dict[str, Stamp | None]
    files: frozenset[str]
    left_out: tuple[str, ...]


def scan(wiki: Wiki) -> Scan:
    """Look at every file."""
    found: dict[str, Stamp | None] = {}
    files: list[str] = []
    left_out: list[str] = []
    young = time.time_ns() - _TICK_NS
    for folder in FOLDERS:
        for path, status in _below(wiki.base.path, folder, left_out):
            if len(found) + len(files) >= MOST_FILES:
                left_out.append(f"There are more than {MOST_FILES:,} files; the rest is left out.")
                return Scan(found, frozenset(files), tuple(left_out))
            if not pages.is_page(path):
                files.append(path)
                continue
            stamp = _stamp(status)
            found[path] = stamp if stamp[0] < young else None
    return Scan(found, frozenset(files), tuple(left_out))


def _below(base: Path, top: str, left_out: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The plain files below a folder, each with its status."""
    pending = [top]
    while pending:
        folder = pending.pop()
        for entry in _entries(base, folder, left_out):
            path = f"{folder}/{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                if (status := _plain(entry)) is not None:
                    yield path, status
            elif path.count("/") < DEEPEST:
                pending.append(path)
            else:
                left_out.append(f"{file_names.shown(path)} lies too deep.")


def _entries(base: Path, folder: str, left_out: list[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, without hidden names and such as cannot be shown."""
    try:
        with os.scandir(base / folder) as entries:
            rows = [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        left_out.append(f"{file_names.shown(folder)} cannot be read: {error.strerror}.")
        return []
    odd = {
        entry.name: why
        for entry in rows
        if not entry.name.isascii() and (why := file_names.unusable(entry.name))
    }
    left_out += [f"{file_names.shown(f'{folder}/{name}')} {why}." for name, why in odd.items()]
    return [entry for entry in rows if entry.name not in odd]


def _plain(entry: os.DirEntry[str]) -> os.stat_result | None:
    """The status of a plain file; ``None`` for anything else, and for what went meanwhile."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None
