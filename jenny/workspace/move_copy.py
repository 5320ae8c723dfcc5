"""Move, copy and create whole files and folders; the write rules check every file in them.

A path that ends in a link means the link itself here, never its target.

A move keeps bytes, times and links.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from jenny.workspace import (
    atomic,
    content,
    names,
    paths,
    transaction_journal,
    transactions,
    write_rules,
)
from jenny.workspace.errors import FileMissing, FileTooLarge, PathRefused, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.paths import Place
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Change

# The most files moved, copied or trashed at once; more is probably a mistake.
MOST_FILES = 200_000


def locate_itself(root: Path, path: str) -> Place:
    """Resolve *path* without following a link in its last part.

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
    place = Place(root, (*folder.parts, name), status_of(folder.path / name))
    if place.status is None and (other := paths.other_coding(root, place.parts)):
        place = Place(root, (*folder.parts, other), status_of(folder.path / other))
    _refuse_own(place)
    if place.status is None:
        raise FileMissing(content.missing(place))
    return place


def free_place(root: Path, path: str, moving: Place | None) -> Place:
    """Resolve a free path for something new; *moving*: the thing that moves there.

    Raises:
        PathRefused: something is there, or the name is invalid.
    """
    place = paths.locate(root, path.rstrip("/"))
    _refuse_own(place)
    renames_itself = (
        moving is not None
        and place.parts[:-1] == moving.parts[:-1]
        and names.look_alike(place.parts[-1]) == names.look_alike(moving.parts[-1])
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


def put_to_rules(
    workspace: Workspace, old: Place, new: Place | None, *, is_new: bool = False
) -> None:
    """Apply the write rules to every file below *old*.

    To the rules each file is removed (unless *is_new*) and created below *new* (``None``: nowhere).
    The workspace lock is held.

    Raises:
        WriteRefused: a rule refused one of them.
        FileTooLarge: a file that rules watch is too large for them.
    """
    for act in (write_rules.check_write, _act):
        for file, path in _files(old):
            was = [] if is_new else ["/".join((*old.parts, *path))]
            becomes = [] if new is None else ["/".join((*new.parts, *path))]
            data = _for_rules(file, was + becomes)
            who = workspace.actor, workspace.root
            act(
                [Change(name, data, None, *who) for name in was]
                + [Change(name, None, data, *who) for name in becomes]
            )


def _act(changes: Sequence[Change]) -> None:
    """Run the rules that act; they save what must survive before a file is removed."""
    extra = write_rules.companions(changes)
    write_rules.act(changes)
    if extra:
        transactions.commit_transaction(
            extra[0].workspace, list(map(transaction_journal.step, extra))
        )


def _files(place: Place) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the plain files at or below *place*, with their parts from there."""
    if place.status is not None and stat.S_ISREG(place.status.st_mode):
        yield place.path, ()
    if not place.is_folder:
        return
    seen = 0
    for folder, folders, files in os.walk(place.path):
        folders[:] = sorted(name for name in folders if not names.is_git(name))
        for name in sorted(files):
            seen += 1
            if seen > MOST_FILES:
                message = (
                    f"{names.shown(place.relative)} holds more than {MOST_FILES:,} files. "
                    "Nothing was changed. Take it in parts."
                )
                raise PathRefused(message)
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, path.relative_to(place.path).parts


def _for_rules(file: Path, ways: Sequence[str]) -> bytes:
    """Return the content that the rules see.

    A file larger than the limit of a write is not read; it may neither become a memory file nor
    stop being one.
    """
    if file.lstat().st_size <= content.WRITE_BYTES:
        return file.read_bytes()
    for path in ways:
        if tracked_files.is_tracked(path):
            message = f"{names.shown(path)} is too large for a file of the memory. Nothing changed."
            raise FileTooLarge(message)
    return b""


def _refuse_own(place: Place) -> None:
    """Refuse to move the workspace itself, git's, Jenny's own files, and the settings."""
    if not place.parts:
        raise PathRefused("This is the workspace's folder itself. Nothing was changed.")
    shown = names.shown(place.relative)
    if any(names.is_git(part) for part in place.parts):
        raise PathRefused(f"{shown} lies in a git folder, which only git writes.")
    if any(names.is_own(part) for part in place.parts):
        raise PathRefused(f"{shown} belongs to Jenny's own bookkeeping. Nothing was changed.")
    if names.is_settings(place.relative):
        raise PathRefused(f"{shown} is changed in Settings. Nothing was changed here.")


def kind_of(place: Place) -> Literal["file", "folder", "link"]:
    """Return the kind of the entry. :raises PathRefused: a device, socket or pipe."""
    mode = place.status.st_mode if place.status else 0
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise PathRefused(f"{names.shown(place.relative)} is no file. Nothing was changed.")


def status_of(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(
            f"{names.shown(path.name)} cannot be looked at: no permission."
        ) from error


def move(workspace: Workspace, source: str, target: str) -> str:
    """Move (or rename) a file, folder or link; return its new path from the workspace's folder.

    Raises:
        PathRefused: something is at *target*, or it is inside *source*, or its name is invalid.
            Nothing was changed, as in every case below.
        WriteRefused, FileMissing, FileTooLarge, LockTimeout, WriteFailed: as for any write.
    """
    root = workspace.root
    with transactions.lock_workspace(root):
        old = locate_itself(root, source)
        new = free_place(root, target, old)
        put_to_rules(workspace, old, new)
        try:
            rename(old, root, new.parts)
        except OSError as error:
            raise WriteFailed(_failed(old, "moved", error)) from error
    return new.relative


def copy(workspace: Workspace, source: str, target: str) -> str:
    """Copy a file or folder; links in it stay links.

    Return the path of the copy; errors as ``move``.
    """
    root = workspace.root
    old = locate_itself(root, source)
    if _is_link(old):
        raise PathRefused(f"{names.shown(old.relative)} is a link; links are not copied.")
    new = free_place(root, target, old)
    temp = ""
    try:
        with paths.open_folder(root, new.parts[:-1], make=True) as folder:
            temp = atomic.temp_name()
            beside = root.joinpath(*new.parts[:-1], temp)
            _copy_tree(old.path, beside)
            with transactions.lock_workspace(root):
                new = free_place(root, target, old)
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


def make_folder(workspace: Workspace, path: str) -> str:
    """Create an empty folder and return its path. Errors as ``move``."""
    root = workspace.root
    with transactions.lock_workspace(root):
        place = free_place(root, path, None)
        try:
            with paths.open_folder(root, place.parts, make=True):
                pass
        except OSError as error:
            raise WriteFailed(_failed(place, "made", error)) from error
    return place.relative


def free_name(root: Path, path: str) -> str:
    """Return *path*, or the first free one of ``name (2).txt``, ``name (3).txt`` and so on."""
    head, slash, name = path.rpartition("/")
    # The limit of characters is compared with bytes: a name that fits it in bytes fits it in
    # characters.
    room = min(names.NAME_BYTES, names.PATH_CHARS - len(head) - 1)
    candidate, number = path, 1
    while (place := paths.locate(root, candidate)).status is not None or paths.hint(place):
        number += 1
        candidate = f"{head}{slash}{names.marked(name, f' ({number})', room=room)}"
    return candidate


def rename(old: Place, root: Path, parts: tuple[str, ...]) -> None:
    """Rename through folder descriptors, durably; the target is at *parts* below *root*."""
    with (
        paths.open_folder(old.root, old.parts[:-1]) as source,
        paths.open_folder(root, parts[:-1], make=True) as target,
    ):
        os.rename(old.parts[-1], parts[-1], src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(source)


def _copy_tree(source: Path, target: Path) -> None:
    if not source.is_dir():
        shutil.copyfile(source, target, follow_symlinks=False)
        return
    shutil.copytree(source, target, symlinks=True, ignore=_left_out)


def _left_out(folder: str, entries: list[str]) -> set[str]:
    """Return the names that a copy leaves out: git's and Jenny's own, and special files."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return {
        name
        for name in entries
        if names.is_git(name)
        or names.is_own(name)
        or not any(kind(Path(folder, name).lstat().st_mode) for kind in kinds)
    }


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_link(place: Place) -> bool:
    return place.status is not None and stat.S_ISLNK(place.status.st_mode)


def _failed(place: Place, verb: str, error: OSError) -> str:
    return (
        f"{names.shown(place.relative)} could not be {verb}: {reason_of(error)}. "
        "Everything is as it was."
    )
