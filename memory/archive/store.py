"""Reads the archive: lists, counts, and finds texts by id or words. Parsed files are cached until
they change."""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock

from jenny.agent.prompt import Block
from jenny.text_normalisation import fold
from jenny.workspace.file_cache import Kept
from jenny.workspace.stat_signature import StatSignature, is_racy, read_signature, signature_of
from memory.archive import file_format
from memory.archive.file_format import FOLDER, REWORDED, Archived, Event
from memory.facts import ID_DIGITS, digests

__all__ = ["Archived", "Event", "count", "find", "get", "listing", "search"]


_LARGEST = 40_000_000


@dataclass(frozen=True, slots=True)
class _Every:
    """All texts with their folded forms, and by date; valid while the stat signatures hold."""

    signatures: tuple[StatSignature, ...]
    rows: tuple[tuple[Archived, str], ...]
    listed: tuple[Archived, ...]


@dataclass(slots=True)
class _Known:
    signature: StatSignature | None = None
    names: tuple[str, ...] = ()
    ids: dict[str, str] = field(default_factory=dict)
    items: dict[str, tuple[StatSignature, Archived, str]] = field(default_factory=dict)
    every: "_Every | None" = None
    lock: Lock = field(default_factory=Lock)


_known: Kept[_Known] = Kept(8)


def names(root: Path) -> tuple[str, ...]:
    return _looked(root).names


def by_id(root: Path) -> Mapping[str, str]:
    """Map ids to the names of their files."""
    return _looked(root).ids


def _looked(root: Path) -> _Known:
    """Return the cached state after checking which files exist."""
    known = _of(root)
    folder = f"{root}/{FOLDER}"
    try:
        found = signature_of(os.lstat(folder))
    except OSError:
        found = None
    if known.signature == found and found is not None:
        return known
    was_racy = found is None or is_racy(found, time.time_ns())
    try:
        listed = set(os.listdir(folder)) if found else set()  # noqa: PTH208  (names are wanted)
    except OSError:
        listed = set()
    before = set(known.names)
    new = {name for name in listed - before if file_format.archive_name(name)}
    if new or before - listed:
        known.names = tuple(sorted((before & listed) | new))
        known.ids = {name[11:-3]: name for name in reversed(known.names)}
    known.signature = None if was_racy else found
    return known


def count(root: Path) -> int:
    return len(names(root))


def listing(root: Path) -> tuple[Archived, ...]:
    """List everything in the archive, what was removed last first."""
    return _all(root).listed


def removed(root: Path) -> tuple[Archived, ...]:
    """List like ``listing`` what is gone: no old wordings of lines that still say the same."""
    return tuple(row for row in _all(root).listed if not row.is_reworded)


def removed_by(root: Path, runs: Collection[str]) -> tuple[Archived, ...]:
    """List what these runs removed, without the old wordings of what they reworded."""
    return tuple(
        row
        for row in listing(root)
        if any(event.run in runs and event.reason != REWORDED for event in row.events)
    )


def find(root: Path, prefix: str) -> tuple[Archived, ...]:
    """Return the texts whose id begins like this, in any case; the id part of a file's name works
    too."""
    plain = prefix.strip().lower().removesuffix(".md")
    plain = plain.rpartition("/")[2]
    if file_format.archive_name(f"{plain}.md"):
        plain = plain[11:]
    if not plain:
        return ()
    chosen = [name for name in names(root) if name[11:].startswith(plain)]
    if not chosen and len(plain) >= ID_DIGITS:
        # A text that an earlier version archived has an id that was made differently.
        return tuple(
            row for row in listing(root) if any(one.startswith(plain) for one in digests(row.text))
        )
    return tuple(row for name in chosen if (row := _one(root, name)))


def get(root: Path, path: str) -> Archived | None:
    """Return the text in one file of the archive."""
    found = _one(root, path.rpartition("/")[2])
    return found if found is not None and found.path == path else None


def search(root: Path, words: str, *, most: int = 20) -> tuple[Archived, ...]:
    """Return texts that contain the *words*, without regard to case and normal form: those with
    most words first, then what was removed last."""
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
    """Read a file of the archive without following links; ``None`` when it cannot be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(f"{root}/{FOLDER}/{name}", flags), "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return None


def _all(root: Path) -> _Every:
    """Return every text. Only files that changed since the last call are read."""
    known = _of(root)
    there = names(root)
    with known.lock:
        signatures = _signatures(f"{root}/{FOLDER}", there)
        if known.every is not None and known.every.signatures == signatures:
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


def _look(root: Path, known: _Known, name: str) -> tuple[StatSignature, Archived, str] | None:
    found = read_signature(f"{root}/{FOLDER}/{name}")
    kept = known.items.get(name)
    if kept is not None and kept[0] == found:
        return kept
    if found is None:
        return None
    was_racy = is_racy(found, time.time_ns())
    data = raw(root, name)
    item = None if data is None else file_format.parse(name, data)
    if item is None:
        return None
    read = (found, item, fold(f"{item.text}\n{item.heading}\n{item.under}"))
    if not was_racy:
        known.items[name] = read
    return read


def _of(root: Path) -> _Known:
    found = _known.get(str(root))
    if found is None:
        found = _Known()
        _known.put(str(root), found)
    return found


def _signatures(folder: str, there: Sequence[str]) -> tuple[StatSignature, ...] | None:
    """Return the stat signatures of these files; ``None`` when one of them is gone."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    look = partial(os.stat, dir_fd=fd, follow_symlinks=False)
    try:
        return tuple(map(signature_of, map(look, there)))
    except OSError:
        return None
    finally:
        os.close(fd)


def block(root: Path) -> Block | None:
    """Say how many archived facts there are and how to reach them; ``None`` without any."""
    number = count(root)
    if not number:
        return None
    facts = "1 archived fact is" if number == 1 else f"{number:,} archived facts are"
    text = (
        f"## Archive\n\n{facts} kept: what once stood in the memory files. Look it up with recall, "
        "by words or by its id, before you say that you do not know."
    )
    return Block("archive", text, "# Memory", FOLDER)
