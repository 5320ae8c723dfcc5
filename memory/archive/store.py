"""The archive read: listed, counted, found by id or words. What was read once stays known until
its file changes."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Lock

from jenny.workspace.stamped import Kept
from memory.archive import form
from memory.archive.form import FOLDER, Archived, Event
from memory.facts import fold

__all__ = ["Archived", "Event", "count", "find", "get", "listing", "search"]

type _Stamp = tuple[int, int, int]

_TICK_NS = 50_000_000
_LARGEST = 40_000_000


@dataclass(frozen=True, slots=True)
class _Every:
    """All texts with their folded forms, and by date; for as long as the stamps stand."""

    stamps: tuple[_Stamp, ...]
    rows: tuple[tuple[Archived, str], ...]
    listed: tuple[Archived, ...]


@dataclass(slots=True)
class _Known:
    """What the last look found."""

    stamp: _Stamp | None = None
    names: tuple[str, ...] = ()
    ids: dict[str, str] = field(default_factory=dict)
    items: dict[str, tuple[_Stamp, Archived, str]] = field(default_factory=dict)
    every: "_Every | None" = None
    lock: Lock = field(default_factory=Lock)


_known: Kept[_Known] = Kept(8)


def names(root: Path) -> tuple[str, ...]:
    """The names of the archive's files, oldest first."""
    return _looked(root).names


def by_id(root: Path) -> Mapping[str, str]:
    """The name of the file that has an id."""
    return _looked(root).ids


def _looked(root: Path) -> _Known:
    """What is known, after a look at which files there are."""
    known = _of(root)
    folder = f"{root}/{FOLDER}"
    stamp = _stamp(folder)
    if known.stamp == stamp and stamp is not None:
        return known
    try:
        listed = set(os.listdir(folder)) if stamp else set()  # noqa: PTH208  (names are wanted)
    except OSError:
        listed = set()
    before = set(known.names)
    new = {name for name in listed - before if form.named(name)}
    if new or before - listed:
        known.names = tuple(sorted((before & listed) | new))
        known.ids = {name[11:-3]: name for name in reversed(known.names)}
    is_settled = stamp is not None and stamp[0] <= time.time_ns() - _TICK_NS
    known.stamp = stamp if is_settled else None
    return known


def count(root: Path) -> int:
    """How many texts the archive holds."""
    return len(names(root))


def listing(root: Path) -> tuple[Archived, ...]:
    """Everything in the archive, what left last first."""
    return _all(root).listed


def find(root: Path, prefix: str) -> tuple[Archived, ...]:
    """The texts whose id begins like this (in any case; the id of a name is fine too)."""
    plain = prefix.strip().lower().removesuffix(".md")
    plain = plain.rpartition("/")[2]
    if form.named(f"{plain}.md"):
        plain = plain[11:]
    if not plain:
        return ()
    chosen = [name for name in names(root) if name[11:].startswith(plain)]
    return tuple(row for name in chosen if (row := _one(root, name)))


def get(root: Path, path: str) -> Archived | None:
    """The text in one file of the archive."""
    found = _one(root, path.rpartition("/")[2])
    return found if found is not None and found.path == path else None


def search(root: Path, words: str, *, most: int = 20) -> tuple[Archived, ...]:
    """The texts in which the *words* stand, case and coding apart: those with most of them first,
    then what left last."""
    sought = list(dict.fromkeys(fold(words).split()))
    if not sought:
        return ()
    scored = []
    for row, folded in _all(root).rows:
        score = sum(word in folded for word in sought)
        if score:
            scored.append((score, row.date, row.path, row))
    best = max((row[0] for row in scored), default=0)
    floor = best if best == len(sought) else max(1, (len(sought) + 1) // 2)
    chosen = sorted((row for row in scored if row[0] >= floor), key=lambda row: row[:3])
    return tuple(row[3] for row in chosen[::-1][:most])


def raw(root: Path, name: str) -> bytes | None:
    """The bytes of a file of the archive, no link followed; ``None``: it cannot be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(f"{root}/{FOLDER}/{name}", flags), "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return None


def _all(root: Path) -> _Every:
    """Every text. All files are looked at, those that changed since the last look are read."""
    known = _of(root)
    there = names(root)
    with known.lock:
        stamps = _stamps(f"{root}/{FOLDER}", there)
        if known.every is not None and known.every.stamps == stamps:
            return known.every
        for gone in known.items.keys() - set(there):
            del known.items[gone]
        found = [row for name in there if (row := _look(root, known, name)) is not None]
        rows = tuple((item, folded) for _, item, folded in found)
        newest_first = sorted((row[1] for row in found), key=_by_date, reverse=True)
        every = _Every(tuple(row[0] for row in found), rows, tuple(newest_first))
        known.every = every if len(known.items) == len(there) else None
    return every


def _by_date(item: Archived) -> tuple[str, str]:
    return item.date, item.path


def _one(root: Path, name: str) -> Archived | None:
    known = _of(root)
    with known.lock:
        found = _look(root, known, name)
    return found[1] if found else None


def _look(root: Path, known: _Known, name: str) -> tuple[_Stamp, Archived, str] | None:
    stamp = _stamp(f"{root}/{FOLDER}/{name}")
    kept = known.items.get(name)
    if kept is not None and kept[0] == stamp:
        return kept
    data = raw(root, name)
    item = None if data is None or stamp is None else form.parse(name, data)
    if item is None or stamp is None:
        return None
    found = (stamp, item, fold(f"{item.text}\n{item.heading}\n{item.under}"))
    if stamp[0] <= time.time_ns() - _TICK_NS:
        known.items[name] = found
    return found


def _of(root: Path) -> _Known:
    found = _known.get(str(root))
    if found is None:
        found = _Known()
        _known.put(str(root), found)
    return found


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return _stamp_of(status)


def _stamps(folder: str, there: Sequence[str]) -> tuple[_Stamp, ...] | None:
    """The stamps of these files of a folder; ``None`` when one of them is gone."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    look = partial(os.stat, dir_fd=fd, follow_symlinks=False)
    try:
        return tuple(map(_stamp_of, map(look, there)))
    except OSError:
        return None
    finally:
        os.close(fd)


_stamp_of: Callable[[os.stat_result], _Stamp] = attrgetter("st_ctime_ns", "st_size", "st_ino")
