"""How the pages of a wiki hang together: which one leads to which, and from where it is led to."""

import threading
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from jenny.workspace.errors import WorkspaceError
from jenny.workspace.stamped import Kept
from wikis.index.entries import Entry
from wikis.index.known import SEARCH_SECONDS, Index, Known, Reference

# Links from other wikis to a page are seen this much later at most.
OTHERS_SECONDS = 10.0

type Address = tuple[str, str]


@dataclass(frozen=True)
class Relations:
    """The references of one wiki's pages. An address is a wiki's name and a path in it."""

    known: Known
    by_page: tuple[tuple[Entry, tuple[Reference, ...]], ...]

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """All of them, in the pages' order."""
        return tuple(row for _, rows in self.by_page for row in rows)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of pages of this wiki of which one links to the other, each once."""
        pages = {entry.path for entry in self.known.pages}
        pairs = {
            (min(row.source, row.target.path), max(row.source, row.target.path))
            for row in self.references
            if row.wiki == self.known.name
            and row.target.path in pages
            and row.target.path != row.source
        }
        return tuple(sorted(pairs))

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """For each page of this wiki the others that it is linked with, either way."""
        table: dict[str, list[str]] = defaultdict(list)
        for one, other in self.edges:
            table[one].append(other)
            table[other].append(one)
        return {path: tuple(others) for path, others in table.items()}

    @cached_property
    def outgoing(self) -> dict[str, tuple[str, ...]]:
        """For each page the pages (and other files) of this wiki that it links to."""
        return {
            entry.path: tuple(
                dict.fromkeys(
                    row.target.path
                    for row in rows
                    if row.wiki == self.known.name and row.target.path
                )
            )
            for entry, rows in self.by_page
        }

    @cached_property
    def incoming(self) -> dict[str, tuple[str, ...]]:
        """For each page (and other file) the pages of this wiki that link to it."""
        table: dict[str, dict[str, None]] = defaultdict(dict)
        for row in self.references:
            if row.wiki == self.known.name and row.target.path and row.source != row.target.path:
                table[row.target.path][row.source] = None
        return {path: tuple(sources) for path, sources in table.items()}

    @cached_property
    def outside(self) -> dict[Address, tuple[str, ...]]:
        """For each page of another wiki the pages of this one that link to it."""
        table: dict[Address, dict[str, None]] = defaultdict(dict)
        for row in self.references:
            if row.wiki not in ("", self.known.name) and row.target.path:
                table[row.wiki, row.target.path][row.source] = None
        return {address: tuple(sources) for address, sources in table.items()}

    @cached_property
    def dead(self) -> tuple[Reference, ...]:
        """The references that lead nowhere, or to several pages by one name."""
        return tuple(row for row in self.references if not row.target.path)


_KEPT: Kept[tuple[tuple[int, ...], Relations]] = Kept(8)
_LOCK = threading.Lock()


def relations(index: Index, known: Known) -> Relations:
    """The references of a wiki; kept for as long as it and those it names are the same."""
    named = sorted(known.mentions - {known.name})
    numbers = (known.number, *(_number(index, name) for name in named))
    key = f"{index.root}\0{known.name}"
    with _LOCK:
        kept = _KEPT.get(key)
        if kept is None or kept[0] != numbers:
            old = kept[1] if kept is not None and kept[0][1:] == numbers[1:] else None
            kept = numbers, _anew(index, known, old)
            _KEPT.put(key, kept)
    return kept[1]


def _anew(index: Index, known: Known, old: Relations | None) -> Relations:
    """The references of the pages; those of a page that is as it was are taken over, as long as
    the wiki has the same files."""
    if old is None or old.known.resolver.paths != known.resolver.paths:
        return Relations(known, index.references(known, known.pages))
    rows = dict(zip((entry.path for entry in old.known.pages), old.by_page, strict=True))
    changed = tuple(entry for entry in known.pages if rows[entry.path][0] is not entry)
    rows |= {entry.path: (entry, found) for entry, found in index.references(known, changed)}
    return Relations(known, tuple(rows[entry.path] for entry in known.pages))


def backlinks(index: Index, known: Known, path: str) -> tuple[Address, ...]:
    """The pages that link to this one: of its own wiki, then of the others."""
    found: list[Address] = [
        (known.name, source) for source in relations(index, known).incoming.get(path, ())
    ]
    for name, other in index.every(within=OTHERS_SECONDS).items():
        if name != known.name and known.name in other.mentions:
            sources = relations(index, other).outside.get((known.name, path), ())
            found += [(name, source) for source in sources]
    return tuple(found)


def _number(index: Index, name: str) -> int:
    try:
        return index.known(name, within=SEARCH_SECONDS).number
    except WorkspaceError:
        return 0
