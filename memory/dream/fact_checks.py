"""Checks a run against the facts: what became of each fact, and what a written line rests on.

Each fact of an entry has a number by which the model names it: 7.2 is the second fact of entry 7.
The end state of a fact decides, whichever of several writes brought it. A fact that no line
states, and that was not left out for one of the listed reasons, is uncovered: the model is asked
about it once, then its entry is shown again.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from jenny.text_normalisation import fold
from memory import evidence, facts, files, replaced_lines, skills, text_similarity
from memory.dream import rules
from memory.dream.drafts import Draft, Refusal
from memory.dream.values import Attempt, Batch, BatchEntry
from memory.evidence import Doubt, Evidence
from memory.fact_coverage import Coverage, SoughtFact, brings
from memory.fact_words import words_of
from memory.facts import Fact
from memory.history import fact_tags, summary_answer


@dataclass(frozen=True, slots=True)
class EntryFact:
    cursor: int
    number: int
    tag: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.cursor}.{self.number}"

    @property
    def is_kept(self) -> bool:
        """True when it is to be kept beyond the moment. A fact that only has a day is not: it is
        shown to every chat by itself until its day is over."""
        return self.tag in summary_answer.KEPT_MARKS


def list_facts(row: BatchEntry) -> tuple[EntryFact, ...]:
    """The tagged facts of an entry, each with the lines that belong to it."""
    found: list[EntryFact] = []
    for line in row.text.split("\n"):
        fact = fact_tags.parse_strict(line)
        if fact is not None:
            found.append(EntryFact(row.cursor, len(found) + 1, fact.tag, fact.text.strip()))
        elif found and line[:1].isspace() and line.strip():
            last = found[-1]
            text = f"{last.text} {line.strip()}"
            found[-1] = EntryFact(last.cursor, last.number, last.tag, text)
    return tuple(found)


def list_kept(rows: Iterable[BatchEntry]) -> tuple[EntryFact, ...]:
    """The facts of all these entries that are to be kept."""
    return tuple(fact for row in rows for fact in list_facts(row) if fact.is_kept)


REASONS: Final = (
    "superseded",
    "duplicate",
    "asked_to_forget",
    "not_about_the_person",
    "expired",
    "unsure",
)
REASONS_TEXT: Final = ", ".join(REASONS)


@dataclass(frozen=True, slots=True)
class FactStates:
    """*uncovered*: facts that no line states, by entry. *covered*: entries with facts to be kept of
    which none is uncovered. *landed*: entries of which the run itself wrote a fact."""

    uncovered: Mapping[int, tuple[EntryFact, ...]] = field(default_factory=dict)
    covered: frozenset[int] = frozenset()
    landed: frozenset[int] = frozenset()


def parse_reason(text: str) -> str:
    """The reason of the list that *text* begins with; empty: none."""
    plain = re.sub(r"[\s_-]+", "_", text.strip().strip("\"'*`[(").lower())
    return next((reason for reason in REASONS if plain.startswith(reason)), "")


def find_states(
    batch: Batch,
    attempts: Sequence[Attempt],
    texts: Iterable[str | None],
    *,
    left_out: Collection[str] = (),
    quoted: Mapping[str, str] = MappingProxyType({}),
) -> FactStates:
    """*texts*: the files after the run. *left_out*: names of facts that need not be there.
    *quoted*: by the name of a fact, the line of which the model says that it states it."""
    kept = list_kept(batch.entries)
    said = [text for text in texts if text]
    standing = {line.strip() for text in said for line in text.split("\n")}
    coverage = Coverage(said)
    uncovered: dict[int, tuple[EntryFact, ...]] = {}
    landed: set[int] = set()
    nothing = Coverage(())
    for fact in kept:
        own, removed = _written_for(fact.cursor, attempts, standing)
        # A line that was only moved or reworded was not written for this fact.
        own = [line for line in own if brings(fact.text, line, removed)]
        sought = sought_fact(fact, kept)
        if nothing.covers(sought, own, removed):
            landed.add(fact.cursor)
        elif not (
            fact.name in left_out
            or coverage.covers(sought, own, removed)
            or coverage.quotes(sought, quoted.get(fact.name, ""))
        ):
            uncovered[fact.cursor] = (*uncovered.get(fact.cursor, ()), fact)
    covered = frozenset(fact.cursor for fact in kept) - uncovered.keys()
    return FactStates(uncovered, covered, frozenset(landed))


def sought_fact(fact: EntryFact, others: Iterable[EntryFact]) -> SoughtFact:
    siblings = [other.text for other in others if other.text != fact.text]
    return SoughtFact(text=fact.text, tag=fact.tag, siblings=siblings)


def is_stated_by(fact: EntryFact, others: Iterable[EntryFact]) -> bool:
    """True when another fact of the batch says the same."""
    texts = [f"- {other.text}" for other in others if other.name != fact.name]
    return Coverage(["\n".join(texts)]).covers(SoughtFact(text=fact.text))


def _written_for(
    cursor: int, attempts: Sequence[Attempt], standing: Collection[str]
) -> tuple[list[str], list[str]]:
    """The lines that writes naming the entry brought and that still stand or wait for approval,
    also in the wording that a later write gave them; and the lines that those writes took out."""
    added: list[str] = []
    removed: list[str] = []
    for row in attempts:
        if not row.ok or not (cursor in row.sources or set(row.removed) & set(added)):
            continue
        added += row.added
        if cursor in row.sources:
            removed += row.removed
    waiting = {line for row in attempts if row.waits for line in row.added}
    return [line for line in added if line in waiting or line.strip() in standing], removed


RULE: Final = "grounding"
# So often a run is asked; what is doubtful after that waits at once.
_MOST_QUESTIONS = 8
_SHOWN = 6
_LINE_CHARS = 160
# So many lines that have most words in common with one are looked at.
_ALIKE_LINES = 3
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)]|#+|description:)\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAct:
    """An act of a run. *text* reads a memory file; *earlier* and *written*: lines that the run took
    out before, and those that it wrote; *entries* finds the entries on which lines rest."""

    drafts: Sequence[Draft]
    batch: Batch
    sources: Sequence[int]
    text: Callable[[str], str | None]
    earlier: Sequence[str] = ()
    written: Sequence[str] = ()
    entries: Callable[[Sequence[str]], Iterable[str]] = lambda _: ()
    is_review: bool = False


@dataclass(slots=True)
class GroundingCheck:
    """Remembers what a run was asked about its writes."""

    _told: set[tuple[str, str]] = field(default_factory=set)
    _questions: int = 0

    def check(self, act: CheckedAct, before_asking: Callable[[], None]) -> list[str]:
        """Ask about an act; the sentences for the person, if it has to wait for them.

        Raises:
            Refusal: the run is asked about something new.
        """
        found = list(_doubts(act))
        new = [row for row in found if any(key not in self._told for key in _keys(row))]
        if new and self._questions < _MOST_QUESTIONS:
            before_asking()
            self._questions += 1
            self._told |= {key for row in new for key in _keys(row)}
            raise Refusal(RULE, _question(new, act), _path(act, new[0]))
        return [
            f"A change of {_path(act, row)} waits for your approval, since {_describe(row, act)}."
            for row in found
            # What could not be asked was not confirmed either.
            if row in new or row.kind not in _asked_only(act)
        ]


def _doubts(act: CheckedAct) -> Iterator[Doubt]:
    yield from _doubts_about_memory(act)
    cited, others = _sorted_entries(act)
    for draft in act.drafts:
        if rules.is_skill(draft.path):
            known = [fact.text for path in files.BY_PATH for fact in _facts(act.text(path))]
            yield from evidence.find_doubts_about_instructions(
                list(_instructions(draft)),
                Evidence(
                    cited=_texts_with_days(cited),
                    shown=_texts_with_days(others, known),
                    replaced=(draft.old or "").split("\n"),
                ),
            )


def _sorted_entries(act: CheckedAct) -> tuple[list[BatchEntry], list[BatchEntry]]:
    """The entries that an act names, and the others."""
    cited = [row for row in act.batch.entries if row.cursor in act.sources]
    return cited, [row for row in act.batch.entries if row.cursor not in act.sources]


def _instructions(draft: Draft) -> Iterator[str]:
    """The lines that come into a skill, without list marks and the header's own; lines of code as
    spans of code."""
    came = set(draft.came.split("\n"))
    is_code = False
    for line in draft.text.split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif line in came and line.strip() and not skills.HEADER_LINE.match(line):
            yield f"`{line.strip()}`" if is_code else _LIST_MARK.sub("", line).strip()


def _doubts_about_memory(act: CheckedAct) -> Iterator[Doubt]:
    drafts = [draft for draft in act.drafts if draft.path in files.BY_PATH]
    if not drafts:
        return
    changed = {draft.path: draft for draft in drafts}
    old = {
        path: _facts(changed[path].old if path in changed else act.text(path))
        for path in files.BY_PATH
    }
    new = {
        path: _facts(changed[path].text) if path in changed else old[path] for path in files.BY_PATH
    }
    was = {facts.normal(fact.text) for rows in old.values() for fact in rows}
    now = {facts.normal(fact.text) for rows in new.values() for fact in rows}
    added = [f.text for path in changed for f in new[path] if facts.normal(f.text) not in was]
    replaced = [f.text for path in changed for f in old[path] if facts.normal(f.text) not in now]
    if not added and not replaced:
        return
    before = [fact for rows in old.values() for fact in rows]
    after = [f.text for rows in new.values() for f in rows if facts.normal(f.text) in was]
    cited, others = _sorted_entries(act)
    shown = _texts_with_days(others, act.earlier)
    if act.is_review:
        shown = _texts_with_days((), [*(fact.text for fact in before), *act.earlier])
    yield from evidence.find_doubts(
        added,
        Evidence(
            cited=_texts_with_days(cited),
            shown=shown,
            replaced=replaced,
            before=[fact.text for fact in before],
            after=after,
            headings=[heading for fact in before if (heading := fact.heading)],
        ),
    )
    own = {facts.normal(line) for line in act.written}
    standing = [line for line in after if facts.normal(line) not in own]
    is_correction = any(fact.tag == "correction" for row in cited for fact in list_facts(row))
    yield from _contradictions(added, standing, is_correction=is_correction)
    yield from _permanent(act, replaced, [*added, *after], cited)


def _contradictions(
    added: Sequence[str], after: Sequence[str], *, is_correction: bool
) -> Iterator[Doubt]:
    """The lines that come and contradict one that stays from before the run. Another number or date
    may be that of another thing, unless something is corrected; several are a series."""
    index = text_similarity.Index(after)
    for line in added:
        alike = (after[at] for at in index.close(line, _ALIKE_LINES))
        found = [other for other in alike if text_similarity.contradicts(line, other)]
        if len(found) == 1 and (is_correction or _has_same_numbers(line, found[0])):
            yield Doubt("contradicts", line, (found[0],))


def _has_same_numbers(line: str, other: str) -> bool:
    one, two = words_of(line), words_of(other)
    return (one.numbers, one.dates) == (two.numbers, two.dates)


def _permanent(
    act: CheckedAct, removed: Sequence[str], left: Sequence[str], cited: Sequence[BatchEntry]
) -> Iterator[Doubt]:
    """The removed lines that rest on a permanent fact, that no other line says, and that no entry
    corrects."""
    corrections = [
        fact.text for row in cited for fact in list_facts(row) if fact.tag == "correction"
    ]
    corrections += [text for row in cited if not list_facts(row) for text in _texts(row)]
    batch = list(_permanent_facts(row.text for row in act.batch.entries))
    for line in removed:
        # Most lines rest on no such fact, and comparing them with others takes longer.
        permanent = [*batch, *_permanent_facts(act.entries(facts.digests(line)))]
        coverage = Coverage([f"- {line}"] if permanent else ())
        if (
            any(coverage.covers(SoughtFact(text=text)) for text in permanent)
            and not replaced_lines.is_said(line, left)
            and not replaced_lines.is_touched(line, corrections)
        ):
            yield Doubt("permanent", line, ())


def _permanent_facts(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for line in text.split("\n"):
            found = fact_tags.parse_strict(line)
            if found is not None and found.tag == "permanent":
                yield found.text


def _facts(text: str | None) -> list[Fact]:
    return [fact for fact in facts.facts(text or "") if fact.has_content and fact.kind != "comment"]


def _texts(row: BatchEntry) -> Iterator[str]:
    """The lines of an entry, without tags."""
    for line in row.text.split("\n"):
        if line.strip():
            yield fact_tags.strip_tag(line)


def _texts_with_days(
    rows: Iterable[BatchEntry], lines: Iterable[str] = ()
) -> dict[str, list[dt.date]]:
    """The lines of entries, each with the days of its entries, and lines without days."""
    found: dict[str, list[dt.date]] = {}
    for row in rows:
        for text in _texts(row):
            days = found.setdefault(text, [])
            if day := _day(row):
                days.append(day)
    return found | {line: found.get(line, []) for line in lines}


def _day(row: BatchEntry) -> dt.date | None:
    try:
        day = dt.date.fromisoformat(row.entry.timestamp[:10])
    except ValueError:
        return None
    # Days are counted from it, on both sides.
    return day if dt.MINYEAR < day.year < dt.MAXYEAR else None


def _keys(doubt: Doubt) -> Iterator[tuple[str, str]]:
    """Names of a doubt that stay when a line that comes is put in other words. Where the line is
    written after it was asked about, it is named too: a line that goes as it stands, one that comes
    by its words."""
    if doubt.kind == "permanent":
        yield doubt.kind, facts.normal(doubt.line)
        return
    line = f"{facts.normal(doubt.line)}: " if doubt.kind == "lost" else ""
    if doubt.kind == "contradicts":
        said = words_of(doubt.line)
        line = f"{' '.join(sorted((*said.all, *said.numbers, *said.dates)))}: "
    yield from ((doubt.kind, f"{line}{fold(word)}") for word in doubt.words)


def _asked_only(act: CheckedAct) -> tuple[str, ...]:
    """The kinds of doubts after which a line that comes again is written."""
    return ("contradicts",) if act.is_review else ("contradicts", "lost")


def _path(act: CheckedAct, doubt: Doubt) -> str:
    for draft in act.drafts:
        texts = (draft.text, draft.old or "")
        if any(doubt.line.split("\n")[0] in text for text in texts):
            return draft.path
    return act.drafts[0].path


def _question(doubts: Sequence[Doubt], act: CheckedAct) -> str:
    rows = [f"* {_describe(row, act)}" for row in doubts[:_SHOWN]]
    if len(doubts) > _SHOWN:
        rows.append(f"* and {len(doubts) - _SHOWN} more lines")
    is_written = all(row.kind in _asked_only(act) for row in doubts)
    then = "it is written" if is_written else "it waits for the person's approval"
    end = (
        "Put it right and send it again, or leave it. If it is true as it stands, send it once "
        f"more: then {then}."
    )
    return "\n".join(["Nothing was written yet. Is this meant so?", *rows, end])


def _describe(doubt: Doubt, act: CheckedAct) -> str:
    words = ", ".join(f"“{word}”" for word in doubt.words[:8])
    line = f"“{' '.join(doubt.line.split())[:_LINE_CHARS]}”"
    what = "a line of the files" if act.is_review else "an entry of this call or a line it replaces"
    if doubt.kind == "unfounded":
        return f"{line} says {words}, which does not stand in {what}"
    if doubt.kind == "negation":
        return f"{line} has a “not” too many or too few: see {words}"
    if doubt.kind == "mixed":
        return (
            f"{line} joins what was said apart: see to what {words} belonged before; in doubt "
            "leave both lines as they were"
        )
    if doubt.kind == "contradicts":
        return (
            f"{line} contradicts {words}, which stays: if only one of them holds, take the other "
            "out in the same call; if both do, say of each when or where"
        )
    if doubt.kind == "lost":
        return f"{line} goes, and with it {words}, which no line says any more"
    return f"{line} goes, though it rests on a fact marked permanent that no entry corrects"
