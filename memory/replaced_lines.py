"""Compares lines that are taken out with what takes their place: numbers, names and negations that
are lost, and words of merged lines that change what they are about."""

from collections.abc import Collection, Iterable, Sequence

from jenny.text_normalisation import fold
from memory.fact_units import (
    Text,
    Unit,
    date_parts,
    has_digits,
    is_made_of,
    nearest_texts,
    plain_number,
    read_units,
    runs_of,
)
from memory.fact_words import LIGHT_WEIGHT, word_sets
from memory.text_languages import language_of

type _Rows = Sequence[Sequence[tuple[Unit, str]]]

_BRACKETS = ("(", "（")
# Share of a line's words from which another line says the same.
_SAID_SHARE = 0.6


def find_lost(
    old: str, added: Sequence[str], after: Sequence[str], cited: Collection[str]
) -> tuple[str, ...]:
    """Return the numbers, names and negated words of an old line that no line has any more of those
    that say the rest. What an entry speaks of is no loss, nor is a value that has a new one in its
    place."""
    language = language_of("\n".join((old, *added)))
    was = read_units(old, language)
    new = [row for line in added if _share_units(row := read_units(line, language), was)]
    if not new:
        return ()
    near = nearest_texts(was.units, after)
    left = [row for line in near if _share_units(row := read_units(line, language), was)]
    entries = [read_units(text, language) for text in cited]
    lost: list[str] = []
    for kind in (_numbers_in, _names_in, _days_in):
        mine = kind(was)
        gone = mine - set().union(*(kind(row) for row in (*new, *left)))
        come = set().union(*(kind(row) for row in new)) - mine
        if kind is _names_in:
            gone = {name for name in gone if not any(_has_word(row, name) for row in (*new, *left))}
        if kind is _numbers_in:
            said = "\n".join(row.folded for row in (*new, *left))
            gone = {number for number in gone if not has_digits(said, number)}
        if cited and len(gone) <= len(come):
            continue
        spoken = "\n".join(row.folded for row in entries)
        lost += sorted(word for word in gone if not _is_spoken_of(word, entries, spoken))
    return tuple(lost) or _lost_negation(was, (*new, *left), entries)


def _lost_negation(was: Text, rows: Sequence[Text], cited: Sequence[Text]) -> tuple[str, ...]:
    words = was.words
    negated = {
        word
        for word, weight in words.negated.items()
        if weight > LIGHT_WEIGHT and word not in words.uncertain
    }
    texts = [word_sets(row.source).all for row in (*rows, *cited)]
    if not negated or any(found.has(word) for found in texts for word in negated):
        return ()
    return tuple(words.spelled.get(word, word) for word in negated)


def _numbers_in(text: Text) -> set[str]:
    found = {plain_number(number) for number in text.words.numbers}
    return found | {part for part in date_parts(text.words.dates) if part != "0"}


def _names_in(text: Text) -> set[str]:
    return set(text.names)


def _days_in(text: Text) -> set[str]:
    return {unit.key for unit in text.units if unit.key.startswith("day ")}


def _has_word(text: Text, name: str) -> bool:
    plain = fold(name)
    return plain in text.folded or is_made_of(plain, text.folded)


def _is_spoken_of(word: str, cited: Sequence[Text], spoken: str) -> bool:
    return fold(word) in spoken or any(
        word in _numbers_in(text) or word in _days_in(text) for text in cited
    )


def _share_units(one: Text, other: Text) -> bool:
    return any(unit.counts and other.knows(unit) for unit in one.units)


def is_said(line: str, others: Sequence[str]) -> bool:
    """True when one of the other lines says most of what the line says."""
    language = language_of(line)
    units = [unit for unit in read_units(line, language).units if unit.counts]
    total = sum(unit.weight for unit in units)
    for other in nearest_texts(units, others):
        read = read_units(other, language)
        if sum(unit.weight for unit in units if read.knows(unit)) >= _SAID_SHARE * total:
            return True
    return False


def is_touched(line: str, others: Iterable[str]) -> bool:
    """True when one of the other texts speaks of something that the line names."""
    was = read_units(line, language_of(line))
    return any(_share_units(read_units(other, language_of(other)), was) for other in others)


def find_parted(line: Text, replaced: Sequence[Text]) -> tuple[str, ...]:
    """Return a word of one of two merged lines that now belongs to the other one's words, too, with
    the words of both."""
    for one in replaced:
        for other in replaced:
            if one is not other and (words := _parted_of(line, one, other)):
                return words
    return ()


def _parted_of(line: Text, one: Text, other: Text) -> tuple[str, ...]:
    rows = [
        [(unit, _owner(unit, one, other)) for unit in clause if unit.counts]
        for clause in line.clauses
    ]
    own = [unit for row in rows for unit, owner in row if owner == "one"]
    theirs = [unit for row in rows for unit, owner in row if owner == "other"]
    if len({unit.run for unit in own}) < 2 or not theirs:  # noqa: PLR2004 - a word and what it is about
        return ()
    for at, row in enumerate(rows):
        mine = {unit.run for unit, owner in row if owner == "one"}
        if len(mine) == 1 and _is_apart(line, rows, at):
            return runs_of([*own, *theirs])
        if len(mine) > 1 and _is_spread(rows, at):
            return runs_of([*own, *theirs])
    return ()


def _is_apart(line: Text, rows: _Rows, at: int) -> bool:
    """True when the one word of a clause stands where it may be about the other line's words."""
    owners = [{owner for _, owner in row} & {"one", "other"} for row in rows]
    before = next((found for found in reversed(owners[:at]) if found), set())
    behind = next((found for found in owners[at + 1 :] if found), set())
    later = set().union(*owners[at + 1 :])
    is_bracket = line.around(at)[0] in _BRACKETS
    if "other" in owners[at]:
        # Only a quality can stand before what it is about; a thing is named.
        return bool(before or behind) and _qualifies(rows[at])
    if before:
        return "other" in before and (is_bracket or not behind)
    is_head = is_bracket or any(owner == "both" for _, owner in rows[at])
    return is_head and later == {"one", "other"} and _qualifies(rows[at])


def _qualifies(row: Sequence[tuple[Unit, str]]) -> bool:
    """True when the clause's own word comes before a word of both lines, as a quality does."""
    owners = [owner for _, owner in row]
    return "both" not in owners or owners.index("one") < len(owners) - 1


def _owner(unit: Unit, one: Text, other: Text) -> str:
    is_one, is_other = one.knows(unit), other.knows(unit)
    if is_one and is_other:
        return "both"
    return "one" if is_one else "other" if is_other else ""


def _is_spread(rows: _Rows, at: int) -> bool:
    """True when a word before what both lines are about reaches over to the next clause, which only
    goes on: "seriously allergic to nuts | and bee stings"."""
    row = rows[at]
    owners = [owner for _, owner in row]
    if "both" not in owners or owners[0] != "one" or owners[-1] != "one" or at + 1 >= len(rows):
        return False
    behind = rows[at + 1]
    if not behind or {owner for _, owner in behind} != {"other"}:
        return False
    return not (row[0][0].is_person and any(unit.is_person for unit, _ in behind))
