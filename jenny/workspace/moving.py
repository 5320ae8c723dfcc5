"""Moving, copying and making whole files and folders; the write rules see every file in them.

What moves keeps its bytes, its times and its links. Why ``subtree`` looks at names as they are
stands there.
"""

import os
import shutil
import stat
from pathlib import Path

from jenny.workspace import acts, atomic, names, paths
from jenny.workspace.errors import PathRefused, WriteFailed, reason_of
from jenny.workspace.files import Workspace
from jenny.workspace.paths import Place
from jenny.workspace.subtree import free_place, itself, put_to_rules


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
        new = free_place(root, target, old)
        put_to_rules(workspace, old, new)
        try:
            rename(old, root, new.parts)
        except OSError as error:
            raise WriteFailed(_failed(old, "moved", error)) from error
    return new.relative


def copy(workspace: Workspace, source: str, target: str) -> str:
    """Copy a file or folder; links in it stay links. Where the copy is; errors as ``move``."""
    root = workspace.root
    old = itself(root, source)
    if _is_link(old):
        raise PathRefused(f"{names.shown(old.relative)} is a link; links are not copied.")
    new = free_place(root, target, old)
    temp = ""
    try:
        with paths.open_folder(root, new.parts[:-1], make=True) as folder:
            temp = atomic.temp_name()
            beside = root.joinpath(*new.parts[:-1], temp)
            _copy_tree(old.path, beside)
            with acts.locked(root):
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
    """Make an empty folder; where it is. Errors as ``move``."""
    root = workspace.root
    with acts.locked(root):
        place = free_place(root, path, None)
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


def rename(old: Place, root: Path, parts: tuple[str, ...]) -> None:
    """Rename through folder descriptors, durably; what is to be below *root*, at *parts*."""
    with (
        paths.open_folder(old.root, old.parts[:-1]) as source,
        paths.open_folder(root, parts[:-1], make=True) as target,
    ):
        os.rename(old.parts[-1], parts[-1], src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        os.fsync(source)


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


def _failed(place: Place, verb: str, error: OSError) -> str:
    return (
        f"{names.shown(place.relative)} could not be {verb}: {reason_of(error)}. "
        "Everything is as it was."
    )
