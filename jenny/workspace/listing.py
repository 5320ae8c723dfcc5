"""What lies in a workspace's folders. Links are named, never followed."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jenny.workspace import names
from jenny.workspace.errors import FileMissing, PathRefused
from jenny.workspace.paths import Place

type EntryKind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class Entry:
    """One thing in a folder. ``size`` in bytes, ``modified`` in seconds since 1970 (UTC).

    ``other`` is a device, socket or pipe, which nothing reads.
    """

    path: str
    kind: EntryKind
    size: int
    modified: float

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


def entries(place: Place) -> tuple[Entry, ...]:
    """What is in the folder at *place*, folders first, by name.

    Raises:
        FileMissing: there is no such folder.
        PathRefused: it is a file, or may not be read.
    """
    if place.status is None:
        message = f"There is no folder {names.shown(place.relative)}."
        raise FileMissing(message)
    if not place.is_folder:
        message = f"{names.shown(place.relative)} is a file, not a folder."
        raise PathRefused(message)
    try:
        return _scan(place.path, place.relative)
    except OSError as error:
        message = f"{names.shown(place.relative)} cannot be listed: no permission."
        raise PathRefused(message) from error


def walk(place: Place) -> Iterator[Entry]:
    """Everything below the folder at *place*, a folder before what is in it.

    Git's folders are left out, and so are folders that may not be read.
    """
    pending = list(reversed(entries(place)))
    while pending:
        entry = pending.pop()
        if names.is_git(entry.name):
            continue
        yield entry
        if entry.kind == "folder":
            try:
                pending.extend(reversed(_scan(place.root / entry.path, entry.path)))
            except OSError:
                continue


def _scan(folder: Path, relative: str) -> tuple[Entry, ...]:
    """The entries of one folder, sorted; what vanishes meanwhile is left out."""
    found: list[Entry] = []
    with os.scandir(folder) as items:
        for item in items:
            if names.is_own(item.name):
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except OSError:
                continue
            path = f"{relative}/{item.name}" if relative else item.name
            found.append(Entry(path, _kind(status.st_mode), status.st_size, status.st_mtime))
    return tuple(sorted(found, key=lambda entry: (entry.kind != "folder", entry.name)))


def _kind(mode: int) -> EntryKind:
    """What the mode bits say it is."""
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"
