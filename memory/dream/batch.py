"""The batch of a run: which entries the model is shown, whole, and how they stand before it.

Entries that are offered again come first, then the oldest that Dream has not read: at most 20 of
them and 10,000 characters together, and at least one, however long it is. An entry is never cut
and never split across runs; it is shown in pieces, so that no model loses its middle.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from jenny.agent import clock
from jenny.agent.prompt import framed, one_line
from jenny.agent.tokens import Usage
from memory import facts, files, skills, suppression, text_similarity
from memory.dream import outcome
from memory.dream.values import Batch, BatchEntry, Decision, Due, PassedOver, ReviewResult
from memory.history import fact_tags, reader, summary_answer
from memory.history.entries import HistoryEntry
from memory.message_sources import edited_cursors

MOST_ENTRIES = 20
MOST_CHARS = 10_000
PIECE_CHARS = 500
# How far a piece's end may move back to a better place.
_BACK = 100
_ZWJ = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN = range(0x1F3FB, 0x1F400)
_CONVERSATION_CHARS = 40
# Of a name that is longer than the second, the first so many characters are shown.
_SHORT = 8
_LONG_NAME = 16
# Where a fact begins.
_FACT = re.compile(r"\n(?=(?:[-*+•] |\d{1,3}[.)] ))")
_KEPT_FORMAT = "\u200c\u200d\t"

type Digest = Callable[[HistoryEntry], str | None]
"""What stands in for a raw entry; ``None``: it is shown as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchInput:
    """The choice from which a batch is made.

    *waiting*: what Dream has not read, *reoffered*: what it is shown again. *passed*: entries
    left out for good, each with the reason. *tries*: from how many runs an entry has come back.
    *alone*: entries on their last try after a failure, which are shown without neighbours, so
    that a bad one takes nobody along. *most*: how many entries at most, fewer after failures.
    """

    waiting: Sequence[HistoryEntry]
    reoffered: Sequence[HistoryEntry] = ()
    passed: Mapping[int, str] = field(default_factory=dict)
    tries: Mapping[int, int] = field(default_factory=dict)
    alone: Collection[int] = ()
    most: int = MOST_ENTRIES


def build_batch(offer: BatchInput, *, digest: Digest = lambda _entry: None) -> Batch:
    """Choose the batch. *digest* is asked about raw entries that are to be shown."""
    again = {entry.cursor for entry in offer.waiting}
    candidates = [
        *((entry, True) for entry in _merged(offer.reoffered) if entry.cursor not in again),
        *((entry, False) for entry in _merged(offer.waiting)),
    ]
    shown: list[BatchEntry] = []
    passed: list[PassedOver] = []
    room = MOST_CHARS
    for entry, is_reoffered in candidates:
        if why := offer.passed.get(entry.cursor):
            passed.append(PassedOver(entry.cursor, why))
            continue
        is_alone = entry.cursor in offer.alone
        if shown and (len(shown) >= max(offer.most, 1) or is_alone):
            break
        row = _row(entry, offer, digest, is_reoffered=is_reoffered)
        if shown and len(row.text) > room:
            break
        shown.append(row)
        room -= len(row.text)
        if is_alone:
            break
    taken = {row.cursor for row in shown} | {row.cursor for row in passed}
    left = sum(entry.cursor not in taken for entry, _ in candidates)
    return Batch(tuple(shown), render_batch(shown), tuple(passed), left)


def halve_batch(batch: Batch) -> Batch | None:
    """The first half of a batch, for a model that cannot read all of it; ``None``: it has one
    entry."""
    count = len(batch.entries) // 2
    if not count:
        return None
    rows, left = batch.entries[:count], batch.entries[count:]
    behind = min((row.cursor for row in left if not row.is_reoffered), default=None)
    passed = tuple(row for row in batch.passed if behind is None or row.cursor < behind)
    return Batch(rows, render_batch(rows), passed, batch.waiting + len(left))


def split_pieces(text: str, limit: int = PIECE_CHARS) -> tuple[str, ...]:
    """*text* in pieces of at most *limit* characters; put together again they are the text.

    A piece ends between two facts. A fact that is longer than a piece by itself is cut at a line's
    or a word's end where there is one near, and never inside what is seen as one character (unless
    that alone is longer than a piece).
    """
    found: list[str] = []
    for fact in _facts(text):
        if found and len(found[-1]) + len(fact) <= limit:
            found[-1] += fact
        else:
            found += _pieces(fact, limit)
    return tuple(found) or ("",)


def _facts(text: str) -> Iterator[str]:
    """The facts of a text, each with the lines below it and their ends."""
    at = 0
    for border in _FACT.finditer(text):
        yield text[at : border.end()]
        at = border.end()
    if at < len(text):
        yield text[at:]


def render_batch(rows: Sequence[BatchEntry]) -> str:
    """The entries in a fence that nothing in them can close, each piece with its entry's cursor,
    time and conversation. Lines of an entry are set in: none can pass for a piece's head."""
    if not rows:
        return ""
    return framed("\n".join(line for row in rows for line in _lines(row)), "text")


def _lines(row: BatchEntry) -> Iterator[str]:
    entry = row.entry
    when = clock.with_weekday(one_line(entry.timestamp, 16)) or "time unknown"
    chat = _short_name(entry.conversation)
    about = f"[cursor {row.cursor} | {when}{f' | conversation {chat}' if chat else ''}"
    if row.digest is not None:
        about += " | facts found in a raw text"
    elif entry.kind == "raw":
        about += " | raw text, not summarised"
    if row.is_reoffered:
        about += " | shown again"
    count = len(row.pieces)
    facts = 0
    begins = True
    for number, piece in enumerate(row.pieces, 1):
        yield about + (f" | piece {number} of {count}]" if count > 1 else "]")
        for line in piece.strip("\n").split("\n"):
            is_fact = begins and fact_tags.parse_strict(line) is not None
            facts += is_fact
            # By this number the model accounts for the fact (memory.dream.fact_checks).
            name = f"({row.cursor}.{facts}) " if is_fact else ""
            yield f"  {name}{_printable(line)}"
            begins = True
        begins = piece.endswith("\n")


def _short_name(conversation: str) -> str:
    """A conversation's id as far as it tells it from the others of a batch."""
    plain = one_line(conversation, _CONVERSATION_CHARS)
    return plain[:_SHORT] if len(plain) > _LONG_NAME else plain


def _row(
    entry: HistoryEntry, offer: BatchInput, digest: Digest, *, is_reoffered: bool
) -> BatchEntry:
    found = digest(entry) if entry.kind == "raw" else None
    text = entry.content if found is None else found
    tags = frozenset(mark for line in text.split("\n") if (mark := summary_answer.mark_of(line)))
    tries = offer.tries.get(entry.cursor, 0)
    return BatchEntry(entry, split_pieces(text), tags, found, tries, is_reoffered)


def _merged(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """The entries by number. A number that several lines have, as only a hand can make it, is
    one entry: Dream's place in the history cannot lie between them."""
    by_cursor: dict[int, HistoryEntry] = {}
    for entry in sorted(entries, key=lambda entry: entry.cursor):
        first = by_cursor.get(entry.cursor)
        if first is not None:
            entry = replace(first, content=f"{first.content}\n{entry.content}")  # noqa: PLW2901 - both are one entry
        by_cursor[entry.cursor] = entry
    return list(by_cursor.values())


def _pieces(text: str, limit: int) -> Iterator[str]:
    at = 0
    while len(text) - at > limit:
        end = _end(text, at, at + limit)
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def _end(text: str, start: int, end: int) -> int:
    """The best place for a piece's end at or before *end*."""
    least = max(start + 1, end - _BACK)
    for sign in "\n ":
        found = text.rfind(sign, least, end)
        if found >= 0:
            return found + 1
    at = end
    while at > start + 1 and _is_inside(text, at):
        at -= 1
    return at if not _is_inside(text, at) else end


def _is_inside(text: str, at: int) -> bool:
    """True when a cut at *at* would part what is seen as one character."""
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M") or _ZWJ in {after, before}:
        return True
    if ord(after) in _SKIN or (before == "\r" and after == "\n"):
        return True
    if ord(before) in _REGIONAL and ord(after) in _REGIONAL:
        run = 0
        while run < at and ord(text[at - 1 - run]) in _REGIONAL:
            run += 1
        return run % 2 == 1
    return False


def _printable(line: str) -> str:
    """A line without anything invisible in it."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() or char in _KEPT_FORMAT else " " for char in line)


_EDITED = "edited away in the conversation"
_FORGOTTEN = "you had it forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLists:
    """State left by earlier runs: from how many runs each entry has come back, those of them whose
    newest run failed (and was not only held), those offered again, those given up, and how many
    entries a batch may have (0: as many as ever)."""

    tries: Mapping[int, int] = field(default_factory=dict)
    failed: frozenset[int] = frozenset()
    reoffered: frozenset[int] = frozenset()
    set_aside: frozenset[int] = frozenset()
    most: int = 0


class RunStore(Protocol):
    """The database, as one run asks it."""

    def may_write(self) -> bool:
        """True when the run is still its holder's; asked under the workspace's lock."""

    def began(self, cursor: int, snapshot: str) -> None:
        """Keep what whoever takes the run over must know: Dream's cursor, and the snapshot."""

    def lists(self) -> EntryLists: ...

    def reviewing(self, due: Due) -> None:
        """Keep that a review pass has begun, so that whoever takes the run over counts it."""

    def reviewed(self, found: ReviewResult) -> None: ...

    def spent(self, usage: Usage) -> None:
        """Keep at once what a request used, so that a run that is killed has used it."""

    def digest(self, key: str) -> str | None:
        """Return a summariser's facts of the text with this key; ``None``: there are none yet."""

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        """Keep it until Dream's place is past that entry."""

    def save_outcome(self, batch: Batch, decision: Decision) -> None:
        """Store what comes back, is offered again, or is given up; before Dream's place moves."""


def choose_batch(root: Path, lists: EntryLists, digest: Digest) -> tuple[Batch, int]:
    """The batch, and where Dream's cursor stands.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused: nothing can be read.
        NotDigested: a raw entry that comes first cannot be summarised for now.
    """
    pending = reader.acknowledged(root)
    wanted = lists.reoffered - lists.set_aside
    again = tuple(reader.find_by_cursor(root, wanted).values())
    waiting = tuple(row for row in pending.entries if row.cursor not in lists.set_aside)
    every = (*waiting, *again)
    passed = dict.fromkeys(edited_cursors(root, every), _EDITED)
    shown = {row.cursor: row for row in suppression.without_forgotten(root, every)}
    passed |= {row.cursor: _FORGOTTEN for row in every if row.cursor not in shown}
    alone = {cursor for cursor in lists.failed if lists.tries.get(cursor, 0) >= outcome.TRIES - 1}
    offer = BatchInput(
        waiting=[shown.get(row.cursor, row) for row in waiting],
        reoffered=[shown.get(row.cursor, row) for row in again],
        passed=passed,
        tries=lists.tries,
        alone=alone,
        most=lists.most or MOST_ENTRIES,
    )
    return build_batch(offer, digest=digest), pending.read_to


def find_in_files(root: Path, shown: Batch, text: Callable[[str], str | None]) -> frozenset[int]:
    """Entries with facts to be kept, each of which stands in a memory file or a skill, in these or
    nearly these words. *text* reads a file."""
    tagged = [row for row in shown.entries if outcome.is_tagged(row)]
    if not tagged:
        return frozenset()
    paths = [*files.BY_PATH, *(row.path for row in skills.all_skills(root) if not row.ships)]
    texts = FactIndex(text(path) for path in paths)
    return frozenset(row.cursor for row in tagged if not texts.unknown(row.text))


class FactIndex:
    """An index of the facts of some files, for exact and near matches."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        said = [fact for text in texts for fact in facts.facts(text or "") if fact.has_content]
        self._index = text_similarity.Index(
            unit for fact in said for unit in dict.fromkeys((fact.text, *facts.units(fact)))
        )

    def has(self, fact: str) -> bool:
        """True when the files state the fact in these or nearly these words."""
        return self._index.find(fact_tags.strip_tag(fact)) is not None

    def unknown(self, entry: str) -> tuple[str, ...]:
        """Return an entry's facts to keep that the files do not state."""
        return tuple(fact for fact in list_tagged(entry) if not self.has(fact))


def list_tagged(entry: str) -> tuple[str, ...]:
    """Return an entry's facts that are to be kept beyond the moment, without their tags."""
    return tuple(
        fact_tags.strip_tag(line).strip()
        for line in entry.splitlines()
        if summary_answer.mark_of(line) in summary_answer.KEPT_MARKS
    )
