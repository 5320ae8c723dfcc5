"""Findings about the history and its cursors, for ``check_workspace``."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jenny.workspace import line_files
from jenny.workspace.check import Finding
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions.history import open_history
from memory import files
from memory.errors import CursorBroken
from memory.history import cursors, file_tail, legacy, log, reader
from memory.history.entries import parse_entry

_LISTED = 5


def check_history(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Find lines without an entry, an unfinished end and broken cursors, and report how much
    waits for Dream."""
    yield from _older(root, repair=repair)
    yield from _dream_cursor(root, repair=repair)
    yield from _lines(root, repair=repair)
    yield from _counter(root, repair=repair)
    yield from _kept_aside(root)


def _older(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Report a history of an older program: to be taken over, blocked, or set aside."""
    problem = ""
    if legacy.is_there(root) and repair:
        try:
            legacy.take_over(root)
        except WorkspaceError as error:
            problem = error.message
    if problem or (legacy.is_there(root) and (problem := legacy.problem(root))):
        message = f"The history of an older program is not taken over: {problem}"
        yield Finding(legacy.PATH, message, "Put it right, move it elsewhere, or delete it.")
    elif legacy.is_there(root):
        message = "The history of an older program. It is taken over with the next message."
        yield Finding(legacy.PATH, message, "None is needed; repair does it now.", "note")
    for name in legacy.kept(root):
        message = f"The history of an older program, taken over into {log.PATH}."
        yield Finding(name, message, "Nothing reads it. Delete it when you like.", "note")


def _lines(root: Path, *, repair: bool) -> Iterator[Finding]:
    found = reader.read_all(root)
    if found.skipped:
        lines = _listed(found.skipped)
        message = f"{_count(len(found.skipped), 'line')} hold no note and are skipped: {lines}."
        cure = f"Correct the line. Repair moves it to {file_tail.CUT}."
        if repair:
            _move_aside(root)
            cure = f"Moved to {file_tail.CUT}."
        yield Finding(log.PATH, message, cure, repaired=repair)
    if found.unfinished:
        if repair:
            with log.writing(root) as (real, file):
                file_tail.mend(real, file, log.ACTOR)
        message = "Its end was never finished: a process was stopped while it was writing."
        cure = (
            f"Moved to {file_tail.CUT}."
            if repair
            else "The next note puts it right; so does repair."
        )
        yield Finding(log.PATH, message, cure, "note", repaired=repair)
    if found.twice:
        message = f"Several notes have the same number: {_listed(found.twice)}."
        cure = "None is needed: all of them are read."
        yield Finding(log.PATH, message, cure, "note")
    if warning := log.backlog_warning(found.waiting):
        yield Finding(log.PATH, warning, "Run `manage.py dream`, or see Settings → Memory updates.")


def _dream_cursor(root: Path, *, repair: bool) -> Iterator[Finding]:
    try:
        cursors.dream_cursor(root)
    except CursorBroken as error:
        if not repair:
            cure = "Repair takes the number of its newest version that has one, else 0."
            yield Finding(files.CURSOR, error.message, cure)
            return
        value = _versioned_cursor(root)
        cursors.set_dream_cursor(root, value, log.ACTOR)
        cure = f"It is {value:,} now, so Dream reads again whatever came after that."
        yield Finding(files.CURSOR, error.message, cure, repaired=True)


def _versioned_cursor(root: Path) -> int:
    """Return Dream's cursor in the newest version with a valid one; 0 without any."""
    with suppress(VersionsOff), open_history(root) as history:
        for version in history.walk():
            value = cursors.number(history.file_as_of(files.CURSOR, version.sha) or b"")
            if value is not None:
                return value
    return 0


def _counter(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Report a counter that is no number; the next entry derives it anew."""
    with suppress(WorkspaceError), line_files.open_lines(root, cursors.COUNTER) as file:
        if file is None or cursors.counter(root) is not None:
            return
    if repair:
        with log.writing(root) as (real, growing):
            log.note_last(growing, log.highest_cursor(real, growing))
    message = "It is no number. Notes are numbered all the same: they follow from the history."
    cure = "Written anew." if repair else "The next note writes it anew; so does repair."
    yield Finding(cursors.COUNTER, message, cure, "note", repaired=repair)


def _kept_aside(root: Path) -> Iterator[Finding]:
    with line_files.open_lines(root, file_tail.CUT) as file:
        size = file.size if file else 0
    if size:
        message = f"It keeps {size:,} bytes that were no notes of the history."
        yield Finding(file_tail.CUT, message, "Delete it when nothing in it is needed.", "note")


def _move_aside(root: Path) -> None:
    """Move lines without an entry out of the history."""
    with log.writing(root) as (real, file):
        file_tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in file_tail.lines_back(file)][::-1]
        bad = [line for line in lines if parse_entry(line) is None]
        if not bad:
            return
        with line_files.open_growing(real, file_tail.CUT, log.ACTOR) as kept:
            kept.add(b"".join(line + b"\n" for line in bad))
        good = [line for line in lines if parse_entry(line) is not None]
        line_files.replace_line_file(
            real, log.PATH, b"".join(line + b"\n" for line in good), log.ACTOR
        )


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(f"{number:,}" for number in numbers[:_LISTED])
    more = len(numbers) - _LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
