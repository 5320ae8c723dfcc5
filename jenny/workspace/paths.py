"""Resolve paths inside a workspace; every access to a file goes through this module.

A path is resolved part by part from the workspace's real folder, links included, and must stay
inside by its parts (so ``workspace_evil`` beside ``workspace`` is outside). Files are then opened
through folder descriptors that follow no link, so that a link created after the check has no
effect.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.text_normalisation import canonical
from jenny.workspace import names
from jenny.workspace.errors import FileMissing, PathRefused

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# The real folders of workspaces, by the names they were opened by.
_REAL: dict[Path, tuple[Path, tuple[int, int]]] = {}


@dataclass(frozen=True)
class Place:
    """A resolved path: ``parts`` from the workspace's folder, no links among them."""

    root: Path
    parts: tuple[str, ...]
    status: os.stat_result | None  # None: there is no file

    @property
    def relative(self) -> str:
        """The path in the product's form: from the workspace, separated by ``/``."""
        return "/".join(self.parts)

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def is_folder(self) -> bool:
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)


def real_root(root: Path) -> Path:
    """Return the workspace's real folder; it may itself be reached by a link."""
    # Called in every turn. If both names still have the same folder, nothing was moved or relinked.
    known = _REAL.get(root)
    if known is not None and known[1] == _folder_at(root) == _folder_at(known[0], follow=False):
        return known[0]
    real = Path(os.path.realpath(root))
    found = _folder_at(real, follow=False)
    if found is None:
        message = f"There is no workspace folder at {real}."
        raise FileMissing(message)
    _REAL[root] = (real, found)
    return real


def _folder_at(path: Path, *, follow: bool = True) -> tuple[int, int] | None:
    """Return the device and inode of the folder at *path*; ``None``: there is none."""
    try:
        status = os.stat(path, follow_symlinks=follow)  # noqa: PTH116  (asked often)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def locate(root: Path, path: str, *, alias: Path | None = None) -> Place:
    """Resolve *path* inside *root* (a real folder; *alias*: the name it was opened by).

    Relative paths start in the workspace; an absolute one must lead into it.

    Raises:
        PathRefused: it leads out, or the name is invalid.
    """
    if why := names.unusable(path):
        raise PathRefused(_refusal(path, why))
    pending = list(reversed(_inside_parts(root, path, alias)))
    done: list[str] = []
    status: os.stat_result | None = None
    while pending:
        part = pending.pop()
        if part == "..":
            if not done:
                raise PathRefused(_refusal(path, "leads out of the workspace"))
            done.pop()
            continue
        done.append(part)
        status = _look(root, done, path)
        if status is None and (other := other_coding(root, done)):
            done[-1] = other
            status = _look(root, done, path)
        if status is None:
            if why := names.unfit(part):
                raise PathRefused(_refusal(path, why))
        elif stat.S_ISLNK(status.st_mode):
            done = _behind_link(root, done, path)
    if any(names.is_own(part) for part in done):
        raise PathRefused(_refusal(path, "belongs to Jenny's own bookkeeping"))
    return Place(root, tuple(done), _look(root, done, path))


def locate_within(root: Path, within: str, path: str, *, alias: Path | None = None) -> Place:
    """Resolve *path* like ``locate``, but only inside the folder *within*, links resolved.

    *path* is relative to the workspace's folder or to that one.

    Raises:
        PathRefused: as ``locate``, or it leads out of the folder.
    """
    base = locate(root, within)
    is_named = any(f"{path}/".startswith(f"{one}/") for one in (within, base.relative))
    if not is_named and not path.startswith("/"):
        path = within if path in ("", ".") else f"{within}/{path}"
    place = locate(root, path, alias=alias)
    if place.parts[: len(base.parts)] != base.parts:
        why = f"lies outside {names.shown(within)}, and nothing else can be reached here"
        raise PathRefused(_refusal(path, why))
    return place


def check_writable(place: Place) -> None:
    """Refuse a path that may not be written.

    Raises:
        PathRefused: it is not a plain file, or a hard link, git's own, or its name clashes
            with one that other systems hold to be the same.
    """
    path, status = place.relative, place.status
    if not place.parts:
        raise PathRefused(_refusal(".", "is the workspace's folder itself"))
    if any(names.is_git(part) for part in place.parts):
        raise PathRefused(_refusal(path, "lies in a git folder, which only git writes"))
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise PathRefused(_refusal(path, "is a folder"))
        if not stat.S_ISREG(status.st_mode):
            raise PathRefused(_refusal(path, "is no plain file"))
        if status.st_nlink > 1:
            raise PathRefused(
                _refusal(path, "is a hard link: the same file has a name elsewhere", "Copy it.")
            )
        return
    _check_new(place)


def _check_new(place: Place) -> None:
    """Refuse to create a file whose name clashes with an existing one."""
    path, folder = place.relative, place.root
    for part in place.parts:
        if twin := _twin(folder, part):
            why = f"differs only in case or look-alike signs from {names.shown(twin)}, which exists"
            raise PathRefused(_refusal(path, why, f"Use {names.shown(twin)}, or another name."))
        folder /= part
        if not folder.exists():
            return
        if not folder.is_dir():
            raise PathRefused(_refusal(path, f"goes through {names.shown(part)}, which is a file"))


def hint(place: Place) -> str:
    """Return the name that was probably meant beside a missing file, or ""."""
    folder = place.root.joinpath(*place.parts[:-1])
    return (_twin(folder, place.parts[-1]) or "") if place.parts and folder.is_dir() else ""


@contextlib.contextmanager
def open_folder(root: Path, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
    """Open the folder at *parts* without following any link, and yield its descriptor.

    *make*: missing folders are created, durably.
    """
    try:  # mostly it is a folder directly in the root, which need not be opened first
        fd, rest = os.open(f"{root}/{parts[0]}", _FOLDER), parts[1:]
    except (IndexError, FileNotFoundError):
        fd, rest = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), parts
    try:
        for part in rest:
            inner = _inner(fd, part, make=make)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _inner(folder: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):  # another process made it just now
        os.mkdir(part, dir_fd=folder)
        os.fsync(folder)
    return os.open(part, _FOLDER, dir_fd=folder)


def open_file(place: Place) -> int:
    """Open the plain file at *place* for reading, without following links.

    Raises:
        FileMissing: nothing is there.
        PathRefused: it is not a plain file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if not place.parts or place.is_folder:
        raise PathRefused(_refusal(place.relative or ".", "is a folder"))
    try:
        with open_folder(place.root, place.parts[:-1]) as folder:
            fd = os.open(place.parts[-1], flags, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError) as error:
        meant = hint(place)
        did_you_mean = f" Did you mean {names.shown(meant)}?" if meant else ""
        message = f"There is no file {names.shown(place.relative)}.{did_you_mean}"
        raise FileMissing(message) from error
    except OSError as error:
        raise PathRefused(_refusal(place.relative, "cannot be opened")) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise PathRefused(_refusal(place.relative, "is no plain file"))
    return fd


def checked_parts(parts: object) -> tuple[str, ...]:
    """Return stored parts if they can be a path inside a workspace.

    Raises:
        PathRefused: they cannot be.
    """
    if isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts):
        plain = [part for part in parts if part not in ("", ".", "..") and "/" not in part]
        if plain == parts and not names.unusable("/".join(parts)):
            return tuple(parts)
    raise PathRefused(_refusal(str(parts), "is no path"))


def _inside_parts(root: Path, path: str, alias: Path | None) -> list[str]:
    """Return the path's parts from the workspace, before links are resolved."""
    if path.startswith("/"):
        for start in (root, alias):
            if start is not None and Path(path).parts[: len(start.parts)] == start.parts:
                return list(Path(path).parts[len(start.parts) :])
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(root):
            raise PathRefused(_refusal(path, "leads out of the workspace"))
        return list(real.parts[len(root.parts) :])
    return [part for part in path.split("/") if part not in ("", ".")]


def _behind_link(root: Path, parts: list[str], path: str) -> list[str]:
    """Return the parts of a link's target, which must be inside the workspace too."""
    real = Path(os.path.realpath(root.joinpath(*parts)))
    if not real.is_relative_to(root):
        raise PathRefused(_refusal(path, "is a link that leads out of the workspace"))
    if real.is_symlink():
        raise PathRefused(_refusal(path, "is a link that leads in a circle"))
    return list(real.parts[len(root.parts) :])


def _look(root: Path, parts: list[str], asked: str) -> os.stat_result | None:
    """Return the status at *parts*, links not followed; ``None`` when nothing is there."""
    try:
        return os.lstat("/".join((str(root), *parts)))  # called often: no Path object is made
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(_refusal(asked, "cannot be looked at: no permission")) from error


def _twin(folder: Path, name: str) -> str | None:
    """Find a name in *folder* that is not *name* but looks the same or differs only in case."""
    want = names.look_alike(name)
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries]
    except OSError:
        return None
    if name in found:
        return None
    return next((other for other in found if names.look_alike(other) == want), None)


def other_coding(root: Path, parts: Sequence[str]) -> str:
    """Find the name that differs from the last part only in Unicode normalisation (NFC, NFD).

    Empty when there is none.
    """
    if parts[-1].isascii():
        return ""
    want = canonical(parts[-1])
    try:
        with os.scandir("/".join((str(root), *parts[:-1]))) as entries:
            return next((entry.name for entry in entries if canonical(entry.name) == want), "")
    except OSError:
        return ""


def _refusal(path: str, why: str, cure: str = "") -> str:
    return f"{names.shown(path)} {why}. Nothing was read or written. {cure}".strip()
