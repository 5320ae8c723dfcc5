"""A workspace's files: one class reads them, and every write goes through it.

A write is: lock → re-read → compare → write rules → atomic replace.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, cast

from jenny.workspace import acts, content, journal, listing, locks, names, paths, rules
from jenny.workspace.content import FileVersion, version_of
from jenny.workspace.errors import FileMissing, PathRefused, WriteRefused
from jenny.workspace.listing import Entry
from jenny.workspace.paths import Place
from jenny.workspace.rules import Actor, Change, WriteRule, register_rule

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
    """The type of ``ANY``."""


ANY: Final = _Any()
"""For ``expect``: whatever is there may be replaced."""


def open_workspace(root: Path, actor: Actor, *, within: str = "") -> "Workspace":
    """The workspace at *root*, opened for *actor*; an act cut short by a crash is settled first.

    *within*: the one folder of it (a path from the workspace) that the actor may read and write.

    Raises:
        FileMissing: there is no such folder.
    """
    real = paths.real_root(root)
    acts.settle_if_free(real)
    return Workspace(real, actor, alias=root.absolute(), within=within)


class Workspace:
    """A workspace's folder, as one actor sees it. Made by ``open_workspace``."""

    def __init__(
        self, root: Path, actor: Actor, *, alias: Path | None = None, within: str = ""
    ) -> None:
        """*root* is the real folder, *alias* the name it was opened by. Of one that was opened
        *within* a folder, paths may also be written from that folder."""
        self.root = root
        self.actor = actor
        self.within = within
        self._alias = alias

    def as_actor(self, actor: Actor) -> "Workspace":
        """The same workspace, as another actor sees it."""
        return Workspace(self.root, actor, alias=self._alias, within=self.within)

    def resolve(self, path: str, *, must_exist: bool = False, writing: bool = False) -> Path:
        """The real, absolute path of *path*, which lies in the workspace.

        Raises:
            PathRefused: it leads out, or nothing may have this name; with *writing* also what
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
        """The path from the workspace's folder, links resolved, parted by ``/``."""
        return self._locate(str(path)).relative

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return self._locate(path).status is not None

    def stamp(self, path: str) -> paths.Stamp | None:
        """What changes when the file changes; ``None`` when there is none. For caches."""
        return paths.stamp(self._locate(path).path)

    def read(self, path: str, *, limit: int = content.READ_BYTES) -> FileVersion:
        """The file's content, at most *limit* bytes.

        Raises:
            FileMissing: there is no such file.
            FileTooLarge: it has more bytes.
            PathRefused: see ``resolve``.
        """
        return content.read(self._locate(path), limit)

    def list(self, path: str = "") -> tuple[Entry, ...]:
        """What is in a folder, folders first, by name; without the workspace layer's own files."""
        return listing.entries(self._locate(path))

    def walk(self, path: str = "") -> Iterator[Entry]:
        """Every entry below a folder, in order; links are named but never followed."""
        return listing.walk(self._locate(path))

    def write(self, path: str, data: bytes, *, expect: str | _Any | None = ANY) -> FileVersion:
        """Replace or make the file.

        *expect*: the version the new content was based on; ``None``: there must be no file yet.

        Raises:
            VersionMismatch: another version is there; nothing was written.
            WriteRefused, PathRefused, FileTooLarge, LockTimeout, WriteFailed: nothing was written.
        """
        return cast("FileVersion", self._one(path, lambda _old: data, expect))

    def delete(self, path: str, *, expect: str | _Any = ANY) -> None:
        """Remove the file, if it is there. *expect* and errors: as ``write``."""
        self._one(path, lambda _old: None, expect)

    def edit(self, path: str, change: Callable[[bytes | None], bytes | None]) -> FileVersion | None:
        """Read the file under the lock, and write what *change* makes of it (``None``: no file)."""
        return self._one(path, change, ANY)

    def write_many(
        self,
        files: Mapping[str, bytes | None],
        *,
        expect: Mapping[str, str | None] | None = None,
        first: Sequence[Change] = (),
    ) -> dict[str, FileVersion | None]:
        """Write and remove several files as one act: all of them or none, also through a crash.

        They land in the order given (put where something moves to before where it comes from),
        after the changes of others that belong to the act (*first*).
        *expect* may name files that are not written but must be as they were read.

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
            rules.ask(changes)
            extra = rules.companions(changes)
            rules.act(changes)
            acts.carry_out(self.root, [*map(journal.step, extra), *map(journal.step, changes)])
            return {row.path: _version_or_none(row) for row in every}

    def _change(self, path: str, new: bytes | None) -> Change:
        """One file's part in an act of several."""
        place = self._writable(path, new)
        old = self._current(place)
        before = None if old is None else old.data
        return Change(place.relative, before, new, self.actor, self.root)

    def _before(self, planned: Mapping[str, Change], path: str) -> FileVersion | None:
        """What is at *path* before an act, which may change it or only rest on it."""
        if path not in planned:
            return self._current(self._locate(path))
        old = planned[path].old
        return None if old is None else content.version(path, old)

    def _current(self, place: Place) -> FileVersion | None:
        """What is there now."""
        return None if place.status is None else content.read(place, None)

    def _one(
        self,
        path: str,
        change: Callable[[bytes | None], bytes | None],
        expect: str | _Any | None,
    ) -> FileVersion | None:
        """Change one file under the lock; what is there afterwards."""
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
            rules.ask([wanted])
            extra = rules.companions([wanted])
            rules.act([wanted])
            if extra:
                acts.carry_out(self.root, [*map(journal.step, extra), journal.step(wanted)])
            else:
                content.put(place, new)
            return _version_or_none(wanted)

    @contextlib.contextmanager
    def _locked(self, *files: str) -> Iterator[None]:
        """The locks that changing these files takes."""
        with acts.locked(self.root), locks.for_files(self.root, map(self.relative, files)):
            yield

    def _locate(self, path: str) -> Place:
        """The path behind the gate."""
        if not self.within:
            return paths.locate(self.root, path, alias=self._alias)
        return paths.locate_within(self.root, self.within, path, alias=self._alias)

    def _writable(self, path: str, new: bytes | None) -> Place:
        """The path behind the gate, for writing."""
        place = self._locate(path)
        paths.check_writable(place)
        if names.is_settings(place.relative):
            message = (
                f"{names.shown(place.relative)} is changed in Settings, which checks each value. "
                "Nothing was written."
            )
            raise WriteRefused(message, "settings")
        content.check_size(place, new)
        return place


def _version_or_none(change: Change) -> FileVersion | None:
    """What is there after the change."""
    return None if change.new is None else content.version(change.path, change.new)


def _refuse_overlap(paths_of_act: Sequence[str]) -> None:
    """Refuse an act in which two paths mean one file, or one is to be a folder of another."""
    named = set(paths_of_act)
    if len(named) < len(paths_of_act):
        message = "One file was named twice in one act. Nothing was written."
        raise PathRefused(message)
    for path in named:
        if any(str(folder) in named for folder in PurePosixPath(path).parents):
            message = f"{names.shown(path)} lies in what is to be a file. Nothing was written."
            raise PathRefused(message)
