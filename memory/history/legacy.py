"""Import of the history of older programs, ``memory/HISTORY.md``, which is then set aside.

Its entries go into ``memory/history.jsonl`` with their timestamps and count as read by Dream. It
is one transaction, which the next process completes after a crash. The old file stays, byte for
byte, under another name; when the history has entries already, nothing is imported.
"""

import codecs
import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import (
    line_files,
    locks,
    paths,
    stat_signature,
    transaction_journal,
    transactions,
)
from jenny.workspace.errors import FileTooLarge, PathRefused, WorkspaceError
from jenny.workspace.locks import Level
from jenny.workspace.redact import redact
from jenny.workspace.write_rules import Actor, Change, apply_rules
from memory import files
from memory.errors import CursorBroken
from memory.history import cursors, entries, log
from memory.history.entries import FILE, STAMP, HistoryEntry, Kind, render_entry

logger = logging.getLogger(__name__)

PATH = "memory/HISTORY.md"
KEPT = f"{PATH}.bak"
MOST_BYTES = 64_000_000
_ACTOR = Actor("pipeline", run="takeover")
# An entry begins with a date in brackets; other lines belong to the entry before.
_BEGINS = re.compile(r"\[\d{4}-\d{2}-\d{2}[^\]\n]*\]")
_STAMP = re.compile(r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\][ \t]*")
# A raw entry: a number of messages, each with date and speaker.
_RAW = re.compile(r"\[RAW\](?:[ \t]+([\d,]{1,9}))?")
_MESSAGE = re.compile(r"\[\d{4}-\d{2}-\d{2}[^\]\n]*\][ \t]+[A-Z][A-Z0-9_]*(?:[ \t]+\[[^\]\n]*\])?:")


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The count of imported entries and the old file's new name."""

    entries: int
    kept: str


def is_there(root: Path) -> bool:
    """True when the workspace has an older history, imported or not."""
    return os.path.lexists(f"{root}/{PATH}")


def take_over(root: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> TakenOver | None:
    """Import the older history when the history is empty; ``None`` when there was nothing to do.
    The thread must not hold the history lock.

    Raises:
        PathRefused, FileTooLarge: it is no plain file, or larger than 64 MB.
        LockTimeout, WriteRefused, WriteFailed: nothing was changed.
    """
    real = paths.real_root(root)
    if not is_there(real) or _has_entries(real):
        return None
    with (
        transactions.lock_workspace(real, timeout=timeout),
        locks.hold(real, Level.HISTORY, timeout=timeout),
    ):
        # Another process may have imported it.
        if _has_entries(real) or (old := _old(real)) is None:
            return None
        data, modified = old
        kept = _free_name(real)
        text = decoded(data)
        lines = _lines(real, text, modified)
        changes = [Change(kept, None, data, _ACTOR, real)]
        if lines:
            last = b"%d\n" % lines[-1].cursor
            content = b"".join(map(render_entry, lines))
            for path, new in ((FILE, content), (files.CURSOR, last), (cursors.COUNTER, last)):
                changes.append(Change(path, _there(real, path), new, _ACTOR, real))
        changes.append(Change(PATH, data, None, _ACTOR, real))
        apply_rules(changes)
        transactions.commit_transaction(
            real, [transaction_journal.step(change) for change in changes]
        )
    done = TakenOver(len(lines), kept)
    logger.info("history.taken_over", extra={"entries": done.entries, "kept": done.kept})
    return done


def problem(root: Path) -> str:
    """Return why an older history cannot be imported, or an empty string."""
    try:
        if _has_entries(root):
            return f"{FILE} has notes already, so that both would be mixed."
        _old(root)
    except WorkspaceError as error:
        return error.message
    return ""


def kept(root: Path) -> list[str]:
    folder = (root / KEPT).parent
    return sorted(f"memory/{path.name}" for path in folder.glob(f"{Path(KEPT).name}*"))


def before_adding(real: Path, *, timeout: float = locks.TIMEOUT_SECONDS) -> None:
    """Import it before the first entry is added: later it would be too late. An unreadable one
    stops nobody and is reported by ``check_workspace``.

    Raises:
        LockTimeout, WriteRefused, WriteFailed: nothing was changed.
    """
    if not is_there(real) or locks.holds(real, Level.HISTORY):
        return
    try:
        take_over(real, timeout=timeout)
    except (PathRefused, FileTooLarge) as error:
        logger.warning("history.not_taken_over", extra={"cause": type(error).__name__})


def if_free(root: Path) -> None:
    """Import it unless the history is locked or the import is blocked; then the writer of the
    first entry does it."""
    if is_there(root) and not locks.holds_any():
        with suppress(WorkspaceError):
            take_over(root, timeout=0)


def decoded(data: bytes) -> str:
    """Decode an older history. Invalid bytes become U+FFFD; the file set aside keeps them."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return data.decode("utf-8-sig", "replace")


def parts(text: str) -> Iterator[str]:
    """Yield the entries, oldest first: blank lines separate them, and a date begins one. The
    messages of a raw entry belong together whatever blank lines they have."""
    current: list[str] = []
    was_blank = False
    messages = awaited = 0
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        is_message = awaited > 0 and _MESSAGE.match(line) is not None
        begins = was_blank and not messages < awaited and not is_message
        if current and line.strip() and (begins or (_BEGINS.match(line) and not is_message)):
            yield "\n".join(current).strip()
            current, messages, awaited, is_message = [], 0, 0, False
        if not current and not line.strip():
            continue
        if not current:
            awaited = _awaited(line)
        messages += is_message
        current.append(line)
        was_blank = not line.strip()
    if current:
        yield "\n".join(current).strip()


def _awaited(line: str) -> int:
    stamp = _STAMP.match(line)
    raw = _RAW.match(line, stamp.end() if stamp else 0)
    if raw is None:
        return 0
    return max(int((raw[1] or "1").replace(",", "") or 1), 1)


def _lines(real: Path, text: str, modified: float) -> list[HistoryEntry]:
    """Build the entries. Numbers that were given out once are not used again."""
    undated = stat_signature.moment_of(modified).astimezone(entries.load_zone(real)).strftime(STAMP)
    cursor = max(log.highest_archived_cursor(real), cursors.counter(real) or 0, _read_to(real))
    made: list[HistoryEntry] = []
    for number, part in enumerate(parts(clean(text)), 1):
        stamp = _STAMP.match(part)
        timestamp = stamp[1] if stamp and _is_date(stamp[1]) else ""
        said = (part[stamp.end() :].strip() if stamp and timestamp else part) or part
        kind: Kind = "raw" if _RAW.match(said) else "summary"
        contents = entries.split_text(redact(said).text, kind)
        entry = HistoryEntry(0, timestamp or undated, "", kind)
        for at, content in enumerate(contents, 1):
            cursor += 1
            one = replace(entry, cursor=cursor, content=content)
            if len(contents) > 1:
                one = replace(one, group=f"old-{number}", part=(at, len(contents)))
            made.append(one)
    return made


def _is_date(stamp: str) -> bool:
    try:
        datetime.strptime(stamp, STAMP)  # noqa: DTZ007  (local time, as every stamp is)
    except ValueError:
        return False
    return True


def _has_entries(real: Path) -> bool:
    with line_files.open_lines(real, FILE) as file:
        return file is not None and bool(file.read(0, min(file.size, 65_536)).strip())


def _old(real: Path) -> tuple[bytes, float] | None:
    """Return the older history's bytes and its modification time."""
    with line_files.open_lines(real, PATH) as file:
        if file is None:
            return None
        if file.size > MOST_BYTES:
            message = (
                f"{PATH} has {file.size:,} bytes; at most {MOST_BYTES:,} are taken over. Split it: "
                "what is oldest can stay outside."
            )
            raise FileTooLarge(message)
        return file.read(0, file.size), (real / PATH).lstat().st_mtime


def _there(real: Path, path: str) -> bytes | None:
    with line_files.open_lines(real, path) as file:
        return None if file is None else file.read(0, file.size)


def _read_to(real: Path) -> int:
    with suppress(CursorBroken):
        return cursors.dream_cursor(real)
    return 0


def _free_name(real: Path) -> str:
    """Return an unused name for the file set aside."""
    name, number = KEPT, 1
    while os.path.lexists(real / name):
        number += 1
        name = f"{KEPT}.{number}"
    return name
