"""What is wrong with the history and its cursors, for ``check_workspace``."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jenny.workspace import linefile
from jenny.workspace.check import Finding
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions.history import open_history
from memory import files
from memory.errors import CursorBroken
from memory.history import compaction, cursors, legacy, log, reading, tail
from memory.history.entries import parse

_LISTED = 5


def check(root: Path, *, repair: bool) -> Iterator[Finding]:
    """Lines that hold no entry, an end that was never finished, cursors that are no numbers, and
    how much waits for Dream."""
    yield from _older(root, repair=repair)
    yield from _dream_cursor(root, repair=repair)
    yield from _lines(root, repair=repair)
    yield from _counter(root, repair=repair)
    yield from _kept_aside(root)


def _older(root: Path, *, repair: bool) -> Iterator[Finding]:
    """The history of an older program: still to be taken over, in the way, or set aside."""
    problem = ""
    if legacy.is_there(root) and repair:
        try:
            legacy.take_over(root)
        except WorkspaceError as error:
            problem = error.sentence
    if problem or (legacy.is_there(root) and (problem := legacy.problem(root))):
        sentence = f"The history of an older program is not taken over: {problem}"
        yield Finding(legacy.PATH, sentence, "Put it right, move it elsewhere, or delete it.")
    elif legacy.is_there(root):
        sentence = "The history of an older program. It is taken over with the next message."
        yield Finding(legacy.PATH, sentence, "None is needed; repair does it now.", "note")
    for name in legacy.kept(root):
        sentence = f"The history of an older program, taken over into {log.PATH}."
        yield Finding(name, sentence, "Nothing reads it. Delete it when you like.", "note")


def _lines(root: Path, *, repair: bool) -> Iterator[Finding]:
    found = reading.look(root)
    if found.skipped:
        lines = _listed(found.skipped)
        sentence = f"{_count(len(found.skipped), 'line')} hold no entry and are skipped: {lines}."
        cure = f"Correct the line. Repair moves it to {tail.CUT}."
        if repair:
            _move_aside(root)
            cure = f"Moved to {tail.CUT}."
        yield Finding(log.PATH, sentence, cure, repaired=repair)
    if found.unfinished:
        if repair:
            with log.writing(root) as (real, file):
                tail.mend(real, file, log.ACTOR)
        sentence = "Its end was never finished: a process was stopped while it was writing."
        cure = (
            f"Moved to {tail.CUT}." if repair else "The next entry puts it right; so does repair."
        )
        yield Finding(log.PATH, sentence, cure, "note", repaired=repair)
    if found.twice:
        sentence = f"Several entries have the same cursor: {_listed(found.twice)}."
        cure = "None is needed: all of them are read."
        yield Finding(log.PATH, sentence, cure, "note")
    if warning := compaction.backlog_warning(found.waiting):
        yield Finding(log.PATH, warning, "Run `manage.py dream`, or see Settings → Memory.")


def _dream_cursor(root: Path, *, repair: bool) -> Iterator[Finding]:
    try:
        cursors.dream_cursor(root)
    except CursorBroken as error:
        if not repair:
            cure = "Repair takes the number of its newest version that has one, else 0."
            yield Finding(files.CURSOR, error.sentence, cure)
            return
        value = _versioned_cursor(root)
        cursors.set_dream_cursor(root, value, log.ACTOR)
        cure = f"It is {value:,} now, so Dream reads again whatever came after that."
        yield Finding(files.CURSOR, error.sentence, cure, repaired=True)


def _versioned_cursor(root: Path) -> int:
    """Dream's cursor in the newest version that has a right one; 0 when none has."""
    with suppress(VersionsOff), open_history(root) as history:
        for version in history.walk():
            value = cursors.number(history.file_as_of(files.CURSOR, version.sha) or b"")
            if value is not None:
                return value
    return 0


def _counter(root: Path, *, repair: bool) -> Iterator[Finding]:
    """A counter that is no number is derived at the next entry; an absent one too."""
    with suppress(WorkspaceError), linefile.open_lines(root, cursors.COUNTER) as file:
        if file is None or cursors.counter(root) is not None:
            return
    if repair:
        with log.writing(root) as (real, growing):
            log.note_last(growing, log.highest(real, growing))
    sentence = "It is no number. Cursors are given out all the same: they follow from the history."
    cure = "Written anew." if repair else "The next entry writes it anew; so does repair."
    yield Finding(cursors.COUNTER, sentence, cure, "note", repaired=repair)


def _kept_aside(root: Path) -> Iterator[Finding]:
    with linefile.open_lines(root, tail.CUT) as file:
        size = file.size if file else 0
    if size:
        sentence = f"It keeps {size:,} bytes that were no entries of the history."
        yield Finding(tail.CUT, sentence, "Delete it when nothing in it is needed.", "note")


def _move_aside(root: Path) -> None:
    """Move lines that hold no entry out of the history."""
    with log.writing(root) as (real, file):
        tail.mend(real, file, log.ACTOR)
        lines = [line.data for line in tail.lines_back(file)][::-1]
        bad = [line for line in lines if parse(line) is None]
        if not bad:
            return
        with linefile.open_growing(real, tail.CUT, log.ACTOR) as kept:
            kept.add(b"".join(line + b"\n" for line in bad))
        good = [line for line in lines if parse(line) is not None]
        linefile.put(real, log.PATH, b"".join(line + b"\n" for line in good), log.ACTOR)


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(f"{number:,}" for number in numbers[:_LISTED])
    more = len(numbers) - _LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
