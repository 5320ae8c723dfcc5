"""A workspace's files: one class reads them, and every write goes through it.

A write is: lock → re-read → compare → write rules → atomic replace. Rules are registered by the
apps whose files they guard; every opened workspace applies all of them.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jenny.workspace import atomic, journal, listing, locks, names, paths
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    NotText,
    PathRefused,
    VersionMismatch,
    WriteFailed,
    reason_of,
)
from jenny.workspace.listing import Entry
from jenny.workspace.paths import Place

READ_BYTES = 1_000_000
WRITE_BYTES = 32_000_000


class _Any:
    """The type of ``ANY``."""


ANY: Final = _Any()
"""For ``expect``: whatever is there may be replaced."""


@dataclass(frozen=True)
class Actor:
    """Who writes.

    ``kind``: ``chat`` (the assistant's tools), ``dream``, ``browser`` (a person in the pages),
    ``setup``, ``command`` (a person's command), ``restore``, ``outside``, or ``pipeline`` (the
    memory pipeline's own bookkeeping). ``run`` names what it happened in, e.g. ``turn:12``.
    """

    kind: str
    account: int | None = None
    run: str = ""


@dataclass(frozen=True)
class Change:
    """One file's change, before it lands. ``None``: there is no file before, or after."""

    path: str
    old: bytes | None
    new: bytes | None
    actor: Actor
    workspace: Path


@dataclass(frozen=True)
class FileVersion:
    """A file's content as it was read or written; ``version`` is its SHA-256 in hex."""

    path: str
    data: bytes = field(repr=False)
    version: str

    @property
    def text(self) -> str:
        """The content as text.

        Raises:
            NotText: it is not UTF-8.
        """
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{names.shown(self.path)} is not a text file (its bytes are not UTF-8)."
            raise NotText(message) from error


WriteRule = Callable[[Change], None]
_checking: dict[str, WriteRule] = {}
_acting: dict[str, WriteRule] = {}


def register_rule(rule: WriteRule, *, acts: bool = False) -> None:
    """Apply *rule* to every write of every workspace from now on.

    It raises ``WriteRefused`` to stop the write. Rules that do something first (``acts``) run when
    no other rule has refused, so that a refused write leaves nothing behind. Registering the same
    function again replaces it.
    """
    (_acting if acts else _checking)[f"{rule.__module__}.{rule.__qualname__}"] = rule


def open_workspace(root: Path, actor: Actor) -> "Workspace":
    """The workspace at *root*, opened for *actor*; an act cut short by a crash is settled first.

    Raises:
        FileMissing: there is no such folder.
    """
    real = paths.real_root(root)
    journal.settle_if_free(real)
    return Workspace(real, actor, alias=Path(os.path.abspath(root)))


def version_of(data: bytes) -> str:
    """The version of a file with this content: SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


class Workspace:
    """A workspace's folder, as one actor sees it. Made by ``open_workspace``."""

    def __init__(self, root: Path, actor: Actor, *, alias: Path | None = None) -> None:
        """*root* is the real folder, *alias* the name it was opened by."""
        self.root = root
        self.actor = actor
        self._alias = alias

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
            raise FileMissing(_missing(place))
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

    def read(self, path: str, *, limit: int = READ_BYTES) -> FileVersion:
        """The file's content, at most *limit* bytes.

        Raises:
            FileMissing: there is no such file.
            FileTooLarge: it has more bytes.
            PathRefused: see ``resolve``.
        """
        return _read(self._locate(path), limit)

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
        if isinstance(expect, _Any):
            return self._one(path, lambda _old: data, check=None) or _version(path, data)
        return self._one(path, lambda _old: data, check=lambda old: _expect(old, expect, path)) or (
            _version(path, data)
        )

    def delete(self, path: str, *, expect: str | _Any = ANY) -> None:
        """Remove the file, if it is there."""
        check = None if isinstance(expect, _Any) else lambda old: _expect(old, expect, path)
        self._one(path, lambda _old: None, check=check)

    def edit(self, path: str, change: Callable[[bytes | None], bytes | None]) -> FileVersion | None:
        """Read the file under the lock, and write what *change* makes of it (``None``: no file)."""
        return self._one(path, change, check=None)

    def write_many(
        self,
        files: Mapping[str, bytes | None],
        *,
        expect: Mapping[str, str | None] | None = None,
    ) -> dict[str, FileVersion | None]:
        """Write and remove several files as one act: all of them or none, also through a crash.

        They land in the order given (put where something moves to before where it comes from).

        Raises:
            VersionMismatch, WriteRefused, …: as ``write``; none of the files was written.
        """
        with journal.locked(self.root):
            changes = [self._change(path, data, expect or {}) for path, data in files.items()]
            if len({change.path for change, _ in changes}) < len(changes):
                message = "One file was named twice in one act. Nothing was written."
                raise PathRefused(message)
            self._apply_rules([change for change, _ in changes if change.old != change.new])
            steps = [
                journal.Step(place.parts, change.old, change.new)
                for change, place in changes
                if change.old != change.new
            ]
            journal.carry_out(self.root, steps)
            return {
                change.path: None if change.new is None else _version(change.path, change.new)
                for change, _ in changes
            }

    def _change(
        self, path: str, new: bytes | None, expect: Mapping[str, str | None]
    ) -> tuple[Change, Place]:
        """One file's part in an act of several, checked."""
        place = self._writable(path, new)
        old = _read(place, None).data if place.status is not None else None
        if path in expect:
            _expect(None if old is None else _version(place.relative, old), expect[path], path)
        return Change(place.relative, old, new, self.actor, self.root), place

    def _one(
        self,
        path: str,
        change: Callable[[bytes | None], bytes | None],
        *,
        check: Callable[[FileVersion | None], None] | None,
    ) -> FileVersion | None:
        """Change one file under the lock."""
        with journal.locked(self.root):
            place = self._writable(path, None)
            old = _read(place, None) if place.status is not None else None
            if check is not None:
                check(old)
            before = None if old is None else old.data
            new = change(before)
            if new == before:
                return old
            _check_size(place, new)
            self._apply_rules([Change(place.relative, before, new, self.actor, self.root)])
            _put(place, new)
            return None if new is None else _version(place.relative, new)

    def _apply_rules(self, changes: Sequence[Change]) -> None:
        """Ask every rule about every change; those that act come last."""
        for rule in [*_checking.values(), *_acting.values()]:
            for change in changes:
                rule(change)

    def _locate(self, path: str) -> Place:
        """The path behind the gate."""
        return paths.locate(self.root, path, alias=self._alias)

    def _writable(self, path: str, new: bytes | None) -> Place:
        """The path behind the gate, for writing."""
        place = self._locate(path)
        paths.check_writable(place)
        _check_size(place, new)
        return place


def _read(place: Place, limit: int | None) -> FileVersion:
    """Read the plain file at *place*."""
    with os.fdopen(paths.open_file(place), "rb") as file:
        data = file.read() if limit is None else file.read(limit + 1)
        size = os.fstat(file.fileno()).st_size
    if limit is not None and len(data) > limit:
        message = (
            f"{names.shown(place.relative)} has {size:,} bytes; at most {limit:,} are read at once."
        )
        raise FileTooLarge(message)
    return _version(place.relative, data)


def _put(place: Place, new: bytes | None) -> None:
    """Write or remove the plain file at *place*."""
    *folders, name = place.parts
    try:
        with paths.open_folder(place.root, tuple(folders), make=new is not None) as folder:
            if new is None:
                atomic.remove(folder, name)
            else:
                atomic.replace(folder, name, new)
    except OSError as error:
        message = (
            f"{names.shown(place.relative)} could not be written: {reason_of(error)}. "
            "It is as it was before."
        )
        raise WriteFailed(message) from error


def _version(path: str, data: bytes) -> FileVersion:
    """The value of a file's content."""
    return FileVersion(path, data, version_of(data))


def _missing(place: Place) -> str:
    """The sentence for a file that is not there."""
    meant = paths.hint(place)
    return f"There is no file {names.shown(place.relative)}." + (
        f" Did you mean {names.shown(meant)}?" if meant else ""
    )


def _check_size(place: Place, new: bytes | None) -> None:
    """Refuse to write more than a workspace's file may hold."""
    if new is not None and len(new) > WRITE_BYTES:
        message = (
            f"{names.shown(place.relative)} would have {len(new):,} bytes; a file here has at most "
            f"{WRITE_BYTES:,}. Nothing was written."
        )
        raise FileTooLarge(message)


def _expect(current: FileVersion | None, expect: str | None, path: str) -> None:
    """Refuse a write that is based on another version than the one that is there."""
    if (None if current is None else current.version) == expect:
        return
    if current is None:
        what = "has been removed since it was read"
    elif expect is None:
        what = "exists already"
    else:
        what = "has changed since it was read"
    message = f"{names.shown(path)} {what}. Nothing was written. Read it again first."
    raise VersionMismatch(message, current)
