"""The index: for each wiki of a workspace, what is known of its pages as they are on disk now."""

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jenny.workspace import paths
from jenny.workspace.errors import FileMissing, WorkspaceError, reason_of
from wikis import pages
from wikis.errors import WikiError
from wikis.index import entries
from wikis.index.entries import Entry, Parsed
from wikis.index.scanning import Scan, Stamp, scan
from wikis.index.store import Store, coded
from wikis.links.finding import Link
from wikis.links.resolving import Resolver, Target

# While somebody types, the disk is looked at this often at most.
SEARCH_SECONDS = 0.5
_BATCH = 250
_KEPT_WORKSPACES = 8


@dataclass(frozen=True, slots=True)
class Reference:
    """A link of one page to another: where it stands, and what it leads to. ``wiki`` is where the
    target lies, "" for a wiki that is not there."""

    source: str
    link: Link
    wiki: str
    target: Target


@dataclass(frozen=True)
class Known:
    """What is known of one wiki at one moment. Values of the same ``number`` are the same."""

    name: str
    number: int
    entries: Mapping[str, Entry]
    files: frozenset[str]
    left_out: tuple[str, ...] = ()

    @cached_property
    def resolver(self) -> Resolver:
        """Its pages by every form in which a link may name them."""
        return Resolver((*self.entries, *self.files))

    @cached_property
    def pages(self) -> tuple[Entry, ...]:
        """Its own pages, by path."""
        return tuple(sorted((e for e in self.entries.values() if e.is_page), key=_by_path))

    @cached_property
    def mentions(self) -> frozenset[str]:
        """What its pages name before the colon of a link: other wikis, mostly."""
        return frozenset(link.wiki for entry in self.pages for link in entry.links if link.wiki)


@dataclass
class _State:
    """A wiki as it was seen last."""

    known: Known
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    looked_at: float = 0.0


def _by_path(entry: Entry) -> str:
    return entry.path


class Index:
    """The wikis of one workspace. Made by ``index_of``."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        """*root*: the workspace's real folder; *cache*: the file that keeps what was read."""
        self.root = root
        self.store = Store(cache)
        self._lock = threading.RLock()
        self._states: dict[str, _State] = {}
        self._born = ""
        self._number = 0
        self._cost = 0.0

    def known(self, name: str, *, within: float = 0.0) -> Known:
        """The wiki as it is on disk now, or was at most *within* seconds ago.

        Raises:
            WikiMissing: there is none of that name.
        """
        with self._lock:
            state = self._states.get(name)
            if state is not None and time.monotonic() - state.looked_at < within:
                return state.known
            return self._refreshed(pages.open_wiki(self.root, name))

    def every(self, *, within: float = 0.0) -> dict[str, Known]:
        """All wikis, by name."""
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
        self, known: Known, wanted: Iterable[Entry]
    ) -> tuple[tuple[Entry, tuple[Reference, ...]], ...]:
        """The links of these pages of the wiki, resolved, those to other wikis too."""
        others: dict[str, Known | None] = {}
        return tuple(
            (
                entry,
                tuple(self._reference(known, entry.path, link, others) for link in entry.links),
            )
            for entry in wanted
        )

    def resolve(self, known: Known, source: str, link: Link) -> Reference:
        """Where one link of the page *source* leads."""
        return self._reference(known, source, link, {})

    def _reference(
        self, known: Known, source: str, link: Link, others: dict[str, Known | None]
    ) -> Reference:
        if not link.wiki or link.wiki == known.name:
            return Reference(source, link, known.name, known.resolver.resolve(link, source))
        # "Part 2: more" is a name with a colon in it when there is no such wiki.
        if link.wiki not in others:
            others[link.wiki] = self._other(link.wiki)
        other = others[link.wiki]
        if other is None:
            whole = f"{link.wiki}:{link.target}"
            here = known.resolver.named(whole)
            return Reference(source, link, known.name if here.path else "", here)
        target = other.resolver.named(link.target or "index")
        return Reference(source, link, other.name, target)

    def _other(self, name: str) -> Known | None:
        try:
            return self.known(name, within=SEARCH_SECONDS)
        except WorkspaceError:
            return None

    def _refreshed(self, wiki: pages.Wiki) -> Known:
        """Look at the disk and read what changed. The lock is held."""
        seen = scan(wiki)
        state = self._states.get(wiki.name)
        if state is not None and self._stands(state, seen):
            state.looked_at = time.monotonic()
            return state.known
        old = state.known.entries if state is not None else {}
        stamps = state.stamps if state is not None else {}
        entries_now = {
            path: old[path]
            for path, stamp in seen.pages.items()
            if stamp is not None and stamps.get(path) == stamp and path in old
        }
        wanted = {path: stamp for path, stamp in seen.pages.items() if path not in entries_now}
        gone = [path for path in old if path not in seen.pages]
        entries_now |= self._read(wiki, wanted, gone, is_first=state is None)
        self._number += 1
        known = Known(wiki.name, self._number, entries_now, seen.files, seen.left_out)
        self._states[wiki.name] = _State(known, seen.pages, time.monotonic())
        return known

    @staticmethod
    def _stands(state: _State, seen: Scan) -> bool:
        return (
            state.stamps == seen.pages
            and None not in seen.pages.values()
            and state.known.files == seen.files
            and state.known.left_out == seen.left_out
        )

    def _read(
        self,
        wiki: pages.Wiki,
        wanted: Mapping[str, Stamp | None],
        gone: list[str],
        *,
        is_first: bool,
    ) -> dict[str, Entry]:
        """The entries of these files: from the cache where their stamps stand, else from disk."""
        found: dict[str, Entry] = {}

        def from_cache(connection: sqlite3.Connection) -> None:
            rows = self.store.rows(connection, wiki.name)
            for path, stamp in wanted.items():
                kept = rows.get(path)
                if kept is not None and stamp is not None and kept[0] == coded(stamp):
                    found[path] = Entry.from_json(kept[1])
            self.store.remove(connection, wiki.name, [path for path in rows if path not in wanted])

        if is_first:
            self._quietly(from_cache)
        elif gone:
            self._quietly(lambda connection: self.store.remove(connection, wiki.name, gone))
        batch: list[tuple[Stamp | None, Parsed]] = []
        for path in [path for path in wanted if path not in found]:
            if (parsed := _parsed(wiki, path)) is not None:
                found[path] = parsed.entry
                batch.append((wanted[path], parsed))
            if len(batch) >= _BATCH:
                self._keep(wiki.name, batch)
                batch = []
        self._keep(wiki.name, batch)
        return found

    def _keep(self, wiki: str, batch: list[tuple[Stamp | None, Parsed]]) -> None:
        if batch:
            self._quietly(lambda connection: self.store.put(connection, wiki, batch))

    def _quietly(self, act: Callable[[sqlite3.Connection], None]) -> None:
        """Do something with the cache: one that is damaged is thrown away, and one that cannot be
        written is left for one in memory; ``search`` sees that it is another one."""
        try:
            with self.store.open() as connection:
                self._born = self._born or self.store.born(connection)
                act(connection)
        except sqlite3.OperationalError:
            self.store.use_memory()
        except (sqlite3.Error, ValueError, TypeError):
            self.store.discard()

    def search[T](self, look: Callable[[sqlite3.Connection], T], names: Iterable[str] | None) -> T:
        """What *look* finds in the cache, which holds the wikis of these *names* (all of them) as
        they were half a second ago at most."""
        for _ in range(3):
            if names is None:
                # Many wikis take longer to look at; typing waits for a tenth of that at most.
                started = time.monotonic()
                self.every(within=max(SEARCH_SECONDS, 10 * self._cost))
                self._cost = max(time.monotonic() - started, self._cost / 2)
            else:
                for name in names:
                    self.known(name, within=SEARCH_SECONDS)
            try:
                with self._lock, self.store.open() as connection:
                    if self.store.born(connection) == self._born:
                        return look(connection)
                    # Somebody made it again: all that this process knows is put there anew.
                    self._states.clear()
                    self._born = self.store.born(connection)
            except sqlite3.OperationalError:
                self.store.use_memory()
            except sqlite3.DatabaseError:
                self.store.discard()
        raise WikiError("The search could not be made just now. Nothing was changed; try again.")


def _parsed(wiki: pages.Wiki, path: str) -> Parsed | None:
    """What a file holds; ``None``: it went meanwhile, or is no plain file that may be read."""
    try:
        descriptor = paths.open_file(wiki.locate(path))
    except FileMissing:
        return None
    except WorkspaceError as error:
        return Parsed(Entry(path, path, "", (), (), (), 0, 0.0, "", 0, error.sentence), "")
    try:
        return entries.read(path, descriptor)
    except OSError as error:
        problem = f"It cannot be read: {reason_of(error)}."
        return Parsed(Entry(path, path, "", (), (), (), 0, 0.0, "", 0, problem), "")


_INDEXES: OrderedDict[tuple[Path, Path | None], Index] = OrderedDict()
_INDEXES_LOCK = threading.Lock()


def index_of(root: Path, cache: Path | None = None) -> Index:
    """The index of the workspace at *root*; one a process, for as long as it is asked for."""
    key = Path(os.path.realpath(root)), cache
    with _INDEXES_LOCK:
        found = _INDEXES.pop(key, None) or Index(*key)
        _INDEXES[key] = found
        while len(_INDEXES) > _KEPT_WORKSPACES:
            _INDEXES.popitem(last=False)
        return found
