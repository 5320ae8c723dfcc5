"""Compares lines that a run writes with what it was shown, by their words.

A line may say things in other words, so a share of its words is enough. But its numbers, dates and
names must stand in the entries that it rests on or in the lines that it replaces, or follow from
them and the day; no clause may be new as a whole; no negation may come or go; and a line that is a
fact word for word may not have one word in the place of another. What is
replaced may lose no number, no name and no negation, and the words of two lines that are merged
stay with what they were about.

A line in another language than its entries is compared by numbers and names alone, one in another
script by numbers alone.
"""

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from jenny.text_normalisation import fold, is_unspaced
from memory.date_evidence import MOST_UNITS, DateEvidence
from memory.derived_numbers import derive_numbers, find_amounts, find_rates
from memory.fact_units import (
    LABELS,
    Text,
    Unit,
    date_parts,
    has_date_parts,
    has_digits,
    is_compound,
    is_model,
    is_of_month,
    nearest_texts,
    plain_number,
    read_units,
    runs_of,
)
from memory.fact_words import (
    WordSet,
    is_aversion,
    word_sets,
)
from memory.replaced_lines import find_lost, find_parted
from memory.similarity_words import OPPOSITES
from memory.text_languages import is_script, language_of
from memory.turned_negations import find_turned
from memory.word_groups import (
    cjk_frames,
    excluding,
    find_abbreviated,
    find_excluded_unspaced,
    german_frames,
    is_kind_of,
    synonyms_of,
    unspaced_synonyms,
)

type Kind = Literal["unfounded", "negation", "mixed", "lost", "contradicts", "permanent"]

# Share of a line's words that must stand in what it rests on (docs/decisions/dream-tools.md).
LINE_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Doubt:
    """Words of a line that do not follow from what the run was shown, or that are lost with it."""

    kind: Kind
    line: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Texts on which the lines of an act may rest.

    *cited*: facts of the entries that it names, *shown*: those of the other entries, each with the
    days of its entries; *replaced*: the lines that it takes out; *before* and *after*: the other
    lines of the memory files before and after it; *headings*: theirs.
    """

    cited: Mapping[str, Collection[dt.date]] = field(default_factory=dict)
    shown: Mapping[str, Collection[dt.date]] = field(default_factory=dict)
    replaced: Sequence[str] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    headings: Sequence[str] = ()


def find_doubts(added: Sequence[str], evidence: Evidence) -> Iterator[Doubt]:
    """Yield what is doubtful about an act that adds these lines."""
    for line in added:
        ground = _Ground(line[:_MOST_CHARS], evidence)
        if words := ground.unfounded():
            yield Doubt("unfounded", line, words)
        elif ground.is_translation:
            continue
        elif words := ground.turned():
            yield Doubt("negation", line, words)
        elif words := ground.mixed() or find_parted(ground.line, ground.replaced):
            yield Doubt("mixed", line, words)
    for line in evidence.replaced:
        new = [text[: 2 * _MOST_CHARS] for text in added]
        if words := find_lost(line[:_MOST_CHARS], new, evidence.after, evidence.cited):
            yield Doubt("lost", line, words)


def find_doubts_about_instructions(added: Sequence[str], evidence: Evidence) -> Iterator[Doubt]:
    """Yield what is doubtful about lines of a skill. Instructions may say more than was said, but
    their commands, addresses, numbers, names and negations must stand there."""
    for line in added:
        ground = _Ground(line[:_MOST_CHARS], evidence)
        if words := (*ground.unknown_literals(), *ground.unknown_values()):
            yield Doubt("unfounded", line, tuple(dict.fromkeys(words)))
        elif not ground.is_translation and (words := ground.turned()):
            yield Doubt("negation", line, words)


# --- What a line rests on -----------------------------------------------------------------------

_QUOTED = re.compile('[„“"«「『]([^”“"»」』]{1,200})[”“"»」』]')
# Code, addresses, paths and options of commands.
_LITERAL = re.compile(
    r"`([^`\n]+)`|(https?://[^\s)>\]`]+)|([\w.+-]+@[\w-]+(?:\.[\w-]+)+)|((?:[\w.~-]*/)+[\w.-]+)"
    r"|((?<![\w-])--[a-z][\w-]*)"
)
# Of a line without end, so much is compared.
_MOST_CHARS = 2_000
_BRACKETS = ("(", "（")
# "OK" is no name in a Japanese line.
_SHORTEST_SIGN = 2


class _Ground:
    """A line, and what it may rest on."""

    def __init__(self, line: str, evidence: Evidence) -> None:
        self._evidence = evidence
        named = [*evidence.cited, *evidence.replaced]
        languages = {language_of(text) for text in named or evidence.shown} - {""}
        own = language_of(line)
        self.is_translation = bool(own and languages and own not in languages)
        self._is_other_script = self.is_translation and (
            is_script(own) or all(map(is_script, languages))
        )
        if not own:
            own = "de" if "de" in languages else next(iter(sorted(languages)), "")
        self._language = own
        self.line = read_units(line, own)
        self._cited = self._texts(evidence.cited)
        self.replaced = self._texts(evidence.replaced)
        near = nearest_texts(self.line.units, evidence.shown)
        self._shown = self._texts(near)
        # A text counts from the days of its own entries alone.
        self._dates = DateEvidence(
            self.line,
            list(zip(self._cited, evidence.cited.values(), strict=True)),
            list(zip(self._shown, [evidence.shown[text] for text in near], strict=True)),
            is_translation=self.is_translation,
        )
        self._all = (*self._cited, *self.replaced, *self._shown)
        self._whole = read_units("\n".join(text.source for text in self._all), own)
        self._quoted = frozenset(
            word for quoted in _QUOTED.findall(line) for word in quoted.split()
        )
        # Whether no is said; by which words is compared apart.
        self._has_negation = any(text.words.negated for text in self._all)
        self._headings = word_sets("\n".join(evidence.headings)).all

    def _texts(self, texts: Iterable[str]) -> tuple[Text, ...]:
        return tuple(read_units(text[: 2 * _MOST_CHARS], self._language) for text in texts)

    def unfounded(self) -> tuple[str, ...]:
        """The words of the line that stand nowhere and make it another fact."""
        wrong = self._unknown_numbers()
        if self._is_other_script:
            return wrong
        units = dict.fromkeys(self.line.units)
        unknown = dict.fromkeys(unit for unit in units if self._is_unknown(unit))
        if wrong:
            return (*wrong, *runs_of(unit for unit in unknown if not unit.is_loose))
        names = self._unknown_names(unknown)
        if names or self.is_translation:
            return names
        return (
            self._excluded(unknown)
            or self._swapped_in_frame(unknown)
            or self._new_clause(unknown)
            or self._too_new(unknown)
        )

    def _new_clause(self, unknown: Collection[Unit]) -> tuple[str, ...]:
        found = (self._unknown_in(clause, unknown) for clause in self.line.clauses)
        return next(filter(None, found), ())

    def _too_new(self, unknown: Collection[Unit]) -> tuple[str, ...]:
        counting = [unit for unit in self.line.units if unit.counts]
        total = sum(unit.weight for unit in counting)
        if total and sum(map(_surprise, unknown)) > (1 - LINE_SHARE) * total:
            return runs_of(unknown)
        return ()

    def unknown_values(self) -> tuple[str, ...]:
        """The numbers, names and days of the line that stand nowhere."""
        wrong = self._unknown_numbers()
        if self._is_other_script:
            return wrong
        unknown = dict.fromkeys(unit for unit in self.line.units if self._is_unknown(unit))
        return (*wrong, *self._unknown_names(unknown))

    def unknown_literals(self) -> tuple[str, ...]:
        """The commands, paths and addresses of the line of which a part stands nowhere."""
        said = fold(
            "\n".join((*self._evidence.cited, *self._evidence.shown, *self._evidence.replaced))
        )
        found = ("".join(parts) for parts in _LITERAL.findall(self.line.source))
        return tuple(
            literal for literal in found if any(part not in said for part in fold(literal).split())
        )

    def _unknown_names(self, unknown: Collection[Unit]) -> tuple[str, ...]:
        """The new names and days of the week of the line."""
        names = self._quoted | (self.line.names if self._language == "de" else frozenset())
        found = runs_of(
            unit
            for unit in unknown
            if unit.is_person
            or unit.is_of_calendar
            or unit.run in names
            or (is_model(unit.key) and any(map(is_model, self._whole.found)))
            or (
                self._language == "cjk"
                and len(unit.run) > _SHORTEST_SIGN
                and unit.run.isascii()
                and unit.run[:1].isalpha()
            )
        )
        return (*found, *self._strange_people()) if self._language == "cjk" else found

    def _strange_people(self) -> tuple[str, ...]:
        """People of the line, by what is put behind their names, that no text names."""
        texts = (*self._all, *self._near_lines)
        people = {name for text in texts for name in text.people}
        said = "\n".join(text.folded for text in texts)
        return tuple(
            name
            for name in self.line.people
            if name not in people
            and (name not in said or any(other.startswith(name) for other in people))
        )

    def _unknown_in(self, clause: tuple[Unit, ...], unknown: Collection[Unit]) -> tuple[str, ...]:
        new = [unit for unit in dict.fromkeys(clause) if unit in unknown][:MOST_UNITS]
        if not new or self.line.is_label(self.line.clauses.index(clause)):
            return ()
        known = [unit for unit in clause if unit.counts and self._stands(unit)][:MOST_UNITS]
        # A single new word may be another one for what was said, or sum it up.
        is_single = len(runs_of(new)) == 1 and self._language != "cjk"
        if _is_new(new, known) and not is_single and not self._is_heading(clause, new):
            return runs_of(new)
        base = max(
            self._all,
            key=lambda text: sum(u.weight for u in known if text.knows(u)),
            default=self._whole,
        )
        if opposed := [unit for unit in new if _is_opposed(unit, base, self.line)]:
            return runs_of(opposed)
        is_alone = runs_of(unknown) == runs_of(new[:1])
        return runs_of(new) if is_alone and self._is_swapped(new[0], base) else ()

    def _excluded(self, unknown: Collection[Unit]) -> tuple[str, ...]:
        """The new words of a line of a kind of which something else was said."""
        if self._language == "cjk":
            texts = (*self._all, *filter(self._is_about, self._near_lines))
            said = "\n".join(text.folded for text in texts)
            return find_excluded_unspaced(self.line.folded, said)
        return runs_of(
            unit
            for unit in unknown
            if any(
                any(is_kind_of(word, kind) for word in self._whole.found)
                for kind in excluding(unit.key)
            )
        )

    def _swapped_in_frame(self, unknown: Collection[Unit]) -> tuple[str, ...]:
        """The new words that stand where another one stood that the line has not: "玲奈の家" and
        "香織の家", "Kredit bei der Volksbank" and "Kredit bei der Commerzbank"."""
        if self._language == "cjk":
            said = "\n".join(text.folded for text in self._all)
            places = list(cjk_frames(said))
            return tuple(
                word
                for word, place in cjk_frames(self.line.folded)
                if word not in said
                and word not in self._unspaced_synonyms
                and any(place == one and other not in self.line.folded for other, one in places)
            )
        if self._language != "de":
            return ()
        nouns = [row for text in self._all for row in german_frames(text)]
        return runs_of(
            unit
            for unit, frame in german_frames(self.line)
            if unit in unknown
            and any(frame == one and not self.line.knows(other) for other, one in nouns)
        )

    def _has_synonym(self, unit: Unit) -> bool:
        """True when a text has another word for it. People and days have none."""
        if unit.is_role or unit.is_of_calendar:
            return False
        if is_unspaced(unit.key[0]):
            return any(unit.key in word for word in self._unspaced_synonyms)
        found = word_sets(self._whole.source).all
        return any(found.has(word) for word in synonyms_of(unit.key))

    @cached_property
    def _unspaced_synonyms(self) -> frozenset[str]:
        return unspaced_synonyms(self.line.folded, self._whole.folded)

    def _is_heading(self, clause: tuple[Unit, ...], new: Sequence[Unit]) -> bool:
        """True when one new word stands alone at the beginning or in brackets."""
        at = self.line.clauses.index(clause)
        is_alone = len({unit.run for unit in (*clause, *new)}) == 1
        return is_alone and (at == 0 or self.line.around(at)[0] in _BRACKETS)

    def _is_swapped(self, unit: Unit, base: Text) -> bool:
        """True when a line is a fact word for word, with one word in the place of another."""
        # Of a compound ("水泳教室") the beginning says which; of a name it does not.
        first = next(one for one in self.line.units if one.run == unit.run)
        is_name = any(
            one.run[0] == unit.run[0] and len(one.run) == len(unit.run) for one in base.units
        )
        if unit.is_loose or not (is_name or self._is_unknown(first)):
            return False
        own = list(filter(_says_something, self.line.units))
        sought = iter(base.units)
        # All but the new word stand there in this order.
        if not all(
            one.run == unit.run or any(_is_same_word(one, other) for other in sought) for one in own
        ):
            return False
        between = _neighbours(unit, own)
        said = list(filter(_says_something, base.units))
        return any(
            not gone.is_loose
            and not self.line.knows(gone)
            and _are_same(between, _neighbours(gone, said))
            for gone in said
        )

    def _is_unknown(self, unit: Unit) -> bool:
        if not unit.counts or unit.key in LABELS or self._headings.has(unit.key):
            return False
        if is_aversion(unit.key) and self._has_negation:
            return False
        if unit.key in self._dates.weekdays:
            return False
        if self._stands(unit) or is_compound(unit.key, self._whole) or self._has_synonym(unit):
            return False
        if fold(unit.run) in self._abbreviated:
            return False
        near = (text for text in self._near_lines if text.knows(unit))
        return not any(self._is_about(text, unit) for text in near)

    @cached_property
    def _abbreviated(self) -> frozenset[str]:
        return find_abbreviated(self.line.source, self._whole.source)

    def _stands(self, unit: Unit) -> bool:
        return self._whole.knows(unit)

    @cached_property
    def _near_lines(self) -> tuple[Text, ...]:
        """Lines of the files that have words in common with the line."""
        return self._texts(nearest_texts(self.line.units, self._evidence.before))

    def _is_about(self, text: Text, unit: Unit | None = None) -> bool:
        """True when a text speaks of what the line speaks of, the unit aside."""
        units = [one for one in self.line.units if one.counts and one != unit][:MOST_UNITS]
        return any(text.knows(one) for one in units)

    def _unknown_numbers(self) -> tuple[str, ...]:
        near = (*self._all, *filter(self._is_about, self._near_lines))
        return (self._numbers_not_in(self._all) and self._numbers_not_in(near)) or self._new_rate()

    def _new_rate(self) -> tuple[str, ...]:
        """Return how often the line says something happens, where what was said differs."""
        said = {unit for text in self._all for unit in find_rates(text.source)}
        found = find_rates(self.line.source)
        return tuple(found.values()) if said and said.isdisjoint(found) else ()

    def _numbers_not_in(self, texts: Sequence[Text]) -> tuple[str, ...]:
        found = self.line.words
        numbers, other = self._dates.years, self._dates.years
        for text in texts:
            own = (*text.words.numbers, *date_parts(text.words.dates))
            numbers |= {plain_number(number) for number in own}
            other |= {plain_number(number) for number in own if not is_of_month(text, number)}
        said = "\n".join(text.folded for text in texts)
        wrong = [
            n
            for n in found.numbers
            if plain_number(n) not in (numbers if is_of_month(self.line, n) else other) | {"1"}
            and not has_digits(said, n, but_months=not is_of_month(self.line, n))
        ]
        if wrong:
            known = derive_numbers([*self._dates.days, *((text, None) for text in texts)])
            amounts = find_amounts(self.line.source)
            wrong = [n for n in wrong if not known.has(n, amounts)]
        wrong += [
            day
            for day in found.dates
            if not any(self._dates.has_date(text, day) for text in texts)
            and not self._dates.is_counted(day)
            and not any(has_date_parts(text, day) for text in texts)
        ]
        return tuple(wrong)

    def turned(self) -> tuple[str, ...]:
        """The words of the line that have lost a negation or found one."""
        tiers = (self._cited, self.replaced, self._shown)
        return find_turned(self.line, tiers, self._language)

    def mixed(self) -> tuple[str, ...]:
        """A person of one fact with what another fact says of somebody else."""
        facts = (*self._cited, *self._shown)
        for clause in self.line.clauses:
            units = [unit for unit in clause[:MOST_UNITS] if unit.counts]
            units = [unit for unit in units if any(fact.knows(unit) for fact in facts)]
            if len(units) < 2 or not facts:  # noqa: PLR2004 - one word belongs to nobody else
                continue
            base = max(facts, key=lambda text: sum(u.weight for u in units if text.knows(u)))
            rest = [unit for unit in units if not base.knows(unit)]
            persons = [unit for unit in rest if unit.is_person]
            if not persons or not any(u.is_person and not self.line.knows(u) for u in base.units):
                continue
            held = [unit for unit in units if unit not in rest and not unit.is_person]
            own = [text for text in facts if any(text.knows(unit) for unit in persons)]
            if held and not any(text.knows(unit) for text in own for unit in held):
                return runs_of([*persons, *held])
        return ()


def _surprise(unit: Unit) -> float:
    """The weight of a new word: verbs change when a fact is said in other words."""
    return unit.weight / 2 if unit.is_loose else unit.weight


_ADJECTIVE_END = re.compile("e[nrms]?$")


def _is_opposed(unit: Unit, base: Text, line: Text) -> bool:
    """True when a word stands where a fact has its opposite."""
    found = OPPOSITES.get(unit.key) or OPPOSITES.get(_ADJECTIVE_END.sub("", unit.key)) or ()
    return any(word_sets(base.source).all.has(one) and one not in line.words.all for one in found)


def _says_something(unit: Unit) -> bool:
    return unit.counts and unit.key not in LABELS


def _is_new(new: Sequence[Unit], known: Sequence[Unit]) -> bool:
    """True when a clause says something that is new as a whole."""
    hard = sum(unit.weight for unit in new if not unit.is_loose)
    return hard > 2 * sum(unit.weight for unit in known)


def _neighbours(unit: Unit, clause: Sequence[Unit]) -> tuple[Unit | None, Unit | None]:
    """The words that say something before and behind a word of a clause."""
    at = clause.index(unit)
    others = [one for one in clause[:at] if one.run != unit.run and _says_something(one)]
    behind = (one for one in clause[at:] if one.run != unit.run and _says_something(one))
    return (others[-1] if others else None), next(behind, None)


def _are_same(first: Sequence[Unit | None], second: Sequence[Unit | None]) -> bool:
    """True when the words on both sides are the same; at an end, what goes on may be left out."""
    pairs = list(zip(first, second, strict=True))
    return any(one is not None for one in first) and all(
        one is None or (other is not None and _is_same_word(one, other)) for one, other in pairs
    )


def _is_same_word(one: Unit, other: Unit) -> bool:
    return one.key == other.key or WordSet([other.key]).has(one.key)
