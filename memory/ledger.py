"""Ledgers that people's decisions are kept in: files of JSON lines that are only added to.

A line that cannot be read (cut short, edited by hand) is passed over and stays where it is, and
so do keys that are not known here. What a line says holds until a later one says otherwise, by
its time, so that two copies of a ledger can be put together line by line.
"""

import datetime as dt
import errno
import json
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jenny.workspace import acts, journal
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.rules import Actor, Change

ACTOR = Actor("pipeline", run="ledger")
# How far the clocks of two machines may be apart.
_AHEAD = dt.timedelta(days=1)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger as read: its rows in the order of their times, the numbers of the lines that are
    none, and why it cannot be read at all, if so."""

    rows: tuple[dict[str, Any], ...] = ()
    skipped: tuple[int, ...] = ()
    problem: str = ""


def read(root: Path, path: str) -> Ledger:
    """The ledger at *path*; a missing one is empty."""
    try:
        data = content(root, path)
    except OSError as error:
        return Ledger(problem=f"{path} cannot be read: {error.strerror or error}.")
    return parsed(data or b"")


def parsed(data: bytes) -> Ledger:
    """The ledger that these bytes are."""
    rows: list[tuple[str, dict[str, Any]]] = []
    skipped: list[int] = []
    at = ""
    # A line that says it is of the future would hold for ever, whatever is decided later.
    latest = (dt.datetime.now(dt.UTC) + _AHEAD).isoformat(timespec="microseconds")
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        row = _row(line)
        if row is None:
            skipped.append(number)
            continue
        given = row.get("at")
        at = given if isinstance(given, str) and given <= latest else at
        rows.append((at, row))
    rows.sort(key=lambda pair: pair[0])
    return Ledger(tuple(row for _, row in rows), tuple(skipped))


def content(root: Path, path: str) -> bytes | None:
    """The ledger's bytes, no link followed; ``None``: there is none.

    Raises:
        OSError: something else stands there, or it may not be read.
    """
    try:
        fd = os.open(root / path, _FLAGS)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def is_odd(root: Path, path: str) -> bool:
    """Whether something else than a plain file stands in the ledger's place."""
    try:
        return not stat.S_ISREG((root / path).lstat().st_mode)
    except OSError:
        return False


def added(root: Path, path: str, rows: Sequence[dict[str, Any]], old: Change | None) -> Change:
    """The change that adds *rows*; *old* is one of the same act that has added others.

    Raises:
        WriteFailed: the ledger cannot be read, so nothing may be added to it.
    """
    try:
        before = old.old if old else content(root, path)
    except OSError as error:
        message = f"{path} cannot be read: {reason_of(error)}. Nothing was written."
        raise WriteFailed(message) from error
    data = (old.new if old else before) or b""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    lines = (json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") for row in rows)
    return Change(path, before, data + b"".join(line + b"\n" for line in lines), ACTOR, root)


def land(root: Path, changes: Iterable[Change]) -> None:
    """Write the changes durably, all or none, under the workspace's lock.

    Raises:
        WriteFailed, LockTimeout: nothing was written.
    """
    with acts.locked(root):
        acts.carry_out(root, [journal.step(change) for change in changes])


def now() -> str:
    """The time of a row: UTC to the microsecond, so that rows sort as text."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line.decode("utf-8").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
