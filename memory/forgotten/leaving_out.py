"""Leaving forgotten text out of what is shown: files in prompts, entries of the history, files that
are restored."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from memory.facts import Fact, facts, units
from memory.forgotten import stones
from memory.forgotten.stones import State, Tombstone
from memory.history.entries import Entry

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Filtered:
    """A text without what is forgotten, and the lines that were left out, each with its
    tombstone."""

    text: str
    left_out: tuple[tuple[str, Tombstone], ...] = ()


def without(root: Path, text: str) -> Filtered:
    """A file's *text* without the facts that are forgotten in the workspace at *root*.

    For prompts, and for restoring: what is left out is named, so that a page can bring it back.
    """
    return filtered(stones.state(root), text)


def filtered(state: State, text: str) -> Filtered:
    """As ``without``, from what is forgotten."""
    if not state.active:
        return Filtered(text)
    lines: list[str] = _LINE.findall(text)
    left_out: list[tuple[str, Tombstone]] = []
    for fact in facts(text):
        if not fact.has_content:
            continue
        found = state.match(fact)
        if found is None:
            continue
        left_out.append((fact.text, found))
        _take_out(state, fact, lines)
    return Filtered("".join(lines) if left_out else text, tuple(left_out))


def without_forgotten(root: Path, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries of the history without the lines that speak of what is forgotten; those of which
    nothing is left are left out. A group's parts are told from each other by their cursors."""
    state = stones.state(root)
    if not state.active:
        return tuple(entries)
    found = []
    for entry in entries:
        lines = entry.content.split("\n")
        kept = [line for line in lines if not line.strip() or state.mentioned(line) is None]
        if len(kept) == len(lines):
            found.append(entry)
        elif any(line.strip() for line in kept):
            found.append(replace(entry, content="\n".join(kept)))
    return tuple(found)


def _take_out(state: State, fact: Fact, lines: list[str]) -> None:
    """Take a fact out of the lines, or only the sentences of it that are forgotten."""
    first, last = fact.first - 1, fact.last
    text = "".join(lines[first:last])
    kept = [unit for unit in units(fact) if state.match(unit) is None]
    is_whole = not kept or len(kept) == len(units(fact)) or "\n" in fact.text
    is_plain = not is_whole and fact.text in text
    end = "\n" if text.endswith("\n") else ""
    rest = text.replace(fact.text, " ".join(kept)) if is_plain else ""
    if not is_plain and not is_whole:
        rest = " ".join(kept) + end
    lines[first:last] = [rest, *([""] * (last - first - 1))]
