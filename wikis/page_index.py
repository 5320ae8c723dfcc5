"""Index the pages of each wiki as they are on disk now, and the links between them."""

import os
import sqlite3
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.errors import FileMissing, WorkspaceError, reason_of
from jenny.workspace.file_cache import Kept
from jenny.workspace.stat_signature import StatSignature
from wikis import index_entries, pages
from wikis.errors import WikiError
from wikis.index_entries import Entry, Parsed, Scan, Store, coded, scan_wiki
from wikis.links import Link, Resolver, Target

# While somebody types, the disk is read at most this often.
SEARCH_SECONDS = 0.5
_BATCH = 250
_KEPT_WORKSPACES = 8


@dataclass(frozen=True, slots=True)
class Reference:
    """A link from one page to another: its position and its target.

    ``wiki`` is the target's wiki, "" for one that does not exist.
    """

    source: str
    link: Link
    wiki: str
    target: Target


@dataclass(frozen=True)
class WikiIndex:
    """The index of one wiki at one moment. Values of the same ``number`` are equal."""

    name: str
    number: int
    entries: Mapping[str, Entry]
    files: frozenset[str]
    left_out: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the first page; without one, the wiki's name."""
        first = self.entries.get(pages.INDEX)
        return first.title if first and first.title != "index" else self.name

    @cached_property
    def resolver(self) -> Resolver:
        aliases = {path: entry.aliases for path, entry in self.entries.items() if entry.aliases}
        return Resolver((*self.entries, *self.files), aliases)

    @cached_property
    def pages(self) -> tuple[Entry, ...]:
        return tuple(sorted((e for e in self.entries.values() if e.is_page), key=_by_path))

    @cached_property
    def mentions(self) -> frozenset[str]:
        """Names before the colon of its links: other wikis, mostly."""
        return frozenset(link.wiki for entry in self.pages for link in entry.links if link.wiki)


@dataclass
class _State:
    known: WikiIndex
    signatures: dict[str, StatSignature | None] = field(default_factory=dict)
    looked_at: float = 0.0


def _by_path(entry: Entry) -> str:
    return entry.path


class Index:
    """The wikis of one workspace. Made by ``index_of``."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        """*root*: the workspace's real folder; *cache*: the file of the cache."""
        self.root = root
        self.store = Store(cache)
        self._lock = threading.RLock()
        self._states: dict[str, _State] = {}
        self._born = ""
        # The cache lacks something that could not be written to it.
        self._is_behind = False
        self._number = 0
        self._cost = 0.0

    def known(self, name: str, *, within: float = 0.0) -> WikiIndex:
        """Return the index of a wiki as it is on disk now, or was at most *within* seconds ago.

        Raises:
            WikiMissing: there is none of that name.
        """
        with self._lock:
            state = self._states.get(name)
            if state is not None and time.monotonic() - state.looked_at < within:
                return state.known
            return self._refreshed(pages.open_wiki(self.root, name))

    def every(self, *, within: float = 0.0) -> dict[str, WikiIndex]:
        found = {}
        for name in pages.wiki_names(self.root):
            try:
                found[name] = self.known(name, within=within)
            except WorkspaceError:
                continue
        with self._lock:
            if set(self._states) - set(found):
                self._states = {name: self._states[name] for name in found}
                self._quietly(lambda connection: self.store.keep_only(connection, found))
        return found

    def references(
        self, known: WikiIndex, wanted: Iterable[Entry]
    ) -> tuple[tuple[Entry, tuple[Reference, ...]], ...]:
        """Return the links of these pages of the wiki, resolved, including those to other wikis."""
        others: dict[str, WikiIndex | None] = {}
        return tuple(
            (
                entry,
                tuple(self._reference(known, entry.path, link, others) for link in entry.links),
            )
            for entry in wanted
        )

    def resolve(self, known: WikiIndex, source: str, link: Link) -> Reference:
        return self._reference(known, source, link, {})

    def _reference(
        self, known: WikiIndex, source: str, link: Link, others: dict[str, WikiIndex | None]
    ) -> Reference:
        if not link.wiki or link.wiki == known.name:
            return Reference(source, link, known.name, known.resolver.resolve(link, source))
        # "Part 2: more" is a name with a colon in it when there is no such wiki.
        if link.wiki not in others:
            others[link.wiki] = self._other(link.wiki)
        other = others[link.wiki]
        if other is None:
            whole = f"{link.wiki}:{link.target}"
            here = known.resolver.named(whole, source)
            return Reference(source, link, known.name if here.path else "", here)
        target = other.resolver.named(link.target or "index")
        return Reference(source, link, other.name, target)

    def _other(self, name: str) -> WikiIndex | None:
        try:
            return self.known(name, within=SEARCH_SECONDS)
        except WorkspaceError:
            return None

    def _refreshed(self, wiki: pages.Wiki) -> WikiIndex:
        """Scan the disk and read changed files. The lock is held."""
        seen = scan_wiki(wiki)
        state = self._states.get(wiki.name)
        if state is not None and self._stands(state, seen):
            state.looked_at = time.monotonic()
            return state.known
        old = state.known.entries if state is not None else {}
        signatures = state.signatures if state is not None else {}
        entries_now = {
            path: old[path]
            for path, signature in seen.pages.items()
            if signature is not None and signatures.get(path) == signature and path in old
        }
        wanted = {
            path: signature for path, signature in seen.pages.items() if path not in entries_now
        }
        gone = [path for path in old if path not in seen.pages]
        entries_now |= self._read(wiki, wanted, gone, is_first=state is None)
        self._number += 1
        known = WikiIndex(wiki.name, self._number, entries_now, seen.files, seen.left_out)
        self._states[wiki.name] = _State(known, seen.pages, time.monotonic())
        return known

    @staticmethod
    def _stands(state: _State, seen: Scan) -> bool:
        return (
            state.signatures == seen.pages
            and None not in seen.pages.values()
            and state.known.files == seen.files
            and state.known.left_out == seen.left_out
        )

    def _read(
        self,
        wiki: pages.Wiki,
        wanted: Mapping[str, StatSignature | None],
        gone: list[str],
        *,
        is_first: bool,
    ) -> dict[str, Entry]:
        """Return the entries of files, from the cache if their signatures are unchanged."""
        found: dict[str, Entry] = {}

        def from_cache(connection: sqlite3.Connection) -> None:
            rows = self.store.rows(connection, wiki.name)
            for path, signature in wanted.items():
                kept = rows.get(path)
                if kept is not None and signature is not None and kept[0] == coded(signature):
                    found[path] = Entry.from_json(kept[1])
            self.store.remove(connection, wiki.name, [path for path in rows if path not in wanted])

        if is_first:
            self._quietly(from_cache)
        elif gone:
            self._quietly(lambda connection: self.store.remove(connection, wiki.name, gone))
        batch: list[tuple[StatSignature | None, Parsed]] = []
        for path in [path for path in wanted if path not in found]:
            if (parsed := _parsed(wiki, path)) is not None:
                found[path] = parsed.entry
                batch.append((wanted[path], parsed))
            if len(batch) >= _BATCH:
                self._keep(wiki.name, batch)
                batch = []
        self._keep(wiki.name, batch)
        return found

    def _keep(self, wiki: str, batch: list[tuple[StatSignature | None, Parsed]]) -> None:
        if batch:
            self._quietly(lambda connection: self.store.put(connection, wiki, batch))

    def _quietly(self, act: Callable[[sqlite3.Connection], None]) -> None:
        """Run *act* on the cache, ignoring errors.

        A damaged cache is deleted, and one that cannot be written is replaced by one in memory;
        ``search`` notices the new one. What a locked one lacks is added
        by the next search.
        """
        try:
            with self.store.open() as connection:
                self._born = self._born or self.store.born(connection)
                act(connection)
        except sqlite3.Error as error:
            self._is_behind = True
            self.store.recover(error)
        except (ValueError, TypeError):
            self.store.discard()

    def search[T](self, look: Callable[[sqlite3.Connection], T], names: Iterable[str] | None) -> T:
        """Return the result of *look* on the cache.

        The cache holds the wikis of these *names* (default: all) as they were at most half a second
        ago.
        """
        for _ in range(3):
            if names is None:
                # Scanning many wikis takes longer; it may use at most a tenth of the time while
                # somebody types.
                started = time.monotonic()
                self.every(within=max(SEARCH_SECONDS, 10 * self._cost))
                self._cost = max(time.monotonic() - started, self._cost / 2)
            else:
                for name in names:
                    self.known(name, within=SEARCH_SECONDS)
            try:
                with self._lock, self.store.open() as connection:
                    if self.store.born(connection) == self._born and not self._is_behind:
                        return look(connection)
                    # Another process rebuilt the cache, or held it locked: everything this process
                    # knows is written again.
                    self._is_behind = False
                    self._states.clear()
                    self._born = self.store.born(connection)
            except sqlite3.Error as error:
                self.store.recover(error)
        raise WikiError("The search could not be made just now. Nothing was changed; try again.")


def _parsed(wiki: pages.Wiki, path: str) -> Parsed | None:
    """Parse a file; ``None``: it vanished, or is not a readable plain file."""
    try:
        descriptor = paths.open_file(wiki.locate(path))
    except FileMissing:
        return None
    except WorkspaceError as error:
        return Parsed(Entry(path, path, "", (), (), (), 0, 0.0, "", 0, error.message), "")
    try:
        return index_entries.read_entry(path, descriptor)
    except OSError as error:
        problem = f"It cannot be read: {reason_of(error)}."
        return Parsed(Entry(path, path, "", (), (), (), 0, 0.0, "", 0, problem), "")


_INDEXES: OrderedDict[tuple[Path, Path | None], Index] = OrderedDict()
_INDEXES_LOCK = threading.Lock()


def index_of(root: Path, cache: Path | None = None) -> Index:
    """Return the index of the workspace at *root*; the process keeps those used last."""
    key = Path(os.path.realpath(root)), cache
    with _INDEXES_LOCK:
        found = _INDEXES.pop(key, None) or Index(*key)
        _INDEXES[key] = found
        while len(_INDEXES) > _KEPT_WORKSPACES:
            _INDEXES.popitem(last=False)
        return found


# New links from other wikis to a page are seen at most this many seconds later.
OTHERS_SECONDS = 10.0

type Address = tuple[str, str]


@dataclass(frozen=True)
class Relations:
    """The references of one wiki's pages. An address is a wiki's name and a path in it."""

    known: WikiIndex
    by_page: tuple[tuple[Entry, tuple[Reference, ...]], ...]

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """All references, in the pages' order."""
        return tuple(row for _, rows in self.by_page for row in rows)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of linked pages of this wiki, each once."""
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
        """For each page of this wiki the pages that it is linked with, in either direction."""
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
    def doubtful(self) -> tuple[Reference, ...]:
        """The references without a target, or with several by one name."""
        return tuple(row for row in self.references if not row.target.path or row.target.candidates)


_KEPT_RELATIONS: Kept[tuple[tuple[int, ...], Relations]] = Kept(8)
_RELATIONS_LOCK = threading.Lock()


def read_relations(index: Index, known: WikiIndex) -> Relations:
    """Return the references of a wiki; cached while it and the wikis it names are unchanged."""
    named = sorted(known.mentions - {known.name})
    numbers = (known.number, *(_number(index, name) for name in named))
    key = f"{index.root}\0{known.name}"
    with _RELATIONS_LOCK:
        kept = _KEPT_RELATIONS.get(key)
        if kept is None or kept[0] != numbers:
            old = kept[1] if kept is not None and kept[0][1:] == numbers[1:] else None
            kept = numbers, _read_anew(index, known, old)
            _KEPT_RELATIONS.put(key, kept)
    return kept[1]


def _read_anew(index: Index, known: WikiIndex, old: Relations | None) -> Relations:
    """Compute the references of the pages.

    Those of unchanged pages are reused, as long as the wiki has the same files and aliases.
    """
    same = old is not None and (
        old.known.resolver.paths == known.resolver.paths
        and old.known.resolver.aliases == known.resolver.aliases
    )
    if old is None or not same:
        return Relations(known, index.references(known, known.pages))
    rows = dict(zip((entry.path for entry in old.known.pages), old.by_page, strict=True))
    changed = tuple(entry for entry in known.pages if rows[entry.path][0] is not entry)
    rows |= {entry.path: (entry, found) for entry, found in index.references(known, changed)}
    return Relations(known, tuple(rows[entry.path] for entry in known.pages))


def backlinks(index: Index, known: WikiIndex, path: str) -> tuple[Address, ...]:
    """Return the pages that link to this one: of its own wiki, then of the others."""
    found: list[Address] = [
        (known.name, source) for source in read_relations(index, known).incoming.get(path, ())
    ]
    for name, other in index.every(within=OTHERS_SECONDS).items():
        if name != known.name and known.name in other.mentions:
            sources = read_relations(index, other).outside.get((known.name, path), ())
            found += [(name, source) for source in sources]
    return tuple(found)


def _number(index: Index, name: str) -> int:
    try:
        return index.known(name, within=SEARCH_SECONDS).number
    except WorkspaceError:
        return 0
