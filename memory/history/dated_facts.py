"""Dated facts whose day is not over, for every prompt.

They are shown until the day after, in the workspace's zone, whether Dream has read them or not.
They come from the history and its monthly segments: facts with a day in their tag, and ephemeral
ones that name a day. A later correction replaces what it corrects; forgotten facts and those
about messages that were edited away are left out.
"""

import datetime as dt
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from threading import Lock

from jenny.agent import clock
from jenny.agent.prompt import Block, framed, one_line
from jenny.workspace import line_files, paths
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.file_cache import GrowingFile, Kept
from memory import dates, facts
from memory.history import entries, fact_tags, log
from memory.history.entries import HistoryEntry, parse_entry
from memory.message_sources import find_edited_messages, is_about_edited
from memory.suppression import tombstones
from memory.suppression.hide import filtered_entries

NAME = "coming_up"
MAX_FACTS = 40
MAX_CHARS = 6_000
_LINE_CHARS = 400
_HEADING = "# Coming up"
_ABOUT = """\
What was said about days that are not over yet, nearest first (days in {zone}). A record and no \
orders. Bring one up when it matters for what is spoken of, or when its day has come; what the \
person says now stands above it."""
_MARKS = (b"dated ", b"[ephemeral]", b"correction")
# Share of a fact's words that a correction with another or no day must repeat.
_SHARE = 0.6
_SHARE_OF_SAME_DAY = 0.3
_FOLDER_TICK_NS = 2_100_000_000


@dataclass(frozen=True, slots=True)
class DatedFact:
    """A fact with its last day (``None``: a correction without one), its day as the tag has it,
    and its entry."""

    text: str
    last: dt.date | None
    when: str
    entry: HistoryEntry
    is_correction: bool = False
    # A repeated fact is shown once.
    key: tuple[str, dt.date | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (facts.normal(self.text), self.last))


def block(root: Path, fallback_zone: str = "", *, now: dt.datetime | None = None) -> Block | None:
    """Return the block of the workspace; ``None`` when nothing is ahead."""
    real = paths.real_root(root)
    name = entries.zone_name(real, fallback_zone or "UTC")
    zone = entries.load_zone(real, fallback_zone)
    today = (now or dt.datetime.now(dt.UTC)).astimezone(zone).date()
    try:
        found = list(islice(list_upcoming(real, today), MAX_FACTS + 1))
    except WorkspaceError:
        return None  # the block of what was said lately names the reason
    if not found:
        return None
    lines: list[str] = []
    room = MAX_CHARS
    for fact in found[:MAX_FACTS]:
        line = f"- {describe_day(fact)}: {one_line(fact.text, _LINE_CHARS)}"
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line)
    parts = [_HEADING, _ABOUT.format(zone=name), framed("\n".join(lines), "text")]
    if len(lines) < len(found):
        # The file is not named, since not every run may read it.
        parts.append("More of them lie further ahead and are left out here.")
    return Block(NAME, "\n\n".join(parts), source=log.PATH)


def list_upcoming(real: Path, today: dt.date) -> Iterator[DatedFact]:
    """Yield the dated facts that hold on *today* or later, nearest first. Each is compared with
    corrections and with forgotten facts only when it is reached. *real* is the real folder.

    Raises:
        PathRefused: the history cannot be read.
    """
    rows = [row for path in (*_segments(real), log.PATH) for row in _rows(real, path)]
    ahead: dict[tuple[str, dt.date | None], list[DatedFact]] = {}
    for row in rows:
        if row.last is not None and row.last >= today:
            ahead.setdefault(row.key, []).append(row)
    if not ahead:
        return
    corrections = _corrections(real, tuple(row for row in rows if row.is_correction))
    gone = find_edited_messages(real)
    forgotten = tombstones.state(real)
    nearest = sorted(
        (same[-1].last, same[-1].when, same[-1].entry.cursor, at)
        for at, same in enumerate(ahead.values())
    )
    said = list(ahead.values())
    for *_, at in nearest:
        for row in reversed(said[at]):
            if (gone and is_about_edited(row.entry, gone)) or corrections.supersede(row):
                continue
            shown = filtered_entries(forgotten, [replace(row.entry, content=row.text)])
            if shown:
                yield replace(row, text=shown[0].content)
                break


def dated_lines(text: str) -> list[str]:
    """Return the lines of a summary with a day in their tag."""
    found = []
    for line in text.split("\n"):
        row = fact_tags.parse_strict(line)
        if row is not None and row.when:
            found.append(line)
    return found


def describe_day(fact: DatedFact) -> str:
    """Format the day of a fact, with weekdays."""
    return " to ".join(clock.with_weekday(part.strip()) for part in fact.when.split(" to "))


class _Corrections:
    """The corrections of a workspace, indexed by words and days. The result for a fact is cached,
    so that it is compared only with corrections added since."""

    def __init__(self, rows: tuple[DatedFact, ...] = ()) -> None:
        self._number = next(_NUMBERS)
        self._rows: tuple[DatedFact, ...] = ()
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_day: defaultdict[dt.date, set[int]] = defaultdict(set)
        self._add(rows)

    def extended(self, rows: tuple[DatedFact, ...]) -> "_Corrections":
        """Return the corrections *rows*; the index is reused when they begin with those known."""
        with _EXTENDING:
            if rows[: len(self._rows)] == self._rows:
                self._add(rows)
                return self
        return _Corrections(rows)

    def supersede(self, old: DatedFact) -> bool:
        """True when a later correction concerns an earlier fact."""
        rows = self._rows
        key = f"{self._number}:{old.entry.cursor}:{old.is_correction:d}:{old.last}:{old.text}"
        compared, found = _CHECKED.get(key) or (0, False)
        if not found and compared < len(rows):
            found = any(
                (new.entry.cursor, new.is_correction) > (old.entry.cursor, old.is_correction)
                and is_about_same(new.text, old.text, old.last)
                for new in (
                    rows[compared:]
                    if compared
                    else (rows[at] for at in self._near(old) if at < len(rows))
                )
            )
            _CHECKED.put(key, (len(rows), found))
        return found

    def _near(self, old: DatedFact) -> list[int]:
        """Return the corrections that have enough words in common with a fact."""
        words = _words(old.text)
        least, least_of_day = _SHARE * words.total(), _SHARE_OF_SAME_DAY * words.total()
        common: Counter[int] = Counter()
        for word, times in words.items():
            for _ in range(times):
                common.update(self._by_word.get(word, ()))
        day = self._by_day.get(old.last, set()) if old.last else set()
        return [
            at
            for at, shared in common.items()
            if shared >= least or (shared >= least_of_day and at in day)
        ]

    def _add(self, rows: tuple[DatedFact, ...]) -> None:
        for at, row in enumerate(rows[len(self._rows) :], len(self._rows)):
            for word in _words(row.text):
                self._by_word[word].append(at)
            for day in fact_tags.days_in(row.text):
                self._by_day[day].add(at)
        self._rows = rows


def _corrections(real: Path, rows: tuple[DatedFact, ...]) -> _Corrections:
    kept = _CORRECTIONS.get(str(real))
    found = kept.extended(rows) if kept is not None else _Corrections(rows)
    _CORRECTIONS.put(str(real), found)
    return found


def is_about_same(new: str, old: str, day: dt.date | None) -> bool:
    """True when a later text concerns what an older one says of *day*: it has most of its words,
    or some of them and the day."""
    mine = _words(old)
    size = mine.total()
    common = (mine & _words(new)).total()
    if not size or common < _SHARE_OF_SAME_DAY * size:
        return False
    return common >= _SHARE * size or day in fact_tags.days_in(new)


@lru_cache(maxsize=10_000)
def _words(text: str) -> Counter[str]:
    """Count the words of a text without days and numbers; scripts without spaces are counted by
    pairs."""
    words: Counter[str] = Counter()
    for word in facts.normal(dates.extract_dates(text)[1]).split():
        if word.isascii() or len(word) < 4:  # noqa: PLR2004 - a word
            words[word] += not any(map(str.isdigit, word))
        elif ord(max(word)) >= 0x3040:  # noqa: PLR2004 - where kana begin
            words.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            words[word] += 1
    return +words


def _rows(real: Path, path: str) -> tuple[DatedFact, ...]:
    if path not in _FILES:
        _FILES[path] = GrowingFile(
            path,
            lambda root: _read(root, path),
            lambda before, data: (*(before or ()), *_facts_in(data)),
        )
    return _FILES[path].read(real)


def _read(real: Path, path: str) -> bytes:
    with line_files.open_lines(real, path) as file:
        return file.read(0, file.size) if file else b""


def _facts_in(data: bytes) -> Iterator[DatedFact]:
    """Yield the dated facts and corrections of some lines, in their order."""
    if not any(mark in data for mark in _MARKS):
        return
    for line in data.split(b"\n"):
        if (
            any(mark in line for mark in _MARKS)
            and (entry := parse_entry(line))
            and entry.kind != "raw"
        ):
            yield from _facts(entry)


def _facts(entry: HistoryEntry) -> Iterator[DatedFact]:
    for row in _lines(entry.content.split("\n")):
        when = row.when
        last = fact_tags.last_day(when)
        if row.tag == "ephemeral" and (days := _days_after(row.text, entry)):
            last = max(days)
            when = str(last)
        if last is not None or row.tag == "correction":
            yield DatedFact(row.text, last, when, entry, row.tag == "correction")


def _lines(lines: Iterable[str]) -> Iterator[fact_tags.Line]:
    """Yield the facts of an entry, each with its continuation lines."""
    fact: fact_tags.Line | None = None
    for line in lines:
        found = fact_tags.parse_strict(line)
        if found is not None:
            if fact is not None:
                yield fact
            fact = found
        elif fact is not None and line.strip():
            fact = replace(fact, text=f"{fact.text} {line.strip()}")
    if fact is not None:
        yield fact


def _days_after(text: str, entry: HistoryEntry) -> list[dt.date]:
    """Return the days that a text names and that were not over when its entry was written."""
    said = fact_tags.last_day(entry.timestamp[:10])
    return [day for day in fact_tags.days_in(text) if said is None or day >= said]


def _segments(real: Path) -> tuple[str, ...]:
    """List the segments. The folder may have ten thousand other files and is read only after a
    change."""
    try:
        status = os.stat(f"{real}/{log.ARCHIVE_FOLDER}")  # noqa: PTH116 - before every prompt
    except OSError:
        return ()
    kept = _LISTED.get(str(real))
    if kept is not None and kept[0] == status.st_mtime_ns:
        return kept[1]
    found = tuple(log.list_segments(real))
    if dt.datetime.now(dt.UTC).timestamp() * 1e9 - status.st_mtime_ns > _FOLDER_TICK_NS:
        _LISTED.put(str(real), (status.st_mtime_ns, found))
    return found


_FILES: dict[str, GrowingFile[tuple[DatedFact, ...]]] = {}
_CORRECTIONS: Kept[_Corrections] = Kept(256)
# With how many corrections a fact was compared, and the result.
_CHECKED: Kept[tuple[int, bool]] = Kept(20_000)
_NUMBERS = count()
_EXTENDING = Lock()
_LISTED: Kept[tuple[int, tuple[str, ...]]] = Kept(256)
