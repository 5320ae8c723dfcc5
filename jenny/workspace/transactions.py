"""Write several files wholly or not at all, even through a crash.

1. The new contents are staged beside their targets.
2. The journal, which names them and holds the old contents, is written: from here on the
   transaction will be finished.
3. The staged files are renamed in order; each folder is synced once; then the journal is removed.

After a crash, the next process that opens the workspace or takes its lock finishes the transaction.
When the disk refuses in the middle, the journal is turned into a rollback.
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

from jenny.workspace import (
    atomic,
    bulk_replace,
    bulk_replace_journal,
    locks,
    paths,
    transaction_journal,
)
from jenny.workspace.errors import LockTimeout, WriteFailed, reason_of
from jenny.workspace.locks import Level
from jenny.workspace.transaction_journal import Journal, Staged, Step

# Errors that may pass; for any other, trying again is no use.
_PASSING = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE}
)


@contextlib.contextmanager
def lock_workspace(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the workspace lock, after recovering interrupted transactions.

    Raises:
        LockTimeout: another process held it.
        WriteFailed: one cannot be recovered, since the disk refuses.
    """
    with locks.hold(root, Level.WORKSPACE, timeout=timeout) as outermost:
        if outermost:
            try:
                recover_transactions(root)
            except OSError as error:
                message = (
                    f"An act cut short earlier cannot be settled: {reason_of(error)}. "
                    "Nothing was written."
                )
                raise WriteFailed(message) from error
        yield


def recover_if_free(root: Path) -> None:
    """Recover interrupted transactions, unless the lock is held (its holder does, or writes)."""
    if not transaction_journal.pending(root):
        return
    with contextlib.suppress(LockTimeout, WriteFailed), lock_workspace(root, timeout=0):
        pass


def commit_transaction(root: Path, steps: Sequence[Step]) -> None:
    """Carry out all the *steps* or none; the workspace lock is held.

    Raises:
        WriteFailed: the disk refused; everything is as it was (or will be, once the disk allows).
    """
    if not steps:
        return
    staged: list[Staged] = []
    try:
        for step in steps:
            staged.append(_stage(root, step))  # noqa: PERF401  (one by one: see the except)
        _sync_staged(root, staged)
        act = Journal(f"{time.time_ns()}-{secrets.token_hex(4)}.json", tuple(staged))
        transaction_journal.store(root, act)
    except OSError as error:
        _drop_staged(root, staged)
        message = f"The files could not be written: {reason_of(error)}. None of them was changed."
        raise WriteFailed(message) from error
    try:
        _land_all(root, act.steps)
    except OSError as error:
        _turn_round(root, act, error)
    with contextlib.suppress(OSError):  # it is done, which recovery sees by the digests
        transaction_journal.finish(root, act)


def recover_transactions(root: Path) -> None:
    """Finish or roll back every interrupted transaction; the workspace lock is held.

    An unusable journal (damaged, or its folders are gone) is set aside under a name that
    ``check_workspace`` reports; it blocks nothing.

    Raises:
        OSError: the disk refuses for now.
    """
    for name in transaction_journal.pending(root):
        is_bulk = bulk_replace_journal.is_bulk_replace(name)
        act = None if is_bulk else transaction_journal.load(root, name)
        try:
            if is_bulk:
                with locks.for_files(root, bulk_replace.touched(root, name)):
                    if bulk_replace.recover_replace(root, name):
                        continue
            if act is None:
                transaction_journal.set_aside(root, name)
                continue
            with locks.for_files(root, ["/".join(step.parts) for step in act.steps]):
                if act.undo:
                    _undo(root, act)
                else:
                    _redo(root, act)
            transaction_journal.finish(root, act)
        except OSError as error:
            if error.errno in _PASSING:
                raise
            transaction_journal.set_aside(root, name)


def _stage(root: Path, step: Step) -> Staged:
    """Stage the new content beside its target; ``_sync_staged`` makes it durable."""
    if step.new is None:
        return Staged(step.parts, None, step.old, None)
    with paths.open_folder(root, step.parts[:-1], make=True) as folder:
        temp = atomic.stage(folder, step.parts[-1], step.new, synced=False)
    return Staged(step.parts, temp, step.old, _digest(step.new))


def _sync_staged(root: Path, steps: Sequence[Staged]) -> None:
    """Make the staged files durable, one folder at a time."""
    folders: dict[tuple[str, ...], list[str]] = {}
    for step in steps:
        if step.temp is not None:
            folders.setdefault(_folder_of(step), []).append(step.temp)
    for parts, temps in folders.items():
        with paths.open_folder(root, parts) as folder:
            atomic.sync(folder, temps)


def _land_all(root: Path, steps: Sequence[Staged]) -> None:
    """Carry out the staged steps in order, then make that durable.

    The journal stays until then, and its digests show which steps were done.
    """
    touched = dict.fromkeys(_folder_of(step) for step in steps)
    for parts, some in itertools.groupby(steps, _folder_of):
        with paths.open_folder(root, parts) as folder:
            for step in some:
                _land(folder, step, synced=False)
    for parts in touched:
        with paths.open_folder(root, parts) as folder:
            os.fsync(folder)


def _land(folder: int, step: Staged, *, synced: bool = True) -> None:
    if step.temp is None:
        atomic.remove(folder, step.parts[-1], synced=synced)
    else:
        atomic.land(folder, step.temp, step.parts[-1], synced=synced)


def _folder_of(step: Staged) -> tuple[str, ...]:
    return step.parts[:-1]


def _turn_round(root: Path, act: Journal, error: OSError) -> None:
    """Roll back a half-done transaction in a live process, and report it."""
    try:
        act = replace(act, undo=True)
        transaction_journal.store(root, act)
        _undo(root, act)
        transaction_journal.finish(root, act)
    except OSError:
        message = (
            f"The files could not all be written: {reason_of(error)}. As soon as the disk allows "
            "it, the act is finished or undone by itself."
        )
        raise WriteFailed(message) from error
    message = f"The files could not be written: {reason_of(error)}. None of them was changed."
    raise WriteFailed(message) from error


def _redo(root: Path, act: Journal) -> None:
    """Finish a transaction after a crash.

    A file that somebody changed from outside in between stays as they made it; the contents of the
    remaining steps are kept beside their targets under a telling name.
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
    """Restore the old contents, except where somebody else has written since."""
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
    """Keep a staged content that cannot be used, where its owner will find it."""
    if step.temp is None or not _is_staged(root, step):
        return
    stem, dot, suffix = step.parts[-1].rpartition(".")
    mark = f".unfinished-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    name = f"{stem or suffix}{mark}{dot}{suffix}" if stem else f"{step.parts[-1]}{mark}"
    with paths.open_folder(root, step.parts[:-1]) as folder:
        atomic.land(folder, step.temp, name[-200:])


def _is_staged(root: Path, step: Staged) -> bool:
    """True when the step's content is still staged (always for a removal)."""
    return step.temp is None or root.joinpath(*step.parts[:-1], step.temp).is_file()


def _drop_staged(root: Path, steps: Sequence[Staged]) -> None:
    for step in steps:
        if step.temp is not None:
            with contextlib.suppress(OSError), paths.open_folder(root, step.parts[:-1]) as folder:
                atomic.discard(folder, step.temp)


def _current(root: Path, parts: tuple[str, ...]) -> str | None:
    """Return the digest of the file at *parts*; ``None``: no file."""
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
    return hashlib.sha256(data).hexdigest()
