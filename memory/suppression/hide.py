"""Leaves forgotten text out of prompts, of what tools show of files, history entries and restored
files."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.agent.tools.toolbox import SPILL_FOLDER
from jenny.workspace import names, paths
from jenny.workspace.errors import PathRefused
from memory import files
from memory.archive import file_format
from memory.facts import Fact, facts, replaced_units, reworded, units
from memory.history.entries import HistoryEntry, parse_entry
from memory.paraphrases import ParaphraseMatcher
from memory.suppression import clauses, tombstones
from memory.suppression.tombstones import State, Tombstone

# Files that are searched for forgotten things before a model sees them.
_SEARCHED = ("memory/", f"{files.SKILLS}/", f"{SPILL_FOLDER}/")
_FILES = frozenset({*(path.lower() for path in files.BY_PATH), files.INSTRUCTIONS.lower()})
# Clauses that are cut out of one sentence.
_CUTS = 5
# A longer sentence is left out whole: each of its clauses would have to be looked at.
_CUT_CHARS = 4_000
# What stands before the text of a line: the bullet and the tag, or the time and the speaker.
_HEAD = re.compile(r"\s*(?:[-*] )?(?:\[[^\]\n]{1,60}\] )?(?:[A-Z]+: )?")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Filtered:
    """A text without forgotten lines, and these lines with their tombstones."""

    text: str
    left_out: tuple[tuple[str, Tombstone], ...] = ()


def without(root: Path, text: str) -> Filtered:
    """Return *text* without the facts that are forgotten in the workspace.

    Used for prompts and restores; removed lines are returned, so that a page can bring them back.
    """
    return filtered(tombstones.state(root), text)


def view(root: Path) -> Callable[[str, str], str]:
    """Return a function that gives what a model may see of a file of the workspace by its path,
    however that is spelled.

    It raises ``PathRefused`` for the tombstones. Lines keep their numbers. Wikis and the person's
    other files are not searched.
    """

    def shown(path: str, text: str) -> str:
        with contextlib.suppress(PathRefused):
            path = paths.locate(paths.real_root(root), path, alias=root).relative
        plain = "/".join(names.disguised(part) for part in path.split("/"))
        if plain == tombstones.PATH:
            raise PathRefused(f"{names.shown(path)} is read by code alone and shown to no model.")
        is_searched = plain.startswith(_SEARCHED) or plain in _FILES
        state = tombstones.state(root) if is_searched else None
        if state is None or not state.active:
            return text
        name = path.removeprefix(f"{file_format.FOLDER}/")
        item = file_format.parse(name, text.encode("utf-8", "surrogateescape"))
        if item is not None and state.match(item.as_fact) is not None:
            raise PathRefused(f"{names.shown(path)} holds what was forgotten; it is not shown.")
        return filtered_file(state, plain, text)

    return shown


def filtered_file(state: State, path: str, text: str, wanted: set[int] | None = None) -> str:
    """Return the text of a file without what is forgotten. Lines keep their numbers. *wanted*:
    only what stands on these lines (from 1) is judged."""
    if path.lower().endswith(".jsonl"):
        return "".join(
            _entry_line(state, line) if wanted is None or number in wanted else line
            for number, line in enumerate(_LINE.findall(text), 1)
        )
    return filtered(state, text, keep_lines=True, wanted=wanted).text


def _entry_line(state: State, line: str) -> str:
    """Return a line of the history, or of a ledger, without what is forgotten."""
    entry = parse_entry(line.encode("utf-8", "surrogateescape"))
    if entry is None:
        return line if state.match(line) is None else _ending(line)
    left = filtered_entries(state, [entry])
    if not left:
        return _ending(line)
    if left[0].content == entry.content:
        return line
    row = json.loads(line) | {"content": left[0].content}
    return json.dumps(row, ensure_ascii=False) + _ending(line)


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def filtered(
    state: State, text: str, *, keep_lines: bool = False, wanted: set[int] | None = None
) -> Filtered:
    """Filter a text like ``without``, with a given state. *keep_lines*: the other lines keep their
    numbers. *wanted*: only what stands on these lines is judged."""
    if not state.active:
        return Filtered(text)
    lines: list[str] = _LINE.findall(text)
    left_out: list[tuple[str, Tombstone]] = []
    for fact in facts(text):
        if fact.kind == "rule":
            continue
        if wanted is not None and wanted.isdisjoint(range(fact.first, fact.last + 1)):
            continue
        found = state.match(fact)
        if found is None:
            continue
        left_out.append((fact.text, found))
        old = lines[fact.first - 1 : fact.last]
        _take_out(state, fact, lines)
        if keep_lines:
            new = lines[fact.first - 1 : fact.last]
            lines[fact.first - 1 : fact.last] = [
                after or _ending(before) for before, after in zip(old, new, strict=True)
            ]
    return Filtered("".join(lines) if left_out else text, tuple(left_out))


def without_forgotten(root: Path, entries: Iterable[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Return entries without what they say of forgotten facts; empty entries are dropped. The
    parts of a group are distinguished by their cursors."""
    return filtered_entries(tombstones.state(root), entries)


def filtered_entries(state: State, entries: Iterable[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Like ``without_forgotten``, for a given state."""
    if not state.active:
        return tuple(entries)
    found = []
    for entry in entries:
        lines = entry.content.split("\n")
        kept = [rest for line in lines if (rest := visible_line(state, line)) is not None]
        if kept == lines:
            found.append(entry)
        elif any(line.strip() for line in kept):
            found.append(replace(entry, content="\n".join(kept)))
    return tuple(found)


def _without_forgotten(state: State, sentence: str, fact: Fact | None = None) -> str:
    """Return a sentence, of *fact* where it stands in a file, without its clauses that are
    forgotten; empty when they cannot be cut out."""
    left = sentence
    for _ in range(_CUTS):
        found = state.match(replace(fact, text=left) if fact is not None else left)
        if found is None:
            return left
        if len(left) > _CUT_CHARS:
            break
        cuts = (_cut(left, text) for text in (found.text, found.value) if text)
        left = next(filter(None, cuts), "")
        if not left:
            break
    return ""


def _cut(sentence: str, text: str) -> str:
    matcher = ParaphraseMatcher([text])
    cut = clauses.cut_clause(
        sentence, text, lambda part: bool(matcher.named(part)), completes=False
    )
    return cut.rest if cut is not None else ""


def visible_line(state: State, line: str) -> str | None:
    """Return a line of the history without what it says of forgotten facts; ``None`` when nothing
    else is in it. A message that is kept word for word may be one long line."""
    if not line.strip() or state.match(line) is None:
        return line
    head = _HEAD.match(line)
    start = head[0] if head else ""
    parts = units(line[len(start) :])
    kept = [left.strip() for part in parts if (left := _without_forgotten(state, part))]
    if not kept or kept == [part.strip() for part in parts]:
        return None
    return start + " ".join(kept)


def _take_out(state: State, fact: Fact, lines: list[str]) -> None:
    """Remove a fact, or only its forgotten sentences, from the lines."""
    first, last = fact.first - 1, fact.last
    left = {unit: _without_forgotten(state, unit, fact) for unit in units(fact)}
    # A comment that loses its first or last line would be none.
    is_whole = fact.kind == "comment" or all(unit == rest for unit, rest in left.items())
    new = "" if is_whole else replaced_units(fact, left)
    rest = reworded("".join(lines[first:last]), fact, new) if new else ""
    rows: list[str] = _LINE.findall(rest)
    lines[first:last] = [*rows, *([""] * (last - first - len(rows)))]
