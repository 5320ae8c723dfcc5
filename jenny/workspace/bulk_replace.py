"""Replace very many files of any size, all of them or none, and recover what a crash interrupted.

``bulk_replace_journal`` holds the new contents and the operation in progress. A transaction
(``jenny.workspace.transactions``) keeps the old contents in its journal; here
the replaced files are moved aside whole, so that their size does not matter, and files that are not
named stay untouched.

1. The new files are staged and synced; then the journal records that the replace will be done.
2. Old files are moved aside and new ones moved in, by renames only. The touched folders are
   synced once, at the end.
3. The journal is deleted, and with it the old files.

After a crash, the next process that takes the workspace's lock continues where it stopped: the
position of each file shows whether it was moved. If the disk refuses in the middle, the journal is
turned into a rollback and everything moves back. The caller holds the workspace's lock, and the
history's if a file of the history is among the items.
"""

import contextlib
import errno
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from jenny.workspace import atomic, bulk_replace_journal, names, paths
from jenny.workspace.bulk_replace_journal import NEW, OLD, BulkReplace, Item, parts_of
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.locks import OWN_FOLDER

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})
_CHUNK = 1 << 20


class Folders:
    """The folders of a replace: the last one stays open, and each is synced once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._parts: tuple[str, ...] | None = None
        self._fd = -1
        self._touched: set[tuple[str, ...]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.forget()

    def open(self, path: str, *, make: bool = True) -> tuple[int, str]:
        """Return a descriptor of the folder of *path*, and the name in it.

        With *make*, missing folders are created, and anything else in their place (a file or a link
        that somebody put there meanwhile) is moved beside.
        """
        *folders, name = parts_of(path)
        parts = tuple(folders)
        if parts != self._parts:
            self.forget()
            self._fd = self._walk(parts, make=make)
            self._parts = parts
        self._touched.add(parts)
        return self._fd, name

    def forget(self) -> None:
        """Close the cached folder: folders were created or removed."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._parts = -1, None

    def sync(self) -> None:
        self.forget()
        for parts in {part[:end] for part in self._touched for end in range(len(part) + 1)}:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                fd = self._walk(parts, make=False)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    def _walk(self, parts: tuple[str, ...], *, make: bool) -> int:
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if make:
                    _make_way(fd, part)
                inner = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
        except BaseException:
            os.close(fd)
            raise
        return fd


def status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def move(source: int, name: str, target: int, new_name: str) -> None:
    """Move a file; to another disk by an atomic copy."""
    try:
        os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, name, target, new_name)
        os.unlink(name, dir_fd=source)


def keep_aside(folder: int, name: str, old: int, number: str) -> None:
    """Keep the current file as *number*, for a rollback: as a hard link, or else as a copy."""
    try:
        os.link(name, number, src_dir_fd=folder, dst_dir_fd=old, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(folder, name, old, number)


def beside(folder: int, name: str) -> None:
    """Rename an unexpected file so that its owner finds it."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(1, 1000):
        mark = f".kept-{stamp}" + ("" if number == 1 else f"-{number}")
        new = names.marked(name, mark)
        if status(folder, new) is None:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
            return


def take_over(folder: int, name: str, new: int, item: Item) -> None:
    """Append to the staged file what an append-only file gained since it was read. Idempotent."""
    start = item.was[0] if item.was is not None else 0
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if os.fstat(source).st_size <= start:
            return
        target = os.open(item.file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, dir_fd=new)
        try:
            os.ftruncate(target, item.size)
            os.lseek(source, start, os.SEEK_SET)
            while piece := os.read(source, _CHUNK):
                os.write(target, piece)
            os.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _make_way(fd: int, name: str) -> None:
    """Create a folder of that name, and move anything else there aside."""
    there = status(fd, name)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        beside(fd, name)
        there = None
    if there is None:
        os.mkdir(name, dir_fd=fd)


def _copy(source: int, name: str, target: int, new_name: str) -> None:
    """Copy a file with its permissions and times, atomically."""
    temp = atomic.temp_name()
    reading = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with (
            os.fdopen(os.dup(reading), "rb") as old,
            os.fdopen(os.open(temp, flags, 0o600, dir_fd=target), "wb") as new,
        ):
            shutil.copyfileobj(old, new, _CHUNK)
            new.flush()
            found = os.fstat(reading)
            os.fchmod(new.fileno(), stat.S_IMODE(found.st_mode))
            os.utime(new.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
            os.fsync(new.fileno())
        os.rename(temp, new_name, src_dir_fd=target, dst_dir_fd=target)
    except BaseException:
        atomic.discard(target, temp)
        raise
    finally:
        os.close(reading)


type Progress = Callable[[int, int], None] | None


def commit_replace(root: Path, bulk: BulkReplace, *, progress: Progress = None) -> None:
    """Carry out the whole replace or nothing.

    Raises:
        WriteFailed: the disk refused; everything is as it was (or will be, once the disk allows).
    """
    try:
        bulk_replace_journal.store(root, bulk)
    except OSError as error:
        message = f"The files could not be replaced: {reason_of(error)}. None of them was changed."
        raise WriteFailed(message) from error
    try:
        _forward(root, bulk, progress)
    except OSError as error:
        _turn_round(root, bulk, error)
    with contextlib.suppress(OSError):  # the replace is done, and recovery will see that
        bulk_replace_journal.finish(root, bulk)


def recover_replace(root: Path, journal_name: str) -> bool:
    """Finish or roll back a replace that a crash interrupted. ``False``: the journal is damaged.

    Raises:
        OSError: the disk refuses for now.
    """
    bulk = bulk_replace_journal.load(root, journal_name)
    if bulk is None:
        return False
    if bulk.undo:
        _back(root, bulk)
    else:
        _forward(root, bulk, None)
    bulk_replace_journal.finish(root, bulk)
    shutil.rmtree(root / OWN_FOLDER / bulk.name, ignore_errors=True)
    return True


def touched(root: Path, journal_name: str) -> list[str]:
    """List the files of a replace in progress, for the locks that it takes."""
    bulk = bulk_replace_journal.load(root, journal_name)
    return [] if bulk is None else [item.path for item in bulk.items]


def _ordered(bulk: BulkReplace) -> list[tuple[int, Item]]:
    every = list(enumerate(bulk.items))
    return [pair for kind in bulk_replace_journal.KINDS for pair in every if pair[1].kind == kind]


def _forward(root: Path, bulk: BulkReplace, progress: Progress) -> None:
    ordered = _ordered(bulk)
    with (
        Folders(root) as folders,
        paths.open_folder(root, bulk_replace_journal.place(bulk, NEW)) as new,
        paths.open_folder(root, bulk_replace_journal.place(bulk, OLD)) as old,
    ):
        for done, (number, item) in enumerate(ordered, 1):
            _ACTS[item.kind](folders, item, str(number), new, old)
            if progress is not None:
                progress(done, len(ordered))
        folders.sync()
        os.fsync(old)
        os.fsync(new)


def _back(root: Path, bulk: BulkReplace) -> None:
    with (
        Folders(root) as folders,
        paths.open_folder(root, bulk_replace_journal.place(bulk, NEW)) as new,
        paths.open_folder(root, bulk_replace_journal.place(bulk, OLD)) as old,
    ):
        for number, item in reversed(_ordered(bulk)):
            _UNDONE[item.kind](folders, item, str(number), new, old)
        folders.sync()
        os.fsync(old)


def _turn_round(root: Path, bulk: BulkReplace, error: OSError) -> None:
    """Roll back a half-done replace in a live process, and report it."""
    try:
        bulk_replace_journal.store(root, bulk_replace_journal.rolled_back(bulk))
        _back(root, bulk)
        bulk_replace_journal.finish(root, bulk)
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
    """Move the staged file in, unless that was done."""
    if status(new, item.file) is None:
        return
    folder, name = folders.open(item.path)
    there = status(folder, name)
    if there is not None and not _is_as_decided(there, item):
        if item.keep == "yield":
            os.unlink(item.file, dir_fd=new)
            return
        if item.keep == "grow":
            take_over(folder, name, new, item)
        else:
            beside(folder, name)
        there = status(folder, name)
    if there is not None and status(old, number) is None:
        keep_aside(folder, name, old, number)
    move(new, item.file, folder, name)


def _remove(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Remove a file, unless somebody has changed it since."""
    del new
    if status(old, number) is not None:
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        folder, name = folders.open(item.path, make=False)
        there = status(folder, name)
        if there is not None and _is_as_decided(there, item):
            move(folder, name, old, number)


def _folder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    del number, new, old
    folder, name = folders.open(item.path)
    there = status(folder, name)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        beside(folder, name)
        there = None
    if there is None:
        os.mkdir(name, dir_fd=folder)
        folders.forget()


def _mode(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    del number, new, old
    _permit(folders, item.path, item.mode)


def _unfolder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    del number, new, old
    with contextlib.suppress(OSError):
        folder, name = folders.open(item.path, make=False)
        os.rmdir(name, dir_fd=folder)
        folders.forget()


# --- One item, back ---------------------------------------------------------------------------


def _unput(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    """Move the staged file out again and bring the old one back."""
    kept = status(old, number) is not None
    if not kept and status(new, item.file) is not None:
        return  # it was never moved in
    folder, name = folders.open(item.path)
    there = status(folder, name)
    if there is not None and there.st_ino == item.own:
        if kept:
            move(old, number, folder, name)
        else:
            os.unlink(name, dir_fd=folder)
        return
    if kept:
        if there is not None and not _is_as_decided(there, item):
            beside(folder, name)
        move(old, number, folder, name)


def _unremove(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    del new
    if status(old, number) is None:
        return
    folder, name = folders.open(item.path)
    if status(folder, name) is not None:
        beside(folder, name)
    move(old, number, folder, name)


def _ununfolder(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
    del number, new, old
    folder, name = folders.open(item.path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, item.mode, dir_fd=folder)
        os.chmod(name, item.mode, dir_fd=folder)


def _unmode(folders: Folders, item: Item, number: str, new: int, old: int) -> None:
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
        there = status(folder, name)
        if there is not None and stat.S_ISDIR(there.st_mode):
            os.chmod(name, mode, dir_fd=folder)


def _is_as_decided(there: os.stat_result, item: Item) -> bool:
    """True when the file is still the one that the decision was based on."""
    return stat.S_ISREG(there.st_mode) and bulk_replace_journal.move_signature(there) == item.was
