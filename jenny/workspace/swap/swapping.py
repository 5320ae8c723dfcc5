"""Doing a swap, and settling one that a crash cut short.

1. What is to come is staged and synced; then the journal says that the swap will be finished.
2. What goes moves aside, what comes moves in: each a rename, none a write. The folders that were
   touched are synced once, at the end.
3. The journal goes, and with it what had moved aside.

Whoever takes the workspace's lock after a crash goes on from wherever it stopped: what has moved
is known by where it lies. When the disk refuses in the middle, the journal is turned round and
everything moves back. The caller holds the workspace's lock, and the history's where a file of the
history is among the items.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.locks import OWN_FOLDER
from jenny.workspace.swap import book, moving
from jenny.workspace.swap.book import NEW, OLD, Item, Swap
from jenny.workspace.swap.moving import Folders

type Progress = Callable[[int, int], None] | None


def carry_out(root: Path, swap: Swap, *, progress: Progress = None) -> None:
    """Do all of the swap or nothing.

    Raises:
        WriteFailed: the disk refused; everything is as it was (or will be, once it allows).
    """
    try:
        book.store(root, swap)
    except OSError as error:
        message = f"The files could not be replaced: {reason_of(error)}. None of them was changed."
        raise WriteFailed(message) from error
    try:
        _forward(root, swap, progress)
    except OSError as error:
        _turn_round(root, swap, error)
    with contextlib.suppress(OSError):  # it has happened, and is seen to have
        book.finish(root, swap)


def settle(root: Path, journal_name: str) -> bool:
    """Finish or take back a swap that a crash cut short. ``False``: nothing can be done by this
    journal, which is damaged.

    Raises:
        OSError: the disk refuses for now.
    """
    swap = book.load(root, journal_name)
    if swap is None:
        return False
    if swap.undo:
        _back(root, swap)
    else:
        _forward(root, swap, None)
    book.finish(root, swap)
    shutil.rmtree(root / OWN_FOLDER / swap.name, ignore_errors=True)
    return True


def touched(root: Path, journal_name: str) -> list[str]:
    """The files that a swap under way is about, for the locks that it takes."""
    swap = book.load(root, journal_name)
    return [] if swap is None else [item.path for item in swap.items]


def _ordered(swap: Swap) -> list[tuple[int, Item]]:
    """The items with their numbers, in the order in which they are done."""
    every = list(enumerate(swap.items))
    return [pair for kind in book.KINDS for pair in every if pair[1].kind == kind]


def _forward(root: Path, swap: Swap, progress: Progress) -> None:
    """Do what is not done yet."""
    ordered = _ordered(swap)
    with (
        Folders(root) as folders,
        paths.open_folder(root, book.place(swap, NEW)) as new,
        paths.open_folder(root, book.place(swap, OLD)) as old,
    ):
        for done, (number, item) in enumerate(ordered, 1):
            _ACTS[item.kind](folders, item, str(number), new, old)
            if progress is not None:
                progress(done, len(ordered))
        folders.sync()
        os.fsync(old)
        os.fsync(new)


def _back(root: Path, swap: Swap) -> None:
    """Take back what is done."""
    with (
        Folders(root) as folders,
        paths.open_folder(root, book.place(swap, NEW)) as new,
        paths.open_folder(root, book.place(swap, OLD)) as old,
    ):
        for number, item in reversed(_ordered(swap)):
            _UNDONE[item.kind](folders, item, str(number), new, old)
        folders.sync()
        os.fsync(old)


def _turn_round(root: Path, swap: Swap, error: OSError) -> None:
    """Take a half-done swap back in a live process, and say so."""
    try:
        book.store(root, book.turned(swap))
        _back(root, swap)
        book.finish(root, swap)
    except OSError:
        message = (
            f"The files could not all be replaced: {reason_of(error)}. As soon as the disk allows "
            "it, this is finished or taken back by itself."
        )
        raise WriteFailed(message) from error
    message = f"The files could not be replaced: {reason_of(error)}. None of them was changed."
    raise WriteFailed(message) from error


# --- One item, forward ------------------------------------------------------------------------


def _put(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Let the staged file come, unless it has."""
    if moving.status(new, item.file) is None:
        return
    folder, name = folders.open(item.path)
    there = moving.status(folder, name)
    if there is not None and not _is_as_decided(there, item):
        if item.keep == "yield":
            os.unlink(item.file, dir_fd=new)
            return
        if item.keep == "grow":
            moving.take_over(folder, name, new, item)
        else:
            moving.beside(folder, name)
        there = moving.status(folder, name)
    if there is not None and moving.status(old, number) is None:
        moving.keep(folder, name, old, number)
    moving.move(new, item.file, folder, name)


def _remove(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Let a file go, unless somebody has written it anew since."""
    del new
    if moving.status(old, number) is not None:
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        folder, name = folders.open(item.path, make=False)
        there = moving.status(folder, name)
        if there is not None and _is_as_decided(there, item):
            moving.move(folder, name, old, number)


def _folder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Make a folder."""
    del number, new, old
    folder, name = folders.open(item.path)
    there = moving.status(folder, name)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        moving.beside(folder, name)
        there = None
    if there is None:
        os.mkdir(name, dir_fd=folder)
        folders.forget()


def _mode(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Give a folder its permissions."""
    del number, new, old
    _permit(folders, item.path, item.mode)


def _unfolder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Let a folder go if nothing is in it."""
    del number, new, old
    with contextlib.suppress(OSError):
        folder, name = folders.open(item.path, make=False)
        os.rmdir(name, dir_fd=folder)
        folders.forget()


# --- One item, back ---------------------------------------------------------------------------


def _unput(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Let the staged file go again, and what was there come back."""
    kept = moving.status(old, number) is not None
    if not kept and moving.status(new, item.file) is not None:
        return  # it never came
    folder, name = folders.open(item.path)
    there = moving.status(folder, name)
    if there is not None and there.st_ino == item.own:
        if kept:
            moving.move(old, number, folder, name)
        else:
            os.unlink(name, dir_fd=folder)
        return
    if kept:
        if there is not None and not _is_as_decided(there, item):
            moving.beside(folder, name)
        moving.move(old, number, folder, name)


def _unremove(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Let a file come back."""
    del new
    if moving.status(old, number) is None:
        return
    folder, name = folders.open(item.path)
    if moving.status(folder, name) is not None:
        moving.beside(folder, name)
    moving.move(old, number, folder, name)


def _ununfolder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Make a folder again."""
    del number, new, old
    folder, name = folders.open(item.path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, item.mode, dir_fd=folder)
        os.chmod(name, item.mode, dir_fd=folder)


def _unmode(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Give a folder the permissions that it had."""
    del number, new, old
    _permit(folders, item.path, item.old_mode)


_ACTS = {
    "put": _put,
    "remove": _remove,
    "folder": _folder,
    "unfolder": _unfolder,
    "mode": _mode,
}
_UNDONE = {
    "put": _unput,
    "remove": _unremove,
    "folder": _unfolder,
    "unfolder": _ununfolder,
    "mode": _unmode,
}


def _permit(folders: Folders, path: str, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        folder, name = folders.open(path, make=False)
        there = moving.status(folder, name)
        if there is not None and stat.S_ISDIR(there.st_mode):
            os.chmod(name, mode, dir_fd=folder)


def _is_as_decided(there: os.stat_result, item: Item) -> bool:
    """Whether what is there is what stood there when it was decided about."""
    return stat.S_ISREG(there.st_mode) and book.stamp_of(there) == item.was
