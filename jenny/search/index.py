"""Follow the sources of a workspace, and search them."""

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from jenny.search import bm25
from jenny.search.bm25 import Ranked
from jenny.search.store import (
    Candidate,
    Document,
    IndexBusy,
    IndexLost,
    Key,
    Limits,
    Passage,
    PassageStore,
    Totals,
)
from jenny.search.words import Query, parse_query

logger = logging.getLogger(__name__)

# In a workspace with more documents, looking for changes takes at most a tenth of the time while
# people search; a smaller one is looked through each time.
_MANY = 1_000
_SHARE = 10
_ATTEMPTS = 3


class Source(Protocol):
    """Lists its documents as they are now, and reads them."""

    def documents(self, only: Collection[Key] | None = None) -> Iterable[Document]:
        """List all documents, or with *only* those of them that have one of these keys."""

    def passages(self, document: Document) -> Iterable[Passage]:
        """Return the document's passages; none when it is gone or cannot be read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. *scores*, *matches*: for each of its lines, how well it fits and
    how many words of the query it has."""

    kind: str
    place: str
    passage: Passage
    scores: tuple[float, ...]
    matches: tuple[int, ...]

    @property
    def best(self) -> int:
        """The number of the line that fits best."""
        return max(range(len(self.scores)), key=lambda number: (self.scores[number], -number))


@dataclass(frozen=True, slots=True)
class Results:
    """The hits, best first. *has_words* False: the query had no words to look for.

    *missing*: documents that are not in the index yet. *forms*: the forms of the words that were
    looked for. *is_partial*: no passage has all of the query. *words*: how many it has.
    """

    hits: tuple[Hit, ...]
    has_words: bool = True
    missing: int = 0
    forms: frozenset[str] = frozenset()
    is_partial: bool = False
    words: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    """The passages that fit, best first; *forms* and *is_partial* as in ``Results``."""

    rows: Sequence[tuple[Candidate, Ranked]]
    forms: frozenset[str]
    is_partial: bool


class Index:
    """The index of one workspace over its sources, by their kinds."""

    def __init__(self, store: PassageStore, sources: Sequence[Source]) -> None:
        self._store = store
        self._sources = sources
        self._lock = threading.Lock()
        self._totals: Totals | None = None
        # Documents that changed and are not read yet, or could not be read, by their new stamps.
        self._unread: dict[Key, str] = {}
        self._failed: dict[Key, str] = {}
        self._looks_again_at = 0.0

    def search(
        self,
        query: str,
        kinds: Sequence[str],
        *,
        most: int = 20,
        seconds: float = 5.0,
        is_typed: bool = False,
        is_begun: bool = False,
        is_quick: bool = False,
        days: tuple[str, str] = ("", ""),
    ) -> Results:
        """Return the best passages of these kinds. At most *seconds* are spent on new documents.

        Only what is still there is returned, also when there was no time to look for changes.
        *is_typed*: the last word may be a beginning, and passages with all words are shown alone
        when there are any. *is_begun*: each word may be a beginning. *is_quick*: while others bring
        the index up to date, or when much is new, what it has is enough. *days*: the first and the
        last day, as 2026-12-04, or "".
        """
        parsed = parse_query(query, is_typed=is_typed, is_begun=is_begun)
        if not parsed.terms:
            return Results((), has_words=False)
        until = time.monotonic() + seconds
        for attempt in range(_ATTEMPTS):
            try:
                is_compared = self._follow(until, is_quick=is_quick)
                found = self._find(parsed, Limits(kinds, (), *days), is_typed=is_typed)
            except IndexLost:
                self._looks_again_at = 0.0
                continue
            changed: Mapping[Key, str | None] = self._unread | self._failed
            if not is_compared:
                changed = self._changed(found.rows, most)
                if changed:
                    # Something was edited or deleted: look at everything once.
                    self._looks_again_at = 0.0
                    if attempt < _ATTEMPTS - 1 and time.monotonic() < until:
                        continue
            current = (
                _hit(row, ranked)
                for row, ranked in found.rows
                if changed.get(row.key, row.stamp) == row.stamp
            )
            return Results(
                tuple(islice(current, most)),
                missing=len(self._unread),
                forms=found.forms,
                is_partial=found.is_partial,
                words=len(parsed.terms),
            )
        return Results((), missing=1)

    def places(self) -> Iterable[Key]:
        """Return kind and place of every document that is in the index."""
        try:
            return self._store.stamps().keys()
        except IndexLost:
            return ()

    def update(self, *, seconds: float | None = None) -> int:
        """Bring the index up to date, for at most *seconds*; return how many documents are left.

        Raises:
            IndexLost: it has to be made again; call it once more.
        """
        with self._lock:
            self._compare(None if seconds is None else time.monotonic() + seconds)
            return len(self._unread)

    def remove(self, keys: Iterable[Key]) -> None:
        """Remove documents before their sources are looked at again."""
        self._store.remove(keys)

    def compact(self) -> None:
        """Overwrite what is left of removed texts."""
        self._store.compact()

    def _find(self, query: Query, limits: Limits, *, is_typed: bool) -> _Found:
        """Return the passages that are stored."""
        frequencies = self._store.frequencies(query.forms)
        asked = query.known(frequencies)
        is_partial = len(asked.terms) < len(query.terms)
        choices = [limits]
        if is_typed and not is_partial:
            choices.insert(0, replace(limits, needed=asked.needed))
        found, used = self._candidates(asked, frequencies, choices)
        totals = self._totals = self._totals or self._store.totals()
        asked = asked.completed(row.words for row in found)
        ranked = bm25.rank(
            asked, [row.words for row in found], frequencies, totals.passages, totals.words
        )
        if asked.phrases:
            exact = [
                row
                for row in ranked
                if all(bm25.has_phrase(found[row.number].words, one) for one in asked.phrases)
            ]
            is_partial = is_partial or not exact
            ranked = exact or ranked
        return _Found(
            [(found[row.number], row) for row in ranked],
            asked.forms,
            is_partial or (is_typed and not used.needed),
        )

    def _candidates(
        self, asked: Query, frequencies: Mapping[str, int], limits: Sequence[Limits]
    ) -> tuple[list[Candidate], Limits]:
        """Return the passages by the first of *limits* by which there are any."""
        groups = [
            (max(frequencies[form] for form in term.forms), sorted(term.forms))
            for term in asked.terms
        ]
        for one in limits:
            if found := self._store.candidates(groups, one):
                break
        return found, one

    def _changed(
        self, rows: Sequence[tuple[Candidate, Ranked]], most: int
    ) -> Mapping[Key, str | None]:
        """Return the documents of passages that changed since they were stored, with their stamps;
        ``None``: it is gone. The others are enough for *most* passages, or are all."""
        changed: dict[Key, str | None] = {}
        for start in range(0, len(rows), most):
            some = {row.key: row.stamp for row, _ in rows[start : start + most]}
            stamps = {
                document.key: document.stamp
                for source in self._sources
                for document in source.documents(some.keys())
            }
            changed |= {key: stamps.get(key) for key in some if stamps.get(key) != some[key]}
            if sum(row.key not in changed for row, _ in rows[: start + most]) >= most:
                # Those that were not looked at are not needed.
                return changed
        return changed

    def _follow(self, until: float, *, is_quick: bool) -> bool:
        """Compare with the sources and read what changed, until that time.

        ``False``: nothing was compared, since that was done just now, or others are at it.
        """
        now = time.monotonic()
        is_recent = now < self._looks_again_at and (is_quick or not self._unread)
        timeout = 0 if is_quick else max(until - now, 0)
        if is_recent or not self._lock.acquire(timeout=timeout):
            return False
        try:
            self._compare(until, is_quick=is_quick)
        except IndexBusy:
            return False
        finally:
            self._lock.release()
        return True

    def _compare(self, until: float | None, *, is_quick: bool = False) -> None:
        started = time.monotonic()
        # Before the sources: what another process adds meanwhile is not taken for something gone.
        known = self._store.stamps()
        documents = {
            document.key: (document, source)
            for source in self._sources
            for document in source.documents()
        }
        cost = time.monotonic() - started
        gone = known.keys() - documents.keys()
        changed = {key: row for key, row in documents.items() if known.get(key) != row[0].stamp}
        stamps = {key: document.stamp for key, (document, _) in changed.items()}
        self._failed = {key: one for key, one in self._failed.items() if stamps.get(key) == one}
        self._unread = {key: one for key, one in stamps.items() if key not in self._failed}
        if gone or changed:
            self._totals = None
        if gone:
            self._store.remove(gone)
        is_large = len(documents) > _MANY
        self._looks_again_at = time.monotonic() + _SHARE * cost if is_large else 0.0
        for number, key in enumerate(list(self._unread)):
            # At least one is read, so that something is gained each time.
            if number and until is not None and time.monotonic() > until:
                break
            self._read(*changed[key], until, is_new=key not in known, is_quick=is_quick)

    def _read(
        self,
        document: Document,
        source: Source,
        until: float | None,
        *,
        is_new: bool,
        is_quick: bool,
    ) -> None:
        """Store a document. An error in one does not keep the others out."""
        try:
            passages = source.passages(document)
            if is_quick and until is not None:
                passages = _in_time(passages, until)
            if not self._store.put(document, passages, until, is_new=is_new):
                return
        except IndexLost:
            raise
        except Exception:
            self._failed[document.key] = document.stamp
            logger.exception(
                "search.document_failed",
                extra={"kind": document.kind, "failed": len(self._failed)},
            )
        del self._unread[document.key]


def _in_time(passages: Iterable[Passage], until: float) -> Iterator[Passage]:
    for passage in passages:
        if time.monotonic() > until:
            raise IndexBusy
        yield passage


def _hit(row: Candidate, ranked: Ranked) -> Hit:
    # The first line of words is the title's.
    return Hit(row.kind, row.place, row.passage, ranked.lines[1:], ranked.matches[1:])
