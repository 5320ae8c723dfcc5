"""Ledgers of people's decisions: files of JSON lines that are only added to.

Unreadable lines and unknown keys stay. A reader makes the safest assumption about an unreadable
line (``memory.checks`` names it). A row holds until one with a later time says otherwise,
so two copies of a ledger can be merged line by line.
"""

import datetime as dt
import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from jenny.agent.messages import clean_value
from jenny.workspace import transaction_journal, transactions
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.write_rules import Actor, Change

ACTOR = Actor("pipeline", run="ledger")
# Tolerated difference between the clocks of two machines.
_AHEAD = dt.timedelta(days=1)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger as read: rows by time, numbers of unreadable lines, and why it cannot be read at
    all.

    ``numbers`` has the line of each row; ``damaged`` the bytes of unreadable lines.
    """

    rows: tuple[dict[str, Any], ...] = ()
    skipped: tuple[int, ...] = ()
    problem: str = ""
    numbers: tuple[int, ...] = ()
    damaged: tuple[bytes, ...] = ()

    def checked_rows(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Yield each row, and whether every line below it can be read. A damaged line may have
        reverted the rows before it."""
        last = max(self.skipped, default=0)
        for row, number in zip(self.rows, self.numbers, strict=True):
            yield row, number > last

    def damaged_texts(self, key: str) -> tuple[str | None, ...]:
        """Return what each damaged line has under *key*, ``None`` where that cannot be read."""
        pattern = re.compile(rb'"%s": ?"([^"\\\x00-\x1f]{1,4000})"' % key.encode())
        found = (pattern.search(line) for line in self.damaged)
        return tuple(match and match[1].decode("utf-8", "replace") for match in found)


def read_ledger(root: Path, path: str) -> Ledger:
    """Read the ledger at *path*; a missing one is empty."""
    try:
        data = content(root, path)
    except OSError as error:
        return Ledger(problem=f"{path} cannot be read: {error.strerror or error}.")
    return parsed(data or b"")


def parsed(data: bytes) -> Ledger:
    rows: list[tuple[str, int, dict[str, Any]]] = []
    skipped: dict[int, bytes] = {}
    at = ""
    # A row with a time in the future would hold for ever, whatever is decided later.
    latest = (dt.datetime.now(dt.UTC) + _AHEAD).isoformat(timespec="microseconds")
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        row = _row(line)
        if row is None:
            skipped[number] = line
            continue
        given = row.get("at")
        at = given if isinstance(given, str) and given <= latest else at
        rows.append((at, number, row))
    rows.sort(key=itemgetter(0))
    return Ledger(
        tuple(row for _, _, row in rows),
        tuple(skipped),
        numbers=tuple(number for _, number, _ in rows),
        damaged=tuple(skipped.values()),
    )


def content(root: Path, path: str) -> bytes | None:
    """Read the ledger without following links; ``None`` without one.

    Raises:
        OSError: it is no plain file, or cannot be read.
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
    """True when something else than a plain file has the ledger's name."""
    try:
        return not stat.S_ISREG((root / path).lstat().st_mode)
    except OSError:
        return False


def added(root: Path, path: str, rows: Sequence[dict[str, Any]], old: Change | None) -> Change:
    """Return the change that adds *rows*; *old* is an earlier change of the same write.

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
    with transactions.lock_workspace(root):
        transactions.commit_transaction(
            root, [transaction_journal.step(change) for change in changes]
        )


def now() -> str:
    """Return the time of a row: UTC in microseconds, which sorts as text."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line.decode("utf-8").removeprefix("\ufeff"))
        # Only an escape can be half a surrogate pair or NUL, which no page can show.
        row = clean_value(row) if b"\\u" in line else row
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
