"""Whole files and folders: moving, copying, uploading. Every file in them is put to the write rules.

What moves keeps its bytes, so nothing is read into memory that the rules do not ask about. A name
that is a link stands for the link itself here, never for what it leads to.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from jenny.workspace import acts, atomic, content, names, paths, rules
from jenny.workspace.errors import FileMissing, FileTooLarge, PathRefused, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.paths import Place
from jenny.workspace.rules import Change
from jenny.workspace.versions import tracked

CHUNK_BYTES = 1_000_000
# So many entries are moved, copied or thrown away at once; more is rather a mistake.
MOST_ENTRIES = 200_000


def itself(root: Path, path: str) -> Place:
    """The place of *path*, whose last part is not followed where it is a link.

    Raises:
        PathRefused: it leads out, is the workspace's folder, or belongs to Jenny or to git.
        FileMissing: nothing is there.
    """
    plain = path.rstrip("/")
    head, _, name = plain.rpartition("/")
    if name in ("", ".", ".."):
        raise PathRefused(f"{names.shown(path)} names no file or folder. Nothing was changed.")
    if why := names.unusable(plain):
        raise PathRefused(f"{names.shown(path)} {why}. Nothing was changed.")
    folder = paths.locate(root, head)
    place = Place(root, (*folder.parts, name), _status(folder.path / name))
    _refuse_own(place)
    if place.status is None:
        raise FileMissing(content.missing(place))
    return place


def move(workspace: Workspace, source: str, target: str) -> str:
    """Move (or rename) a file, folder or link; where it is now, from the workspace's folder.

    Raises:
        PathRefused: something is at *target* already, or it lies in *source*, or may not be named
            so. Nothing was changed, as in every case below.
        WriteRefused, FileMissing, FileTooLarge, LockTimeout, WriteFailed: as for any write.
    """
    root = workspace.root
    with acts.locked(root):
        old = itself(root, source)
        new = _free_place(root, target, old)
        put_to_rules(workspace, old, new)
        try:
            _rename(old, new)
        except OSError as error:
            raise WriteFailed(_failed(old, "moved", error)) from error
    return new.relative


def copy(workspace: Workspace, source: str, target: str) -> str:
    """Copy a file or folder; links in it stay links. Where the copy is; errors as ``move``."""
    root = workspace.root
    old = itself(root, source)
    if _is_link(old):
        raise PathRefused(f"{names.shown(old.relative)} is a link; links are not copied.")
    new = _free_place(root, target, old)
    temp = ""
    try:
        with paths.open_folder(root, new.parts[:-1], make=True) as folder:
            temp = atomic.temp_name()
            beside = root.joinpath(*new.parts[:-1], temp)
            _copy_tree(old.path, beside)
            with acts.locked(root):
                new = _free_place(root, target, old)
                put_to_rules(
                    workspace,
                    Place(root, (*new.parts[:-1], temp), beside.lstat()),
                    new,
                    is_new=True,
                )
                atomic.land(folder, temp, new.parts[-1])
                temp = ""
    except OSError as error:
        raise WriteFailed(_failed(old, "copied", error)) from error
    finally:
        if temp:
            _discard(root.joinpath(*new.parts[:-1], temp))
    return new.relative


def upload(workspace: Workspace, path: str, stream: BinaryIO, *, limit: int) -> str:
    """Put a new file of any size (up to *limit* bytes) there, wholly or not at all; where it is.

    Raises:
        PathRefused: something is there already, or the name cannot be.
        FileTooLarge: it has more bytes. Other errors as for any write.
    """
    root = workspace.root
    place = _free_place(root, path, None)
    temp = ""
    try:
        with paths.open_folder(root, place.parts[:-1], make=True) as folder:
            temp = _stage_stream(folder, stream, limit, place)
            with acts.locked(root):
                place = _free_place(root, path, None)
                beside = Place(root, (*place.parts[:-1], temp), _status(place.path.parent / temp))
                put_to_rules(workspace, beside, place, is_new=True)
                atomic.land(folder, temp, place.parts[-1])
                temp = ""
    except OSError as error:
        raise WriteFailed(_failed(place, "stored", error)) from error
    finally:
        if temp:
            _discard(root.joinpath(*place.parts[:-1], temp))
    return place.relative


def make_folder(workspace: Workspace, path: str) -> str:
    """Make an empty folder; where it is. Errors as ``move``."""
    root = workspace.root
    with acts.locked(root):
        place = _free_place(root, path, None)
        try:
            with paths.open_folder(root, place.parts, make=True):
                pass
        except OSError as error:
            raise WriteFailed(_failed(place, "made", error)) from error
    return place.relative


def free_name(root: Path, path: str) -> str:
    """*path*, or the first of ``name (2).txt``, ``name (3).txt`` … that nothing has."""
    head, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    candidate, number = path, 1
    while (place := paths.locate(root, candidate)).status is not None or paths.hint(place):
        number += 1
        candidate = f"{head}{slash}{stem} ({number}){dot}{suffix}"
    return candidate


def put_to_rules(
    workspace: Workspace, old: Place, new: Place | None, *, is_new: bool = False
) -> None:
    """Put every file below *old* to the write rules: it leaves (unless *is_new*), and comes to be
    below *new* (``None``: nowhere). The workspace lock is held.

    Raises:
        WriteRefused: a rule said no to one of them.
        FileTooLarge: a file that rules watch is too large for them.
    """
    for act in (rules.ask, rules.act):
        for file, path in _files(old):
            data = _for_rules(file, path, new)
            changes = []
            if not is_new:
                changes.append(
                    Change("/".join((*old.parts, *path)), data, None, workspace.actor, old.root)
                )
            if new is not None:
                changes.append(
                    Change("/".join((*new.parts, *path)), None, data, workspace.actor, old.root)
                )
            act(changes)


def _files(place: Place) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The plain files at or below *place*, with their parts from there."""
    if place.status is not None and stat.S_ISREG(place.status.st_mode):
        yield place.path, ()
    if not place.is_folder:
        return
    seen = 0
    for folder, folders, files in os.walk(place.path):
        folders[:] = sorted(name for name in folders if not names.is_git(name))
        for name in sorted(files):
            seen += 1
            if seen > MOST_ENTRIES:
                message = (
                    f"{names.shown(place.relative)} holds more than {MOST_ENTRIES:,} files. Nothing "
                    "was changed. Take it in parts."
                )
                raise PathRefused(message)
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, path.relative_to(place.path).parts


def _for_rules(file: Path, path: tuple[str, ...], new: Place | None) -> bytes:
    """The content that the rules see. Of a file that is larger than any they let through, none,
    unless it is one that they watch."""
    if file.lstat().st_size <= content.WRITE_BYTES:
        return file.read_bytes()
    there = "/".join((*(new.parts if new else ()), *path))
    if tracked.is_tracked(there) or tracked.is_tracked(file.name):
        message = (
            f"{names.shown(there)} is too large for a file of the memory. Nothing was changed."
        )
        raise FileTooLarge(message)
    return b""


def _free_place(root: Path, path: str, moving: Place | None) -> Place:
    """Where something new may come to be; *moving*: what is to move there."""
    place = paths.locate(root, path.rstrip("/"))
    _refuse_own(place)
    renames_itself = (
        moving is not None
        and place.parts[:-1] == moving.parts[:-1]
        and names.folded(place.parts[-1]) == names.folded(moving.parts[-1])
    )
    if place.status is not None:
        message = f"{names.shown(place.relative)} exists already. Nothing was changed."
        raise PathRefused(message)
    if not renames_itself:
        paths.check_writable(place)
    if moving is not None and place.parts[: len(moving.parts)] == moving.parts:
        message = f"{names.shown(moving.relative)} cannot go into itself. Nothing was changed."
        raise PathRefused(message)
    return place


def _refuse_own(place: Place) -> None:
    """Refuse what is not the person's to move: the workspace itself, git's, Jenny's, settings."""
    if not place.parts:
        raise PathRefused("This is the workspace's folder itself. Nothing was changed.")
    shown = names.shown(place.relative)
    if any(names.is_git(part) for part in place.parts):
        raise PathRefused(f"{shown} lies in a git folder, which only git writes.")
    if any(names.is_own(part) for part in place.parts):
        raise PathRefused(f"{shown} belongs to Jenny's own bookkeeping. Nothing was changed.")
    if names.is_settings(place.relative):
        raise PathRefused(f"{shown} is changed in Settings. Nothing was changed here.")


def _rename(old: Place, new: Place) -> None:
    """Rename through folder descriptors, durably."""
    with (
        paths.open_folder(old.root, old.parts[:-1]) as source,
        paths.open_folder(new.root, new.parts[:-1], make=True) as target,
    ):
        os.rename(old.parts[-1], new.parts[-1], src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(source)


def _stage_stream(folder: int, stream: BinaryIO, limit: int, place: Place) -> str:
    """Write the stream to a temporary file in *folder*, synced; its name."""
    temp = atomic.temp_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    done = 0
    try:
        with os.fdopen(os.open(temp, flags, 0o666, dir_fd=folder), "wb") as file:
            while chunk := stream.read(CHUNK_BYTES):
                done += len(chunk)
                if done > limit:
                    message = (
                        f"{names.shown(place.relative)} is larger than {limit:,} bytes. It was not "
                        "stored."
                    )
                    raise FileTooLarge(message)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        atomic.discard(folder, temp)
        raise
    return temp


def _copy_tree(source: Path, target: Path) -> None:
    """Copy what is there, links as links, without what is no file."""
    if not source.is_dir():
        shutil.copyfile(source, target, follow_symlinks=False)
        return
    shutil.copytree(source, target, symlinks=True, ignore=_left_out)


def _left_out(folder: str, entries: list[str]) -> set[str]:
    """What a copy leaves out: git's and Jenny's own, and what is neither file, folder nor link."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return {
        name
        for name in entries
        if names.is_git(name)
        or names.is_own(name)
        or not any(kind(Path(folder, name).lstat().st_mode) for kind in kinds)
    }


def _discard(path: Path) -> None:
    """Remove a half-made copy."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_link(place: Place) -> bool:
    return place.status is not None and stat.S_ISLNK(place.status.st_mode)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(
            f"{names.shown(path.name)} cannot be looked at: no permission."
        ) from error


def _failed(place: Place, verb: str, error: OSError) -> str:
    return (
        f"{names.shown(place.relative)} could not be {verb}: {reason_of(error)}. "
        "Everything is as it was."
    )
