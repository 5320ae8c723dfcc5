"""Replace a file so that a crash leaves either the old or the new content, whole.

A temporary file with a unique name is written to the same folder and synced, renamed over the
target, and then the folder is synced. All of this uses folder descriptors, so no link is ever
followed.
"""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from jenny.workspace.names import OWN_PREFIX

TEMP_SUFFIX = ".tmp"
TEMP_NAME = re.compile(r"\.jenny-[0-9a-f]{16}\.tmp")
# How many files are synced at the same time.
_SIDE_BY_SIDE = 8


def is_temp(name: str) -> bool:
    return name.startswith(f"{OWN_PREFIX}-") and name.endswith(TEMP_SUFFIX)


def temp_name() -> str:
    return f"{OWN_PREFIX}-{secrets.token_hex(8)}{TEMP_SUFFIX}"


def stage(
    folder: int, name: str, data: bytes, *, mode: int | None = None, synced: bool = True
) -> str:
    """Write *data* to a temporary file that is to replace *name*, and return the temporary name.

    The temporary file takes over the permissions of the file it will replace; a new file gets
    *mode*, or the system's default.
    """
    temp = temp_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temp, flags, 0o666 if mode is None else mode, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            _take_over(folder, name, fd)
            if synced:
                os.fsync(fd)
    except BaseException:
        discard(folder, temp)
        raise
    return temp


def sync(folder: int, temps: Sequence[str]) -> None:
    """Make files durable that were staged without a sync.

    Many are synced in parallel: the disk's journal then writes several in one commit, and other
    processes' syncs do not come between ours.
    """
    one = partial(_sync, folder)
    if len(temps) < _SIDE_BY_SIDE:
        for temp in temps:
            one(temp)
    else:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            list(pool.map(one, temps))


def _sync(folder: int, name: str) -> None:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def land(folder: int, temp: str, name: str, *, synced: bool = True) -> None:
    """Rename the staged file to *name*; without *synced*, the caller syncs the folder later."""
    os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    if synced:
        os.fsync(folder)


def replace(
    folder: int, name: str, data: bytes, *, mode: int | None = None, synced: bool = True
) -> None:
    """Replace the content of *name*, or create it (with *mode*), in one step.

    Without *synced*, this is safe against a killed process but not against a power cut.
    """
    temp = stage(folder, name, data, mode=mode, synced=synced)
    try:
        land(folder, temp, name, synced=synced)
    except OSError:
        discard(folder, temp)
        raise


def remove(folder: int, name: str, *, synced: bool = True) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    if synced:
        os.fsync(folder)


def discard(folder: int, temp: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temp, dir_fd=folder)


def _take_over(folder: int, name: str, fd: int) -> None:
    """Give the staged file the permissions and, where allowed, the owner of *name*."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    new = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
