"""Looking up what is not in the memory files any more: archived facts, by id or by words, and
entries of the history. What was forgotten is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from jenny.workspace import linefile, paths
from jenny.workspace.errors import PathRefused
from memory import archive
from memory.archive import Archived, Standing
from memory.facts import fold
from memory.forgotten import stones, without_forgotten
from memory.history import archive as segments
from memory.history import log, tail
from memory.history.entries import Entry, parse

MOST = 20
# So many lines of the history and of each month's segment are looked through, newest first.
_LOOKED_AT = 50_000


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found. *hidden*: how many archived texts would have been, were they not
    forgotten. *standing*: which of the facts stand in a memory file again, by id."""

    facts: tuple[Archived, ...] = ()
    entries: tuple[Entry, ...] = ()
    hidden: int = 0
    standing: Mapping[str, Standing] = field(default_factory=dict)


def recall(root: Path, query: str, *, most: int = MOST) -> Recalled:
    """What the archive and the history hold for *query*: the beginning of an id (4 digits or
    more), or words.

    Raises:
        PathRefused: the history cannot be read.
    """
    real = paths.real_root(root)
    plain = query.strip()
    found: tuple[Archived, ...] = ()
    if is_id(plain):
        found = archive.find(real, plain)
    if found:
        shown = _known(real, found)
        hidden = len(found) - len(shown)
        return Recalled(shown[:most], (), hidden, archive.standing(real, shown[:most]))
    found = archive.search(real, plain, most=3 * most)
    shown = _known(real, found)
    entries = tuple(
        entry
        for entry in without_forgotten(real, _said(real, plain))
        if all(word in fold(entry.content) for word in fold(plain).split())
    )[:most]
    hidden = len(found) - len(shown)
    return Recalled(shown[:most], entries, hidden, archive.standing(real, shown[:most]))


def is_id(text: str) -> bool:
    """Whether the text may be the beginning of an id, or the name of an archived file."""
    plain = text.rpartition("/")[2].removesuffix(".md").lower()
    digits = plain[11:] if plain[:4].isdigit() and plain[4:5] == "-" else plain
    return 4 <= len(digits) <= 64 and set(digits) <= set("0123456789abcdef")  # noqa: PLR2004 - digits of an id


def _known(root: Path, found: tuple[Archived, ...]) -> tuple[Archived, ...]:
    state = stones.state(root)
    return tuple(row for row in found if state.match(row.text) is None)


def _said(root: Path, words: str) -> list[Entry]:
    """Entries in which all of the words stand, newest first."""
    sought = fold(words).split()
    if not sought:
        return []
    found: list[Entry] = []
    for path in (log.PATH, *segments.segments(root)[::-1]):
        try:
            with linefile.open_lines(root, path) as file:
                for line in islice(tail.lines_back(file), _LOOKED_AT) if file else ():
                    entry = parse(line.data)
                    if entry and all(word in fold(entry.content) for word in sought):
                        found.append(entry)
                        if len(found) >= 3 * MOST:
                            return found
        except PathRefused:
            if path == log.PATH:
                raise
    return found
