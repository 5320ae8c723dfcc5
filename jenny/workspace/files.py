"""Read, list and write a workspace's files: one class reads them, and every write uses it.

A write is: lock → re-read → compare → write rules → atomic replace.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal, cast

from jenny.workspace import (
    content,
    locks,
    names,
    paths,
    transaction_journal,
    transactions,
    write_rules,
)
from jenny.workspace.content import FileVersion, version_of
from jenny.workspace.errors import FileMissing, HardLinkRefused, PathRefused, WriteRefused
from jenny.workspace.paths import Place
from jenny.workspace.stat_signature import StatSignature, signature_of
from jenny.workspace.write_rules import Actor, Change, WriteRule, register_rule

# Top-level folders in which older versions and other programs keep data of their own.
_HIDDEN_FOLDERS = frozenset({"agent", "cron", "sessions", "ui"})

type EntryKind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class Entry:
    """An entry of a folder. ``size`` in bytes, ``modified`` in seconds since 1970 (UTC).

    ``other`` is a device, socket or pipe, which nothing reads. ``stamp`` differs when the content
    does, except between two changes within a tick of the disk's clock.
    """

    path: str
    kind: EntryKind
    size: int
    modified: float
    stamp: StatSignature = (0, 0, 0, 0)

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


def list_folder(place: Place) -> tuple[Entry, ...]:
    """List the folder at *place*, folders first, by name.

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


def walk_folder(place: Place) -> Iterator[Entry]:
    """Yield everything below the folder at *place*, a folder before its contents.

    Git's folders are left out, and so are unreadable folders.
    """
    pending = list(reversed(list_folder(place)))
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


def is_hidden(path: str) -> bool:
    """True when the browser leaves the path out of its lists outside developer mode.

    Hiding is no protection: the address of a hidden file still works.
    """
    first = path.partition("/")[0]
    if any(part.startswith(".") for part in path.split("/")):
        return True
    if names.is_settings(path):
        return True
    return names.folded(first) in _HIDDEN_FOLDERS


def _scan(folder: Path, relative: str) -> tuple[Entry, ...]:
    """List one folder, sorted; entries that vanish meanwhile are left out."""
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
            found.append(_entry(path, status))
    return tuple(sorted(found, key=lambda entry: (entry.kind != "folder", entry.name)))


def entry_at(root: Path, path: str) -> Entry | None:
    """Return the entry at exactly that path, not behind a link; ``None`` when there is none."""
    try:
        place = paths.locate(root, path)
    except PathRefused:
        return None
    if place.status is None or place.relative != path:
        return None
    return _entry(path, place.status)


def _entry(path: str, status: os.stat_result) -> Entry:
    kind = _kind(status.st_mode)
    return Entry(path, kind, status.st_size, status.st_mtime, signature_of(status))


def _kind(mode: int) -> EntryKind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"


__all__ = [
    "ANY",
    "Actor",
    "Change",
    "Entry",
    "FileVersion",
    "Workspace",
    "WriteRule",
    "open_workspace",
    "register_rule",
    "version_of",
]


class _Any:
    pass


ANY: Final = _Any()
"""For ``expect``: any current content may be replaced."""


def open_workspace(root: Path, actor: Actor, *, within: str = "") -> "Workspace":
    """Open the workspace at *root* for *actor*, after recovering interrupted transactions.

    *within*: the one folder of it (a path from the workspace) that the actor may read and write.

    Raises:
        FileMissing: there is no such folder.
    """
    real = paths.real_root(root)
    transactions.recover_if_free(real)
    return Workspace(real, actor, alias=root.absolute(), within=within)


class Workspace:
    """A workspace's folder, as one actor sees it. Made by ``open_workspace``."""

    def __init__(
        self, root: Path, actor: Actor, *, alias: Path | None = None, within: str = ""
    ) -> None:
        """*root* is the real folder, *alias* the name it was opened by.

        With *within*, paths may also be relative to that folder.
        """
        self.root = root
        self.actor = actor
        self.within = within
        self._alias = alias

    def as_actor(self, actor: Actor) -> "Workspace":
        return Workspace(self.root, actor, alias=self._alias, within=self.within)

    def resolve(self, path: str, *, must_exist: bool = False, writing: bool = False) -> Path:
        """Return the real, absolute path of *path*, which is inside the workspace.

        Raises:
            PathRefused: it leads out, or the name is invalid; with *writing* also what
                may not be written (hard links, folders, devices, clashing names).
            FileMissing: *must_exist*, and nothing is there.
        """
        place = self._locate(path)
        if writing:
            paths.check_writable(place)
        if must_exist and place.status is None:
            raise FileMissing(content.missing(place))
        return place.path

    def relative(self, path: Path | str) -> str:
        """Return the path from the workspace's folder, links resolved, separated by ``/``."""
        return self._locate(str(path)).relative

    def exists(self, path: str) -> bool:
        return self._locate(path).status is not None

    def read(self, path: str, *, limit: int = content.READ_BYTES) -> FileVersion:
        """Read the file, at most *limit* bytes.

        Raises:
            FileMissing: there is no such file.
            FileTooLarge: it has more bytes.
            PathRefused: see ``resolve``; for a model also a hard link, whose other name may lie
                outside the workspace.
        """
        place = self._locate(path)
        if not self.actor.is_model:
            return content.read_content(place, limit)
        try:
            return content.read_content(place, limit, only_name=True)
        except HardLinkRefused:
            # During a restore a file has a second hard link for a moment.
            with transactions.lock_workspace(self.root):
                return content.read_content(place, limit, only_name=True)

    def list(self, path: str = "") -> tuple[Entry, ...]:
        """List a folder, folders first, by name; without the workspace layer's own files."""
        return list_folder(self._locate(path))

    def walk(self, path: str = "") -> Iterator[Entry]:
        """Yield every entry below a folder, in order; links are listed but never followed."""
        return walk_folder(self._locate(path))

    def write(self, path: str, data: bytes, *, expect: str | _Any | None = ANY) -> FileVersion:
        """Replace or create the file.

        *expect*: the version the new content was based on; ``None``: there must be no file yet.

        Raises:
            VersionMismatch: another version is there; nothing was written.
            WriteRefused, PathRefused, FileTooLarge, LockTimeout, WriteFailed: nothing was written.
        """
        return cast("FileVersion", self._one(path, lambda _old: data, expect))

    def delete(self, path: str, *, expect: str | _Any = ANY) -> None:
        """Remove the file if it exists. *expect* and errors: as ``write``."""
        self._one(path, lambda _old: None, expect)

    def edit(self, path: str, change: Callable[[bytes | None], bytes | None]) -> FileVersion | None:
        """Read the file under the lock, and write the result of *change* (``None``: no file)."""
        return self._one(path, change, ANY)

    def write_many(
        self,
        files: Mapping[str, bytes | None],
        *,
        expect: Mapping[str, str | None] | None = None,
        first: Sequence[Change] = (),
    ) -> dict[str, FileVersion | None]:
        """Write and remove several files in one transaction: all of them or none.

        They are written in the given order (a move's target before its source), after other changes
        of the transaction (*first*). *expect* may name files that are not written but must be
        unchanged.

        Raises:
            VersionMismatch, WriteRefused, …: as ``write``; none of the files was written.
        """
        with self._locked(*files):
            planned = {path: self._change(path, data) for path, data in files.items()}
            for path, version in (expect or {}).items():
                content.expect_version(self._before(planned, path), version, path)
            every = list(planned.values())
            _refuse_overlap([names.folded(change.path) for change in every])
            changes = [row for row in (*first, *every) if row.old != row.new]
            write_rules.check_write(changes)
            extra = write_rules.companions(changes)
            write_rules.act(changes)
            transactions.commit_transaction(
                self.root,
                [*map(transaction_journal.step, extra), *map(transaction_journal.step, changes)],
            )
            return {row.path: _version_or_none(row) for row in every}

    def _change(self, path: str, new: bytes | None) -> Change:
        place = self._writable(path, new)
        old = self._current(place)
        before = None if old is None else old.data
        return Change(place.relative, before, new, self.actor, self.root)

    def _before(self, planned: Mapping[str, Change], path: str) -> FileVersion | None:
        """Return the content of *path* before a transaction, which need not change it."""
        if path not in planned:
            return self._current(self._locate(path))
        old = planned[path].old
        return None if old is None else content.version(path, old)

    def _current(self, place: Place) -> FileVersion | None:
        return None if place.status is None else content.read_content(place, None)

    def _one(
        self,
        path: str,
        change: Callable[[bytes | None], bytes | None],
        expect: str | _Any | None,
    ) -> FileVersion | None:
        """Change one file under the lock and return its content afterwards."""
        with self._locked(path):
            place = self._writable(path, None)
            old = self._current(place)
            if not isinstance(expect, _Any):
                content.expect_version(old, expect, path)
            before = None if old is None else old.data
            new = change(before)
            if new == before:
                return old
            content.check_size(place, new)
            wanted = Change(place.relative, before, new, self.actor, self.root)
            write_rules.check_write([wanted])
            extra = write_rules.companions([wanted])
            write_rules.act([wanted])
            if extra:
                transactions.commit_transaction(
                    self.root,
                    [*map(transaction_journal.step, extra), transaction_journal.step(wanted)],
                )
            else:
                content.write_content(place, new)
            return _version_or_none(wanted)

    @contextlib.contextmanager
    def _locked(self, *files: str) -> Iterator[None]:
        with (
            transactions.lock_workspace(self.root),
            locks.for_files(self.root, map(self.relative, files)),
        ):
            yield

    def _locate(self, path: str) -> Place:
        if not self.within:
            return paths.locate(self.root, path, alias=self._alias)
        return paths.locate_within(self.root, self.within, path, alias=self._alias)

    def _writable(self, path: str, new: bytes | None) -> Place:
        place = self._locate(path)
        paths.check_writable(place)
        if names.is_settings(place.relative):
            message = (
                f"{names.shown(place.relative)} is changed in Settings, which checks each value. "
                "Nothing was written."
            )
            refused = WriteRefused(message, "settings")
            write_rules.log_refusal(self.actor, refused)
            raise refused
        content.check_size(place, new)
        return place


def _version_or_none(change: Change) -> FileVersion | None:
    return None if change.new is None else content.version(change.path, change.new)


def _refuse_overlap(paths_of_act: Sequence[str]) -> None:
    """Refuse a transaction in which a path occurs twice or is a parent folder of another."""
    named = set(paths_of_act)
    if len(named) < len(paths_of_act):
        message = "One file was named twice in one act. Nothing was written."
        raise PathRefused(message)
    for path in named:
        if any(str(folder) in named for folder in PurePosixPath(path).parents):
            message = f"{names.shown(path)} lies in what is to be a file. Nothing was written."
            raise PathRefused(message)
