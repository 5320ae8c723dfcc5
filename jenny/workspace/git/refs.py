"""Read and move references by compare-and-swap, with git's own lock files.

Callers also hold a lock of the product (``jenny.workspace.locks``), so a lock file of one of our
processes belongs to a dead one and is removed at once; it is recognised as a hard link of our
temporary file. Another program's lock file is waited for, and removed only when it is old and no
process of this machine has it open.
"""

import contextlib
import errno
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from jenny.workspace.errors import StoreBroken, StoreBusy
from jenny.workspace.git.objects import is_id
from jenny.workspace.git.packs import sync_folder

STALE_SECONDS = 600.0
WAIT_SECONDS = 5.0

_NAME = re.compile(r"refs(/[A-Za-z0-9][A-Za-z0-9_+-]*)+")
_TEMP = "jenny-ref-"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


def read_ref(git_dir: Path, name: str) -> str | None:
    """Return the id that *name* refers to; ``None``: there is no such reference.

    Raises:
        StoreBroken: its content is not an id.
    """
    found = _loose(_path(git_dir, name))
    return found if found is not None else _packed(git_dir).get(name)


def list_refs(git_dir: Path, prefix: str = "refs") -> dict[str, str]:
    """Return all references whose name begins with the folder *prefix*, by name."""
    start = _path(git_dir, prefix) if prefix != "refs" else git_dir / "refs"
    found = {name: sha for name, sha in _packed(git_dir).items() if name.startswith(f"{prefix}/")}
    for folder, _, files in os.walk(start):
        for file in files:
            path = Path(folder, file)
            name = path.relative_to(git_dir).as_posix()
            if _NAME.fullmatch(name) and (sha := _loose(path)):
                found[name] = sha
    return dict(sorted(found.items()))


def move(
    git_dir: Path, name: str, new: str, *, expect: str | None, wait: float = WAIT_SECONDS
) -> bool:
    """Move *name* to *new*, durably, if it still refers to *expect* (``None``: nothing).

    Returns True when it did; if not, nothing was changed.

    Raises:
        StoreBusy: another program's lock stayed for *wait* seconds.
    """
    if not is_id(new):
        raise ValueError(new)
    path = _path(git_dir, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(git_dir, path, new, wait) as lock:
        if read_ref(git_dir, name) != expect:
            return False
        os.rename(lock, path)  # noqa: PTH104  (one call to watch)
        sync_folder(path.parent)
    return True


def delete(git_dir: Path, name: str, *, expect: str, wait: float = WAIT_SECONDS) -> bool:
    """Remove the reference if it still refers to *expect*; return True when it did.

    Raises:
        StoreBusy: as ``move``.
        StoreBroken: it is in ``packed-refs``, which another program wrote.
    """
    path = _path(git_dir, name)
    with _locked(git_dir, path, expect, wait):
        if read_ref(git_dir, name) != expect:
            return False
        if name in _packed(git_dir):
            raise StoreBroken(f"{name} was packed by another program and cannot be removed.")
        path.unlink()
        sync_folder(path.parent)
    return True


def clear_stale(git_dir: Path, lock: Path, *, keep: Path | None = None) -> bool:
    """Remove a lock file that nobody can still be using; return True when it is gone.

    Leftovers of our dead processes beside it are removed too, except *keep*.
    """
    try:
        status = lock.lstat()
    except FileNotFoundError:
        return True
    if status.st_nlink < 2:  # noqa: PLR2004  (one name: not ours)
        age = time.time() - status.st_mtime
        if age < STALE_SECONDS or _is_open(lock):
            return False
    lock.unlink(missing_ok=True)
    for temp in git_dir.glob(f"{_TEMP}*"):
        if temp != keep:
            temp.unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def _locked(git_dir: Path, path: Path, content: str, wait: float) -> Iterator[Path]:
    """Hold git's lock file of a reference, which holds the reference's new content."""
    lock = path.with_name(f"{path.name}.lock")
    temp = git_dir / f"{_TEMP}{secrets.token_hex(8)}"
    deadline = time.monotonic() + wait
    has_it = False
    try:
        _write(temp, content)
        while not (has_it := _acquire(temp, lock)):
            if clear_stale(git_dir, lock, keep=temp):
                continue
            if time.monotonic() >= deadline:
                raise StoreBusy(
                    f"Another program keeps {lock.name} in the store of versions. Nothing was "
                    "recorded; it will be, once that lock is gone."
                )
            time.sleep(0.02)
        yield lock
    finally:
        if has_it:
            lock.unlink(missing_ok=True)
        temp.unlink(missing_ok=True)


def _write(temp: Path, content: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(temp, flags, 0o644), "wb") as file:
        file.write(f"{content}\n".encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def _acquire(temp: Path, lock: Path) -> bool:
    """Create the lock file with the content of *temp*, unless it exists."""
    try:
        os.link(temp, lock)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:  # a disk without hard links: then only its age shows a dead lock
            with lock.open("xb") as file:
                file.write(temp.read_bytes())
        except FileExistsError:
            return False
    return True


def _is_open(path: Path) -> bool:
    """True when a process of this machine that can be inspected has the file open."""
    real = os.path.realpath(path)
    for fd in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(fd) == real:  # noqa: PTH115  (hundreds of them)
                return True
        except OSError:
            continue
    return False


def _path(git_dir: Path, name: str) -> Path:
    """Return the reference's path; its name has only letters, digits and ``_ + -``."""
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    return git_dir / name


def _loose(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            text = file.read(64).decode("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise StoreBroken(f"The reference {path.name} cannot be read.") from error
    if not is_id(text):
        raise StoreBroken(f"The reference {path.name} of the store is damaged.")
    return text


def _packed(git_dir: Path) -> dict[str, str]:
    """Read the references in ``packed-refs``, which another git wrote."""
    try:
        fd = os.open(git_dir / "packed-refs", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    rows = [line.split(" ", 1) for line in lines if " " in line and line[0] not in "#^"]
    return {name: sha for sha, name in rows if is_id(sha)}
