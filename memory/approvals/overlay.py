"""The state of a file with its pending changes.

Chats see pending lines marked, so that nobody takes them for decided; a Dream run sees them
applied. A flag file in the workspace says that anything is pending; without it the database is
not asked.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace import atomic, paths
from jenny.workspace.content import Reading
from jenny.workspace.locks import OWN_FOLDER
from memory import facts
from memory.approvals import merge
from memory.approvals.diff import split_lines
from memory.approvals.values import Piece, Staged, Waiting
from memory.suppression import tombstones
from memory.suppression.hide import filtered
from memory.suppression.tombstones import State

MARK = "waiting"
UNWANTED = "unwanted"
WAITS = "⟨waiting for the user's approval⟩"
_SHOWN = 300
_STRAY = 40

Source = Callable[[Path], Waiting]
_SOURCES: dict[str, Source] = {}

ABOUT = (
    "Marks in ⟨ ⟩ are not in the file: Dream would write so, and the user has not agreed yet. Take "
    "such a line for likely, not for settled, and edit only what stands in the file."
)


def register_sources(waiting: Source, unwanted: Source) -> None:
    """Register the functions that return a workspace's pending and rejected changes by its
    folder."""
    _SOURCES.update({MARK: waiting, UNWANTED: unwanted})


def waiting(root: Path) -> Waiting:
    """Return what is pending; the source is only asked when the flag file exists."""
    return _asked(root, MARK)


def unwanted(root: Path) -> Waiting:
    """Return what the person rejected, and what they kept."""
    return _asked(root, UNWANTED)


def _asked(root: Path, name: str) -> Waiting:
    if name not in _SOURCES or not flag_is_set(root, name):
        return Waiting()
    return _SOURCES[name](root)


def applied(found: Waiting, path: str, text: str | None) -> str | None:
    """Return the file's text with the pending changes applied."""
    return merge.merge_hunks(text, [row.piece for row in found.of(path)]).text


def overlay(root: Path, path: str, text: str) -> str:
    """Return a memory file's text for chats: pending lines marked, forgotten lines left out."""
    state = tombstones.state(root)
    return _overlay(waiting(root).of(path), text, state)


def _overlay(rows: Sequence[Staged], text: str, state: State) -> str:
    shown = [row for row in rows if not is_forgotten(state, row.piece)]
    kept = filtered(state, text).text
    if not shown:
        return kept
    placed = merge.merge_hunks(kept, [_marked(row.piece) for row in shown])
    conflicts = [shown[number] for number in placed.conflicts]
    return "\n".join([(placed.text or "").rstrip("\n"), *_conflicts(conflicts)]).strip("\n") + "\n"


def overlaid(root: Path, path: str, reading: Reading, state: State) -> Reading | None:
    """Return a reading of a memory file as ``overlay``; ``None`` when nothing is pending."""
    rows = waiting(root).of(path)
    if all(is_forgotten(state, row.piece) for row in rows):
        return None
    text = _overlay(rows, reading.text, state)
    return replace(reading, text=text, data=text.encode(), is_missing=False)


def skill_rows(root: Path) -> Iterator[str]:
    """Yield a line for each pending skill, for the list of skills."""
    state = tombstones.state(root)
    for row in waiting(root).staged:
        if row.piece.kind == "skill" and not is_forgotten(state, row.piece):
            what = "a change of it waits" if row.piece.before else "it is no file yet, and waits"
            yield f"- {row.path}: ⟨{what} for the user's approval⟩"


def is_forgotten(state: State, piece: Piece) -> bool:
    said = (*piece.before, *piece.after)
    if not state.active:
        return False
    every = facts.facts("\n".join(said))
    return any(fact.has_content and state.match(fact) is not None for fact in every)


def _marked(piece: Piece) -> Piece:
    """Return the piece for display: nothing is removed, and added lines are marked."""
    if piece.kind == "remove":
        return replace(piece, kind="change", after=_with(piece.before, "to be taken out; "))
    instead = " ".join(" ".join(piece.before).split())
    note = f"instead of “{one_line(instead, _SHOWN)}”; " if piece.kind == "change" else ""
    return replace(piece, after=_with(piece.after, note))


def _with(lines: tuple[str, ...], note: str) -> tuple[str, ...]:
    """Append the mark to each line that has content."""
    marked = WAITS.replace("⟨", f"⟨{note}") if note else WAITS
    headings = {row.first - 1 for row in facts.facts("\n".join(lines)) if not row.has_content}
    return tuple(
        line if not line.strip() or number in headings else f"{line.rstrip()} {marked}"
        for number, line in enumerate(lines)
    )


def _conflicts(rows: list[Staged]) -> Iterator[str]:
    """Yield pending changes that have no place in the present file."""
    for row in rows[:_STRAY]:
        said = " ".join(" ".join(row.piece.after or row.piece.before).split())
        what = "" if row.piece.after else "to be taken out; "
        yield f"{one_line(said, _SHOWN)} ⟨{what}{WAITS[1:]}"


def format_waiting(found: Waiting) -> Iterator[str]:
    """Yield a line for each pending change, for a Dream run."""
    for row in found.staged:
        gone, came = (one_line(" ".join(_said(lines)), _SHOWN) for lines in _sides(row.piece))
        if row.piece.kind == "skill":
            yield f"* {row.path}: {'another text' if row.piece.before else 'a new skill'}"
        elif not gone:
            yield f"* {row.path}: to be added: {came}"
        elif not came:
            yield f"* {row.path}: to be taken out: {gone}"
        else:
            yield f"* {row.path}: “{gone}” is to become “{came}”"


def _sides(piece: Piece) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return piece.before, piece.after


def _said(lines: tuple[str, ...]) -> list[str]:
    return [line.strip() for line in split_lines("\n".join(lines)) if line.strip()]


# Flag files: empty files that say that the database has rows to ask for. A workspace is read
# hundreds of times an hour; the flag saves the query when there are no rows.

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def flag_is_set(root: Path, name: str) -> bool:
    return os.path.lexists(f"{root}/{OWN_FOLDER}/{name}")


def set_flag(root: Path, name: str) -> None:
    """Set the flag, before the rows exist. The workspace's lock is held.

    Raises:
        OSError: the disk refused.
    """
    with paths.open_folder(root, (OWN_FOLDER,), make=True) as folder:
        os.close(os.open(name, _FLAGS, 0o600, dir_fd=folder))


def clear_flag(root: Path, name: str) -> None:
    """Clear the flag, after the rows are gone. The workspace's lock is held."""
    with contextlib.suppress(FileNotFoundError), paths.open_folder(root, (OWN_FOLDER,)) as folder:
        atomic.remove(folder, name)
