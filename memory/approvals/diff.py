"""Splits a text's change into hunks: one for each entry that is added, removed or reworded.

It also has what hunks need of lines, and the words and tombstones of a rejected hunk.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jenny.workspace import diffs
from jenny.workspace.texts import keep_line_ends, to_lf
from memory import facts, files, text_similarity
from memory.approvals.values import Piece
from memory.fact_words import word_sets, words_of
from memory.facts import Fact
from memory.suppression import tombstones
from memory.suppression.tombstones import Tombstone
from memory.text_similarity import nearest


def split_lines(text: str) -> list[str]:
    """Split a text into lines without line ends and byte order mark."""
    lines = to_lf(text.removeprefix("\ufeff")).split("\n")
    return lines[:-1] if not lines[-1] else lines


def join_lines(lines: Sequence[str], like: str) -> str:
    """Join lines with the line ends that *like* uses."""
    had = split_lines(like)
    text = "\n".join(lines)
    is_open = bool(had) and not like.endswith("\n") and bool(lines) and lines[-1] == had[-1]
    if text and not is_open:
        text += "\n"
    text = keep_line_ends(text, like.removeprefix("\ufeff"))
    return f"\ufeff{text}" if like.startswith("\ufeff") else text


def line_at(lines: Sequence[str], at: int) -> str:
    """Return a line without trailing white space; empty outside the file."""
    return lines[at].rstrip() if 0 <= at < len(lines) else ""


def find_places(lines: Sequence[str], sought: Sequence[str]) -> list[int]:
    wanted = [line.rstrip() for line in sought]
    if not wanted:
        return []
    return [
        at
        for at in range(len(lines) - len(wanted) + 1)
        if lines[at].rstrip() == wanted[0]
        and all(lines[at + n].rstrip() == line for n, line in enumerate(wanted))
    ]


def nearest_line(lines: Sequence[str], sought: str, start: int, stop: int, at: int) -> int | None:
    """Find the nearest line with this content; ``None`` for empty content."""
    found = [
        number
        for number in range(max(start, 0), min(stop, len(lines)))
        if sought and lines[number].rstrip() == sought
    ]
    return min(found, key=lambda number: abs(number - at), default=None)


def blanks_above(lines: Sequence[str], at: int, most: int | None) -> int:
    """Count the empty lines above a line, up to the limit *most*."""
    count = 0
    while at - count - 1 > (most if most is not None else -1) and not lines[at - count - 1].strip():
        count += 1
    return count


def blanks_below(lines: Sequence[str], at: int) -> int:
    count = 0
    while at + 1 + count < len(lines) and not lines[at + 1 + count].strip():
        count += 1
    return count


def sections(lines: Sequence[str], title: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each section with that title; without a title, the part above all
    headings."""
    found = [fact for fact in facts.facts("\n".join(lines)) if fact.kind == "heading"]
    starts = [fact.first - 1 for fact in found]
    ends = [*starts[1:], len(lines)] if starts else []
    if not title:
        yield 0, starts[0] if starts else len(lines)
        return
    wanted = facts.normal(title)
    for fact, end in zip(found, ends, strict=True):
        if facts.normal(fact.text.strip("#").strip()) == wanted:
            yield fact.first, end


def own_heading(after: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the last of the leading headings and the lines below it."""
    title, rest = "", tuple(after)
    for number, line in enumerate(after):
        if not line.strip():
            continue
        row = next(iter(facts.facts(line)), None)
        if row is None or row.kind != "heading":
            break
        title, rest = row.text.strip("#").strip(), tuple(after[number + 1 :])
    return title, trim_blank_lines(rest) if title else rest


def trim_blank_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without empty lines at both ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return tuple(lines[first:last])


def said_lines(lines: Sequence[str]) -> set[str]:
    return {facts.normal(row.text) for row in facts.facts("\n".join(lines)) if row.has_content}


# Lines at least this similar are a rewording.
ALIKE = 0.5
_COMPARED_CHARS = 1_000
# A stretch with more pairs than this is not compared and becomes one hunk.
_PAIRS = 900


def derive(path: str, old: str | None, new: str) -> tuple[Piece, ...]:
    """Return the hunks that make *new* of *old*, in order of place. A skill's file is one hunk."""
    if (old or "") == new:
        return ()
    before, after = split_lines(old or ""), split_lines(new)
    if path not in files.BY_PATH:
        return (Piece("skill", tuple(before), tuple(after)),)
    stretches = [
        _Stretch(_Side.of(before), _Side.of(after), i, j, k, m)
        for tag, i, j, k, m in diffs.opcodes(before, after)
        if tag != "equal"
    ]
    return tuple(piece for stretch in stretches for piece in stretch.pieces())


def is_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    one, other = _plain(first), _plain(second)
    if not one or not other:
        return False
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE:
        return matcher.ratio() >= ALIKE or text_similarity.is_near(one, other)
    return False


def find_replacements(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """Map texts to those that replaced them in their place: alike ones, or the only other one there
    when it shares a word with them."""
    found: dict[str, str] = {}
    plain = [[facts.normal(text) for text in texts] for texts in (old, new)]
    for tag, i, j, k, m in diffs.opcodes(*plain):
        if tag != "replace" or (j - i) * (m - k) > _PAIRS:
            continue
        free, left = list(new[k:m]), []
        for text in old[i:j]:
            twin = next((one for one in free if is_alike([text], [one])), None)
            if twin is None:
                left.append(text)
            else:
                free.remove(twin)
                found[text] = twin
        if len(left) == len(free) == 1 and _share_a_word(left[0], free[0]):
            found[left[0]] = free[0]
    return found


def _share_a_word(first: str, second: str) -> bool:
    there = word_sets(second).all
    return any(there.has(word) for word, weight in words_of(first).all.items() if weight)


def _plain(lines: Sequence[str]) -> str:
    return facts.normal("\n".join(lines)[:_COMPARED_CHARS])


@dataclass(frozen=True, slots=True)
class _Side:
    """The lines of one side and their facts."""

    lines: list[str]
    facts: tuple[Fact, ...]

    @classmethod
    def of(cls, lines: list[str]) -> "_Side":
        return cls(lines, facts.facts("\n".join(lines)))

    def units(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Group a stretch of lines by entries: each with its nested lines, its heading and the
        empty lines above it."""
        ends: list[int] = []
        for fact in self.facts:
            if not fact.has_content or not start <= fact.first - 1 < stop:
                continue
            if fact.under and ends:
                ends[-1] = min(fact.last, stop)
            else:
                ends.append(min(fact.last, stop))
        if not ends:
            return [(start, stop)] if stop > start else []
        ends[-1] = stop
        return list(zip([start, *ends[:-1]], ends, strict=True))

    def heading(self, at: int) -> tuple[str, str]:
        """Return the title of a line's section and the section's heading line."""
        above = [row for row in self.facts if row.kind == "heading" and row.first - 1 < at]
        if not above:
            return "", ""
        line = self.lines[above[-1].first - 1]
        return above[-1].text.strip("#").strip(), line

    def has_heading(self, title: str) -> bool:
        wanted = facts.normal(title)
        return any(
            row.kind == "heading" and facts.normal(row.text.strip("#")) == wanted
            for row in self.facts
        )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Lines *i* to *j* before and the lines *k* to *m* that replace them."""

    old: _Side
    new: _Side
    i: int
    j: int
    k: int
    m: int

    def pieces(self) -> list[Piece]:
        olds, news = self.old.units(self.i, self.j), self.new.units(self.k, self.m)
        if not olds:
            return [self._add(self.i, unit) for unit in news]
        if not news:
            return [self._change(unit, None) for unit in olds]
        alike = self._alike(olds, news)
        if not alike:
            return [self._whole(olds, news)]
        first_old, last_old = min(a for a, _ in alike), max(a for a, _ in alike)
        first_new, last_new = min(b for _, b in alike), max(b for _, b in alike)
        core_old, core_new = olds[first_old : last_old + 1], news[first_new : last_new + 1]
        found = [self._change(unit, None) for unit in olds[:first_old]]
        found += [self._add(core_old[0][0], unit) for unit in news[:first_new]]
        in_pairs = len(core_old) == len(core_new) and all(
            (first_old + n, first_new + n) in alike for n in range(len(core_old))
        )
        if in_pairs:
            pairs = zip(core_old, core_new, strict=True)
            found += [self._change(old, new) for old, new in pairs]
        else:
            found.append(self._whole(core_old, core_new))
        found += [self._add(core_old[-1][1], unit) for unit in news[last_new + 1 :]]
        found += [self._change(unit, None) for unit in olds[last_old + 1 :]]
        return found

    def _alike(
        self, olds: list[tuple[int, int]], news: list[tuple[int, int]]
    ) -> set[tuple[int, int]]:
        """Return the index pairs of entries that are rewordings."""
        if len(olds) * len(news) > _PAIRS:
            return set()
        return {
            (a, b)
            for a, (i, j) in enumerate(olds)
            for b, (k, m) in enumerate(news)
            if is_alike(self.old.lines[i:j], self.new.lines[k:m])
        }

    def _whole(self, olds: list[tuple[int, int]], news: list[tuple[int, int]]) -> Piece:
        return self._change((olds[0][0], olds[-1][1]), (news[0][0], news[-1][1]))

    def _change(self, old: tuple[int, int], new: tuple[int, int] | None) -> Piece:
        """Lines that go, with those that stand in their place."""
        before = tuple(self.old.lines[old[0] : old[1]])
        after = tuple(self.new.lines[new[0] : new[1]]) if new else ()
        title, _ = self.old.heading(old[0])
        piece = Piece("change" if after else "remove", before, after, heading=title)
        return anchored(piece, self.old.lines, old[0], old[1])

    def _add(self, at: int, unit: tuple[int, int]) -> Piece:
        """Lines that come before a line."""
        title, line = self.new.heading(unit[0])
        after = tuple(self.new.lines[unit[0] : unit[1]])
        piece = Piece(
            "add",
            after=after,
            heading=title,
            title="" if not title or self.old.has_heading(title) else line,
        )
        return anchored(piece, self.old.lines, at, at)


def anchored(piece: Piece, lines: Sequence[str], start: int, stop: int) -> Piece:
    """Return the piece with its neighbouring lines around *start* to *stop*."""
    above = start - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    below = stop
    while below < len(lines) and not lines[below].strip():
        below += 1
    return replace(
        piece,
        previous=lines[above].rstrip() if above >= 0 else "",
        following=lines[below].rstrip() if below < len(lines) else "",
        gap=start - 1 - above,
        gap_after=below - stop,
        at=start,
    )


# Shorter sentences of a skill are no facts to suppress.
_STEP_WORDS = 4


def piece_words(piece: Piece) -> frozenset[str]:
    """Return the normal form of a piece that only adds or only removes."""
    return frozenset(facts.normal(row.text) for row in _said(piece.after or piece.before))


def rejected_tombstones(path: str, piece: Piece) -> list[Tombstone]:
    """Return the tombstones of a rejected piece: texts that it adds and that the replaced lines
    do not say already, or texts that it removes."""
    if piece.kind == "remove":
        gone = _said(piece.before)
        return [tombstones.tombstone(row.text, path=path, heading=row.heading) for row in gone]
    standing = [row.text for row in _said(piece.before)]
    came = [row for row in _said(piece.after) if nearest(row.text, standing) is None]
    if path in files.BY_PATH:
        return [
            tombstones.tombstone(row.text, path=path, heading=row.heading or piece.heading)
            for row in came
        ]
    return [
        tombstones.tombstone(unit, path=path, heading=row.heading)
        for row in came
        if row.kind != "header"
        for unit in facts.units(row)
        if len(facts.normal(unit).split()) >= _STEP_WORDS
    ]


def _said(lines: Sequence[str]) -> list[Fact]:
    return [row for row in facts.facts("\n".join(lines)) if row.has_content]
