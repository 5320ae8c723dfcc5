"""What is shown of a file while something waits for it.

Chats are shown it with marks, so that nobody takes it for settled; a run of Dream is shown it as if
it stood there, and goes on from it. A mark in the workspace's own folder says that anything waits
at all: without it nobody is asked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace import marks
from jenny.workspace.reading import Reading
from memory import facts
from memory.approval import placing
from memory.approval.text_lines import lines_of
from memory.approval.values import Piece, Staged, Waiting
from memory.forgotten import stones
from memory.forgotten.leaving_out import filtered
from memory.forgotten.stones import State

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
    """Let these say what a workspace has waiting, and what its person did not want, by its
    folder."""
    _SOURCES.update({MARK: waiting, UNWANTED: unwanted})


def waiting(root: Path) -> Waiting:
    """What waits in the workspace at *root*; nobody is asked where nothing does."""
    return _asked(root, MARK)


def unwanted(root: Path) -> Waiting:
    """What the person of the workspace at *root* rejected, and what they kept."""
    return _asked(root, UNWANTED)


def _asked(root: Path, name: str) -> Waiting:
    if name not in _SOURCES or not marks.is_set(root, name):
        return Waiting()
    return _SOURCES[name](root)


def applied(found: Waiting, path: str, text: str | None) -> str | None:
    """The file's text with what waits for it, as if it stood there."""
    return placing.put(text, [row.piece for row in found.of(path)]).text


def overlay(root: Path, path: str, text: str) -> str:
    """A memory file's text as chats are shown it: with what waits, each line of it marked, and
    without what is forgotten."""
    state = stones.state(root)
    return _overlay(waiting(root).of(path), text, state)


def _overlay(rows: Sequence[Staged], text: str, state: State) -> str:
    shown = [row for row in rows if not is_forgotten(state, row.piece)]
    kept = filtered(state, text).text
    if not shown:
        return kept
    placed = placing.put(kept, [_marked(row.piece) for row in shown])
    strays = [shown[number] for number in placed.conflicts]
    return "\n".join([(placed.text or "").rstrip("\n"), *_strays(strays)]).strip("\n") + "\n"


def overlaid(root: Path, path: str, reading: Reading, state: State) -> Reading | None:
    """A reading of a memory file with what waits for it, as ``overlay``; ``None``: nothing does."""
    rows = waiting(root).of(path)
    if all(is_forgotten(state, row.piece) for row in rows):
        return None
    text = _overlay(rows, reading.text, state)
    return replace(reading, text=text, data=text.encode(), is_missing=False)


def skill_rows(root: Path) -> Iterator[str]:
    """A line for each skill that waits, for the list of skills."""
    state = stones.state(root)
    for row in waiting(root).staged:
        if row.piece.kind == "skill" and not is_forgotten(state, row.piece):
            what = "a change of it waits" if row.piece.before else "it is no file yet, and waits"
            yield f"- {row.path}: ⟨{what} for the user's approval⟩"


def is_forgotten(state: State, piece: Piece) -> bool:
    """Whether a piece says what the user had forgotten."""
    said = (*piece.before, *piece.after)
    if not state.active:
        return False
    every = facts.facts("\n".join(said))
    return any(fact.has_content and state.match(fact) is not None for fact in every)


def _marked(piece: Piece) -> Piece:
    """The piece as it is shown: nothing goes, and what comes is marked."""
    if piece.kind == "remove":
        return replace(piece, kind="change", after=_with(piece.before, "to be taken out; "))
    instead = " ".join(" ".join(piece.before).split())
    note = f"instead of “{one_line(instead, _SHOWN)}”; " if piece.kind == "change" else ""
    return replace(piece, after=_with(piece.after, note))


def _with(lines: tuple[str, ...], note: str) -> tuple[str, ...]:
    """The lines, each that says something with the mark behind it."""
    marked = WAITS.replace("⟨", f"⟨{note}") if note else WAITS
    headings = {row.first - 1 for row in facts.facts("\n".join(lines)) if not row.has_content}
    return tuple(
        line if not line.strip() or number in headings else f"{line.rstrip()} {marked}"
        for number, line in enumerate(lines)
    )


def _strays(rows: list[Staged]) -> Iterator[str]:
    """What waits and has no place in the file as it is now."""
    for row in rows[:_STRAY]:
        said = " ".join(" ".join(row.piece.after or row.piece.before).split())
        what = "" if row.piece.after else "to be taken out; "
        yield f"{one_line(said, _SHOWN)} ⟨{what}{WAITS[1:]}"


def listed(found: Waiting) -> Iterator[str]:
    """What waits, a line each, for a run of Dream."""
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
    return [line.strip() for line in lines_of("\n".join(lines)) if line.strip()]
