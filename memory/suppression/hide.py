"""Leaves forgotten text out of prompts, of what tools show of files, history entries and restored
files: whole lines, or the clauses that say it."""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.agent.tools.toolbox import SPILL_FOLDER
from jenny.workspace import names, paths
from jenny.workspace.errors import PathRefused
from memory import files
from memory.archive import file_format
from memory.fact_words import WordSet, words_of
from memory.facts import Fact, facts, replaced_units, reworded, short_sentences, units
from memory.history.entries import HistoryEntry, parse_entry
from memory.paraphrases import ParaphraseMatcher, names_people
from memory.suppression import tombstones
from memory.suppression.tombstones import State, Tombstone

_BRACKETS = {"(": ")", "（": "）", "[": "]"}
_LABEL = re.compile(r"[^:：(（]{1,60}(?::\s+|：\s*)")
_AND = r"\s+(?:and|or|und|oder|y|e|et|ou|en|och|og|a|i|и|или)\s+"
_STRONG = re.compile(r"\s*[;；]\s*")
_WEAK = re.compile(rf",{_AND}|\s*[,、，]\s*|{_AND}")
_HEAD_END = re.compile(rf"[;；,、，(（]|{_AND}")
_AND_ONLY = re.compile(_AND)
# A longer item is no word of a plain list.
_ITEM_WORDS = 3


@dataclass(frozen=True, slots=True)
class Cut:
    """A clause, the line without it, and the beginning of the line, which says whose it is."""

    gone: str
    rest: str
    head: str


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause's place in the line, and those of the list that it is in."""

    start: int
    end: int
    number: int
    among: tuple[tuple[int, int], ...]
    # The place of the brackets around the list; none around the line's own.
    around: tuple[int, int] | None


def cut_clause(
    line: str, wanted: str, names: Callable[[str], bool], *, completes: bool = True
) -> Cut | None:
    """Cut the one clause that *wanted* names out of a line. *names* says whether a text has all of
    its words. ``None``: several clauses or the line's beginning have them, or what would be left
    is no sentence. *completes*: an item counts as well that names it with the line's beginning.
    """
    sentences = short_sentences(line)
    meant = [one for one in sentences if names(one)] if len(sentences) > 1 else []
    if len(meant) == 1:
        inner = cut_clause(meant[0], wanted, names, completes=completes)
        if inner is None and has_clauses(meant[0]):
            return None
        cut = inner or Cut(meant[0], "", "")
        left = (cut.rest if one == meant[0] else one for one in sentences)
        return replace(cut, rest=" ".join(filter(None, left)))
    label = _LABEL.match(line)
    begin = label.end() if label else 0
    head = _HEAD_END.split(line, maxsplit=1)[0].strip()
    every = list(_clauses(line, begin, _end(line), None))
    found = [one for one in every if names(line[one.start : one.end])]
    # Of clauses within each other the innermost is meant.
    found = [one for one in found if not any(_is_within(other, one) for other in found)]
    gone = ""
    if not found and completes:
        found = [one for one in every if _completes(line, one, wanted, head)]
        gone = "" if names_people(head) else wanted
    if len(found) != 1:
        return None
    rest = _without(line, found[0], has_label=label is not None)
    gone = gone or line[found[0].start : found[0].end]
    return Cut(gone, rest, head) if rest is not None and names(line) and rest != line else None


def has_clauses(line: str) -> bool:
    """True when a line says several things."""
    if len(short_sentences(line)) > 1:
        return True
    label = _LABEL.match(line)
    begin = label.end() if label else 0
    return len(list(_clauses(line, begin, _end(line), None))) > 1


def _end(line: str) -> int:
    return len(line.rstrip(".!?。！？ \t\n"))


def _clauses(line: str, start: int, end: int, around: tuple[int, int] | None) -> Iterator[_Clause]:
    """Yield the clauses of a part of the line, and those in its brackets."""
    for separator in (_STRONG, _WEAK):
        places = tuple(_split(line, start, end, separator))
        if len(places) > 1 or separator is _WEAK:
            for number, (first, last) in enumerate(places):
                # What stands in brackets behind a clause stays.
                opening = next((at for at, _ in _bracketed(line, first, last)), last)
                stop = first + len(line[first:opening].rstrip())
                yield _Clause(first, stop, number, places, around)
            if separator is _STRONG:
                for first, last in places:
                    inner = tuple(_split(line, first, last, _WEAK))
                    if len(inner) > 1:
                        yield from (
                            _Clause(a, b, number, inner, None)
                            for number, (a, b) in enumerate(inner)
                            if number
                        )
            break
    for opening, closing in _bracketed(line, start, end):
        yield from _clauses(line, opening + 1, closing, (opening, closing + 1))


def _split(line: str, start: int, end: int, separator: re.Pattern[str]) -> list[tuple[int, int]]:
    """Split a part of the line at the separators that are in no brackets."""
    brackets = _bracketed(line, start, end)
    opening, closing = next(brackets, (end, end))
    places, first = [], start
    for match in separator.finditer(line, start, end):
        while closing < match.start():
            opening, closing = next(brackets, (end, end))
        if opening < match.start() < closing:
            continue
        # "1,500" is one number.
        if match[0].strip() == "," and line[match.end() - 1 : match.end()] == ",":
            continue
        places.append((first, match.start()))
        first = match.end()
    return [place for place in [*places, (first, end)] if line[place[0] : place[1]].strip()]


def _bracketed(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the outer brackets, in order."""
    at = start
    # The next end of each kind; the line's own where there is none.
    ends: dict[str, int] = {}
    while at < end:
        closing = -1
        if (wanted := _BRACKETS.get(line[at])) is not None:
            if ends.get(wanted, start - 1) < at:
                found = line.find(wanted, at, end)
                ends[wanted] = found if found >= 0 else end
            closing = ends[wanted] if ends[wanted] < end else -1
        if closing > at and line[closing + 1 : closing + 2] != "(":
            yield at, closing
            at = closing
        at += 1


def _is_within(one: _Clause, other: _Clause) -> bool:
    return one != other and other.start <= one.start and one.end <= other.end


def _completes(line: str, clause: _Clause, wanted: str, head: str) -> bool:
    """True when a later item of a list and the line's beginning are what is wanted: "allergic to
    cats" of "Allergic to nuts and cats"."""
    if not clause.number and clause.around is None:
        return False
    spelled = list(words_of(head).spelled)
    if not names_people(head) and (not spelled or WordSet(words_of(wanted).all).has(spelled[-1])):
        # All of the line is meant.
        return False
    sought, item = words_of(wanted).all, words_of(line[clause.start : clause.end])
    own, first = WordSet(item.all), WordSet(words_of(head).all)
    left = [word for word, weight in sought.items() if weight and not own.has(word)]
    all_sought = WordSet(sought)
    is_named = all(all_sought.has(word) for word, weight in item.all.items() if weight)
    return is_named and bool(item.all) and bool(left) and all(map(first.has, left))


def _without(line: str, clause: _Clause, *, has_label: bool) -> str | None:
    """Return the line without the clause; ``None`` when what is left would be no sentence."""
    places, number = clause.among, clause.number
    if len(places) == 1:
        if clause.around is None:
            return None
        start, end = clause.around
        return _tidy(line[:start].rstrip() + line[end:])
    if not number:
        is_free = clause.around is not None or (has_label and _is_plain_list(line, places))
        return _tidy(line[: clause.start] + line[places[1][0] :]) if is_free else None
    before, after = places[number - 1][1], clause.end
    separator = line[before : clause.start]
    left = line[:before]
    if number < len(places) - 1 and _AND_ONLY.fullmatch(
        line[places[number][1] : places[number + 1][0]]
    ):
        # In "likes tea and jazz" the second thing needs the verb.
        counts = [len(line[start:end].split()) for start, end in places[number : number + 2]]
        if counts[0] > counts[1] == 1:
            return None
    if number == len(places) - 1 and number > 1 and _AND_ONLY.search(separator):
        # The "and" goes before the item that is last now.
        previous = places[number - 2][1], places[number - 1][0]
        last = _AND_ONLY.search(separator)[0] if number == 2 else separator  # type: ignore[index]  # noqa: PLR2004 - two are left
        left = line[: previous[0]] + last + line[previous[1] : before]
    return _tidy(left + line[after:])


def _is_plain_list(line: str, places: Sequence[tuple[int, int]]) -> bool:
    """True for a list of single words, in which no item is about the first."""
    items = [line[start:end] for start, end in places]
    return all(
        len(item.split()) <= _ITEM_WORDS
        and not set(item) & _BRACKETS.keys()
        and item[:1].isupper() == items[0][:1].isupper()
        for item in items
    )


def _tidy(line: str) -> str:
    return re.sub(r"[ \t]{2,}", " ", line).strip()


# Files that are searched for forgotten things before a model sees them.
_SEARCHED = ("memory/", f"{files.SKILLS}/", f"{SPILL_FOLDER}/")
_FILES = frozenset({*(path.lower() for path in files.BY_PATH), files.INSTRUCTIONS.lower()})
# Clauses that are cut out of one sentence.
_CUTS = 5
# A longer sentence is left out whole: each of its clauses would have to be looked at.
_CUT_CHARS = 4_000
# What stands before the text of a line: the bullet and the tag, or the time and the speaker.
_HEAD = re.compile(r"\s*(?:[-*] )?(?:\[[^\]\n]{1,60}\] )?(?:[A-Z]+: )?")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Filtered:
    """A text without forgotten lines, and these lines with their tombstones."""

    text: str
    left_out: tuple[tuple[str, Tombstone], ...] = ()


def without(root: Path, text: str) -> Filtered:
    """Return *text* without the facts that are forgotten in the workspace.

    Used for prompts and restores; removed lines are returned, so that a page can bring them back.
    """
    return filtered(tombstones.state(root), text)


def view(root: Path) -> Callable[[str, str], str]:
    """Return a function that gives what a model may see of a file of the workspace by its path,
    however that is spelled.

    It raises ``PathRefused`` for the tombstones. Lines keep their numbers. Wikis and the person's
    other files are not searched.
    """

    def shown(path: str, text: str) -> str:
        with contextlib.suppress(PathRefused):
            path = paths.locate(paths.real_root(root), path, alias=root).relative
        plain = "/".join(names.disguised(part) for part in path.split("/"))
        if plain == tombstones.PATH:
            raise PathRefused(f"{names.shown(path)} is read by code alone and shown to no model.")
        is_searched = plain.startswith(_SEARCHED) or plain in _FILES
        state = tombstones.state(root) if is_searched else None
        if state is None or not state.active:
            return text
        name = path.removeprefix(f"{file_format.FOLDER}/")
        item = file_format.parse(name, text.encode("utf-8", "surrogateescape"))
        if item is not None and state.match(item.as_fact) is not None:
            raise PathRefused(f"{names.shown(path)} holds what was forgotten; it is not shown.")
        return filtered_file(state, plain, text)

    return shown


def filtered_file(state: State, path: str, text: str, wanted: set[int] | None = None) -> str:
    """Return the text of a file without what is forgotten. Lines keep their numbers. *wanted*:
    only what stands on these lines (from 1) is judged."""
    if path.lower().endswith(".jsonl"):
        return "".join(
            _entry_line(state, line) if wanted is None or number in wanted else line
            for number, line in enumerate(_LINE.findall(text), 1)
        )
    return filtered(state, text, keep_lines=True, wanted=wanted).text


def _entry_line(state: State, line: str) -> str:
    """Return a line of the history, or of a ledger, without what is forgotten."""
    entry = parse_entry(line.encode("utf-8", "surrogateescape"))
    if entry is None:
        return line if state.match(line) is None else _ending(line)
    left = filtered_entries(state, [entry])
    if not left:
        return _ending(line)
    if left[0].content == entry.content:
        return line
    row = json.loads(line) | {"content": left[0].content}
    return json.dumps(row, ensure_ascii=False) + _ending(line)


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def filtered(
    state: State, text: str, *, keep_lines: bool = False, wanted: set[int] | None = None
) -> Filtered:
    """Filter a text like ``without``, with a given state. *keep_lines*: the other lines keep their
    numbers. *wanted*: only what stands on these lines is judged."""
    if not state.active:
        return Filtered(text)
    lines: list[str] = _LINE.findall(text)
    left_out: list[tuple[str, Tombstone]] = []
    for fact in facts(text):
        if fact.kind == "rule":
            continue
        if wanted is not None and wanted.isdisjoint(range(fact.first, fact.last + 1)):
            continue
        found = state.match(fact)
        if found is None:
            continue
        left_out.append((fact.text, found))
        old = lines[fact.first - 1 : fact.last]
        _take_out(state, fact, lines)
        if keep_lines:
            new = lines[fact.first - 1 : fact.last]
            lines[fact.first - 1 : fact.last] = [
                after or _ending(before) for before, after in zip(old, new, strict=True)
            ]
    return Filtered("".join(lines) if left_out else text, tuple(left_out))


def without_forgotten(root: Path, entries: Iterable[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Return entries without what they say of forgotten facts; empty entries are dropped. The
    parts of a group are distinguished by their cursors."""
    return filtered_entries(tombstones.state(root), entries)


def filtered_entries(state: State, entries: Iterable[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Like ``without_forgotten``, for a given state."""
    if not state.active:
        return tuple(entries)
    found = []
    for entry in entries:
        lines = entry.content.split("\n")
        kept = [rest for line in lines if (rest := visible_line(state, line)) is not None]
        if kept == lines:
            found.append(entry)
        elif any(line.strip() for line in kept):
            found.append(replace(entry, content="\n".join(kept)))
    return tuple(found)


def _without_forgotten(state: State, sentence: str, fact: Fact | None = None) -> str:
    """Return a sentence, of *fact* where it stands in a file, without its clauses that are
    forgotten; empty when they cannot be cut out."""
    left = sentence
    for _ in range(_CUTS):
        found = state.match(replace(fact, text=left) if fact is not None else left)
        if found is None:
            return left
        if len(left) > _CUT_CHARS:
            break
        cuts = (_cut(left, text) for text in (found.text, found.value) if text)
        left = next(filter(None, cuts), "")
        if not left:
            break
    return ""


def _cut(sentence: str, text: str) -> str:
    matcher = ParaphraseMatcher([text])
    cut = cut_clause(sentence, text, lambda part: bool(matcher.named(part)), completes=False)
    return cut.rest if cut is not None else ""


def visible_line(state: State, line: str) -> str | None:
    """Return a line of the history without what it says of forgotten facts; ``None`` when nothing
    else is in it. A message that is kept word for word may be one long line."""
    if not line.strip() or state.match(line) is None:
        return line
    head = _HEAD.match(line)
    start = head[0] if head else ""
    parts = units(line[len(start) :])
    kept = [left.strip() for part in parts if (left := _without_forgotten(state, part))]
    if not kept or kept == [part.strip() for part in parts]:
        return None
    return start + " ".join(kept)


def _take_out(state: State, fact: Fact, lines: list[str]) -> None:
    """Remove a fact, or only its forgotten sentences, from the lines."""
    first, last = fact.first - 1, fact.last
    left = {unit: _without_forgotten(state, unit, fact) for unit in units(fact)}
    # A comment that loses its first or last line would be none.
    is_whole = fact.kind == "comment" or all(unit == rest for unit, rest in left.items())
    new = "" if is_whole else replaced_units(fact, left)
    rest = reworded("".join(lines[first:last]), fact, new) if new else ""
    rows: list[str] = _LINE.findall(rest)
    lines[first:last] = [*rows, *([""] * (last - first - len(rows)))]
