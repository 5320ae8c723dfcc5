"""Acts on several files that happen wholly or not at all, whenever the machine stops.

1. The new contents are staged beside their targets.
2. The journal, which names them and holds the old contents, is written: from here on the act
   will be finished.
3. The staged files land in order, then the journal goes.

Who opens the workspace or takes its lock after a crash finishes what the journal says. When the
disk refuses in the middle, the journal is turned round and the act undone.
"""

import base64
import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jenny.workspace import atomic, locks, paths
from jenny.workspace.errors import LockTimeout, PathRefused, WriteFailed, reason_of
from jenny.workspace.locks import OWN_FOLDER, Level

FOLDER = (OWN_FOLDER, "journal")


@dataclass(frozen=True)
class Step:
    """One file of an act: where it is, what was there, what is to be there (``None``: no file)."""

    parts: tuple[str, ...]
    old: bytes | None
    new: bytes | None


@dataclass(frozen=True)
class _Staged:
    """A step as the journal knows it: the new content lies in the file *temp*."""

    parts: tuple[str, ...]
    temp: str | None
    old: bytes | None
    new_digest: str | None


@dataclass(frozen=True)
class _Journal:
    """An act under way: to be finished, or to be undone."""

    name: str
    steps: tuple[_Staged, ...]
    undo: bool = False


@contextlib.contextmanager
def locked(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> Iterator[None]:
    """The workspace lock, with acts that a crash cut short settled before anything else."""
    with locks.hold(root, Level.WORKSPACE, timeout=timeout) as outermost:
        if outermost:
            settle(root)
        yield


def settle_if_free(root: Path) -> None:
    """Settle acts that a crash cut short, unless somebody is at work (who will, or is alive)."""
    if not pending(root):
        return
    with contextlib.suppress(LockTimeout), locked(root, timeout=0):
        pass


def pending(root: Path) -> list[str]:
    """The names of the journals of acts that are not over."""
    try:
        return sorted(path.name for path in root.joinpath(*FOLDER).iterdir() if _is_journal(path))
    except FileNotFoundError:
        return []


def carry_out(root: Path, steps: Sequence[Step]) -> None:
    """Do all the *steps* or none; the workspace lock is held.

    Raises:
        WriteFailed: the disk refused; everything is as it was (or will be, once it allows).
    """
    if not steps:
        return
    staged: list[_Staged] = []
    try:
        for step in steps:
            staged.append(_stage(root, step))  # noqa: PERF401  (one by one: see the except)
        act = _Journal(f"{time.time_ns()}-{secrets.token_hex(4)}.json", tuple(staged))
        _store(root, act)
    except OSError as error:
        _drop_staged(root, staged)
        message = f"The files could not be written: {reason_of(error)}. None of them was changed."
        raise WriteFailed(message) from error
    try:
        for waiting in act.steps:
            _land(root, waiting)
    except OSError as error:
        _turn_round(root, act, error)
    _finish(root, act)


def settle(root: Path) -> None:
    """Finish or undo every act that a crash cut short; the workspace lock is held."""
    for name in pending(root):
        act = _load(root, name)
        if act is None:
            continue
        if act.undo:
            _undo(root, act)
        else:
            _redo(root, act)
        _finish(root, act)


def _is_journal(path: Path) -> bool:
    """Whether the file is a journal, and not one that is being written."""
    return path.suffix == ".json"


def _stage(root: Path, step: Step) -> _Staged:
    """Put the new content beside its target."""
    if step.new is None:
        return _Staged(step.parts, None, step.old, None)
    with paths.open_folder(root, step.parts[:-1], make=True) as folder:
        temp = atomic.stage(folder, step.parts[-1], step.new)
    return _Staged(step.parts, temp, step.old, _digest(step.new))


def _land(root: Path, step: _Staged) -> None:
    """Let one staged step happen."""
    with paths.open_folder(root, step.parts[:-1]) as folder:
        if step.temp is None:
            atomic.remove(folder, step.parts[-1])
        else:
            atomic.land(folder, step.temp, step.parts[-1])


def _turn_round(root: Path, act: _Journal, error: OSError) -> None:
    """Undo a half-done act in a live process, and say so."""
    try:
        act = replace(act, undo=True)
        _store(root, act)
        _undo(root, act)
        _finish(root, act)
    except OSError:
        message = (
            f"The files could not all be written: {reason_of(error)}. What is missing follows by "
            "itself as soon as the disk allows it."
        )
        raise WriteFailed(message) from error
    message = f"The files could not be written: {reason_of(error)}. None of them was changed."
    raise WriteFailed(message) from error


def _redo(root: Path, act: _Journal) -> None:
    """Finish an act after a crash.

    A file that somebody changed from outside in between is left as they made it; what was to
    land from there on is kept beside its target under a name that says so.
    """
    for index, step in enumerate(act.steps):
        there = _current(root, step.parts)
        if there == step.new_digest:
            _drop_staged(root, [step])
        elif there == (None if step.old is None else _digest(step.old)) and _is_staged(root, step):
            _land(root, step)
        else:
            for rest in act.steps[index:]:
                _keep_beside(root, rest)
            return


def _undo(root: Path, act: _Journal) -> None:
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


def _keep_beside(root: Path, step: _Staged) -> None:
    """Keep a staged content that has no place any more, where its owner will find it."""
    if step.temp is None or not _is_staged(root, step):
        return
    stem, dot, suffix = step.parts[-1].rpartition(".")
    mark = f".unfinished-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    name = f"{stem or suffix}{mark}{dot}{suffix}" if stem else f"{step.parts[-1]}{mark}"
    with paths.open_folder(root, step.parts[:-1]) as folder:
        atomic.land(folder, step.temp, name[-200:])


def _is_staged(root: Path, step: _Staged) -> bool:
    """Whether the step's content is still waiting (a removal always can)."""
    return step.temp is None or root.joinpath(*step.parts[:-1], step.temp).is_file()


def _drop_staged(root: Path, steps: Sequence[_Staged]) -> None:
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


def _store(root: Path, act: _Journal) -> None:
    """Write the journal, durably."""
    content: dict[str, Any] = {
        "undo": act.undo,
        "steps": [
            {
                "parts": step.parts,
                "temp": step.temp,
                "old": None if step.old is None else base64.b64encode(step.old).decode("ascii"),
                "new": step.new_digest,
            }
            for step in act.steps
        ],
    }
    with paths.open_folder(root, FOLDER, make=True) as folder:
        atomic.replace(folder, act.name, json.dumps(content).encode(), mode=0o600)


def _load(root: Path, name: str) -> _Journal | None:
    """The journal; ``None`` when it is not one of ours (``check_workspace`` reports it)."""
    try:
        content = json.loads(root.joinpath(*FOLDER, name).read_bytes())
        steps = tuple(
            _Staged(
                paths.checked_parts(step["parts"]),
                step["temp"] if step["temp"] is None or atomic.is_temp(step["temp"]) else None,
                None if step["old"] is None else base64.b64decode(step["old"], validate=True),
                step["new"],
            )
            for step in content["steps"]
        )
        return _Journal(name, steps, undo=bool(content["undo"]))
    except (OSError, ValueError, KeyError, TypeError, PathRefused):
        return None


def _finish(root: Path, act: _Journal) -> None:
    """The act is over: remove its journal."""
    with paths.open_folder(root, FOLDER) as folder:
        atomic.remove(folder, act.name)
