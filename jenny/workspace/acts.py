"""Acts on several files that happen wholly or not at all, whenever the machine stops.

1. The new contents are staged beside their targets.
2. The journal, which names them and holds the old contents, is written: from here on the act
   will be finished.
3. The staged files land in order; their folders are synced, each once; then the journal goes.

Who opens the workspace or takes its lock after a crash finishes what the journal says. When the
disk refuses in the middle, the journal is turned round and the act undone.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jenny.workspace import atomic, journal, locks, paths
from jenny.workspace.errors import LockTimeout, WriteFailed, reason_of
from jenny.workspace.journal import Journal, Staged, Step
from jenny.workspace.locks import Level
from jenny.workspace.swap import book, swapping

# The disk may allow later what it refuses for one of these; anything else will not change.
_PASSING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE}
)


@contextlib.contextmanager
def locked(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> Iterator[None]:
    """The workspace lock, with acts that a crash cut short settled before anything else.

    Raises:
        LockTimeout: another process kept it.
        WriteFailed: such an act cannot be settled, since the disk refuses.
    """
    with locks.hold(root, Level.WORKSPACE, timeout=timeout) as outermost:
        if outermost:
            try:
                settle(root)
            except OSError as error:
                message = (
                    f"An act cut short earlier cannot be settled: {reason_of(error)}. "
                    "Nothing was written."
                )
                raise WriteFailed(message) from error
        yield


def settle_if_free(root: Path) -> None:
    """Settle acts that a crash cut short, unless somebody is at work (who will, or is alive)."""
    if not journal.pending(root):
        return
    with contextlib.suppress(LockTimeout, WriteFailed), locked(root, timeout=0):
        pass


def carry_out(root: Path, steps: Sequence[Step]) -> None:
    """Do all the *steps* or none; the workspace lock is held.

    Raises:
        WriteFailed: the disk refused; everything is as it was (or will be, once it allows).
    """
    if not steps:
        return
    staged: list[Staged] = []
    try:
        for step in steps:
            staged.append(_stage(root, step))  # noqa: PERF401  (one by one: see the except)
        _sync_staged(root, staged)
        act = Journal(f"{time.time_ns()}-{secrets.token_hex(4)}.json", tuple(staged))
        journal.store(root, act)
    except OSError as error:
        _drop_staged(root, staged)
        message = f"The files could not be written: {reason_of(error)}. None of them was changed."
        raise WriteFailed(message) from error
    try:
        _land_all(root, act.steps)
    except OSError as error:
        _turn_round(root, act, error)
    with contextlib.suppress(OSError):  # it has happened; that it has is seen by its digests
        journal.finish(root, act)


def settle(root: Path) -> None:
    """Finish or undo every act that a crash cut short; the workspace lock is held.

    A journal by which nothing can be done (damaged, or its folders are gone) is set aside under
    a name that ``check_workspace`` reports; it stops nobody.

    Raises:
        OSError: the disk refuses for now.
    """
    for name in journal.pending(root):
        is_swap = book.is_swap(name)
        act = None if is_swap else journal.load(root, name)
        try:
            if is_swap:
                with locks.for_files(root, swapping.touched(root, name)):
                    if swapping.settle(root, name):
                        continue
            if act is None:
                journal.set_aside(root, name)
                continue
            with locks.for_files(root, ["/".join(step.parts) for step in act.steps]):
                if act.undo:
                    _undo(root, act)
                else:
                    _redo(root, act)
            journal.finish(root, act)
        except OSError as error:
            if error.errno in _PASSING:
                raise
            journal.set_aside(root, name)


def _stage(root: Path, step: Step) -> Staged:
    """Put the new content beside its target; ``_sync_staged`` makes it durable."""
    if step.new is None:
        return Staged(step.parts, None, step.old, None)
    with paths.open_folder(root, step.parts[:-1], make=True) as folder:
        temp = atomic.stage(folder, step.parts[-1], step.new, synced=False)
    return Staged(step.parts, temp, step.old, _digest(step.new))


def _sync_staged(root: Path, steps: Sequence[Staged]) -> None:
    """Make what is staged durable, a folder at a time."""
    folders: dict[tuple[str, ...], list[str]] = {}
    for step in steps:
        if step.temp is not None:
            folders.setdefault(_folder_of(step), []).append(step.temp)
    for parts, temps in folders.items():
        with paths.open_folder(root, parts) as folder:
            atomic.sync(folder, temps)


def _land_all(root: Path, steps: Sequence[Staged]) -> None:
    """Let the staged steps happen in order, then make that durable: the journal, which stays until
    then, knows for each of them whether it has happened."""
    touched = dict.fromkeys(_folder_of(step) for step in steps)
    for parts, some in itertools.groupby(steps, _folder_of):
        with paths.open_folder(root, parts) as folder:
            for step in some:
                _land(folder, step, synced=False)
    for parts in touched:
        with paths.open_folder(root, parts) as folder:
            os.fsync(folder)


def _land(folder: int, step: Staged, *, synced: bool = True) -> None:
    """Let one staged step happen in its open folder."""
    if step.temp is None:
        atomic.remove(folder, step.parts[-1], synced=synced)
    else:
        atomic.land(folder, step.temp, step.parts[-1], synced=synced)


def _folder_of(step: Staged) -> tuple[str, ...]:
    """Where the step's file lies."""
    return step.parts[:-1]


def _turn_round(root: Path, act: Journal, error: OSError) -> None:
    """Undo a half-done act in a live process, and say so."""
    try:
        act = replace(act, undo=True)
        journal.store(root, act)
        _undo(root, act)
        journal.finish(root, act)
    except OSError:
        message = (
            f"The files could not all be written: {reason_of(error)}. As soon as the disk allows "
            "it, the act is finished or undone by itself."
        )
        raise WriteFailed(message) from error
    message = f"The files could not be written: {reason_of(error)}. None of them was changed."
    raise WriteFailed(message) from error


def _redo(root: Path, act: Journal) -> None:
    """Finish an act after a crash.

    A file that somebody changed from outside in between is left as they made it; what was to
    land from there on is kept beside its target under a name that says so.
    """
    for index, step in enumerate(act.steps):
        there = _current(root, step.parts)
        if there == step.new_digest:
            _drop_staged(root, [step])
        elif there == (None if step.old is None else _digest(step.old)) and _is_staged(root, step):
            with paths.open_folder(root, _folder_of(step)) as folder:
                _land(folder, step)
        else:
            for rest in act.steps[index:]:
                _keep_beside(root, rest)
            return


def _undo(root: Path, act: Journal) -> None:
    """Put back what was there before the act, except where somebody has been since."""
    for step in reversed(act.steps):
        _drop_staged(root, [step])
        if _current(root, step.parts) != step.new_digest:
            continue
        with paths.open_folder(root, step.parts[:-1], make=True) as folder:
            if step.old is None:
                atomic.remove(folder, step.parts[-1])
            else:
                atomic.replace(folder, step.parts[-1], step.old)


def _keep_beside(root: Path, step: Staged) -> None:
    """Keep a staged content that has no place any more, where its owner will find it."""
    if step.temp is None or not _is_staged(root, step):
        return
    stem, dot, suffix = step.parts[-1].rpartition(".")
    mark = f".unfinished-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    name = f"{stem or suffix}{mark}{dot}{suffix}" if stem else f"{step.parts[-1]}{mark}"
    with paths.open_folder(root, step.parts[:-1]) as folder:
        atomic.land(folder, step.temp, name[-200:])


def _is_staged(root: Path, step: Staged) -> bool:
    """Whether the step's content is still waiting (a removal always can)."""
    return step.temp is None or root.joinpath(*step.parts[:-1], step.temp).is_file()


def _drop_staged(root: Path, steps: Sequence[Staged]) -> None:
    """Remove staged files that are not wanted any more."""
    for step in steps:
        if step.temp is not None:
            with contextlib.suppress(OSError), paths.open_folder(root, step.parts[:-1]) as folder:
                atomic.discard(folder, step.temp)


def _current(root: Path, parts: tuple[str, ...]) -> str | None:
    """The digest of what is at *parts* now; ``None``: no file."""
    try:
        with paths.open_folder(root, parts[:-1]) as folder:
            fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(fd, "rb") as file:
                return _digest(file.read())
    except FileNotFoundError:
        return None
    except OSError:
        return "unreadable"


def _digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
