"""Derives what a write did to the lines of memory files, and which lines each new one replaces."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jenny.workspace import diffs
from jenny.workspace.write_rules import Change
from memory.facts import Fact, decoded, digest, digests, facts
from memory.text_similarity import Index, is_typo_of

type Relation = Literal["added", "moved", "reworded", "replaced", "removed"]

# With more lines on one side only equal ones are paired: the file was rewritten.
_COMPARED = 2_000
_ALIKE = 5
# A line replaces at most so many.
_REPLACED = 8
_LOOKED_AT = 40


@dataclass(frozen=True, slots=True)
class Origin:
    """A line's part in a write: the digest of its normal form; *was*: digests of the lines that
    it replaces, in the file *was_path* (empty: the same file)."""

    path: str
    digest: str
    relation: Relation
    was: tuple[str, ...] = ()
    was_path: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    path: str
    fact: Fact
    digest: str


def derive(changes: Sequence[Change]) -> list[Origin]:
    """Return each line that the *changes* add, with what it replaces."""
    came: list[_Line] = []
    left: list[_Line] = []
    for change in changes:
        old, new = _lines(change.path, change.old), _lines(change.path, change.new)
        came += _without(new, old)
        left += _without(old, new)
    pairs = _Pairs(left, changes)
    found = [pairs.origin(line) for line in came]
    found += [Origin(line.path, line.digest, "removed") for line in pairs.rest()]
    return found


def _lines(path: str, data: bytes | None) -> list[_Line]:
    return [
        _Line(path, fact, digest(fact.text))
        for fact in facts(decoded(data))
        if fact.has_content and fact.kind != "comment"
    ]


def _without(lines: list[_Line], others: list[_Line]) -> list[_Line]:
    """Return the lines that are not among the others, counting repetitions."""
    there = Counter(line.digest for line in others)
    found = []
    for line in lines:
        if there[line.digest]:
            there[line.digest] -= 1
        else:
            found.append(line)
    return found


class _Pairs:
    """The removed lines of a write; each is paired with at most one added line."""

    def __init__(self, left: list[_Line], changes: Sequence[Change]) -> None:
        self._left = left
        self._free = set(range(len(left)))
        self._index = Index(line.fact.text for line in left) if len(left) <= _COMPARED else None
        self._places = {change.path: _replaced(change) for change in changes}
        self._same: dict[str, list[int]] = {}
        self._at: dict[tuple[str, int], int] = {}
        for number, line in enumerate(left):
            self._same.setdefault(line.digest, []).append(number)
            self._at[line.path, line.fact.first] = number

    def origin(self, line: _Line) -> Origin:
        same = self._same.get(line.digest, [])
        while same:
            at = same.pop(0)
            if at in self._free:
                return self._made(line, "moved", [at])
        near = self._near(line)
        if near is not None:
            return self._made(line, "reworded", [near])
        rows = self._places[line.path].get(line.fact.first, range(0))
        found = (self._at.get((line.path, row)) for row in rows)
        gone = [at for at in found if at in self._free]
        if gone:
            return self._made(line, "replaced", gone[:_REPLACED])
        return Origin(line.path, line.digest, "added")

    def rest(self) -> list[_Line]:
        return [self._left[at] for at in sorted(self._free)]

    def _near(self, line: _Line) -> int | None:
        if self._index is None:
            return None
        at = self._index.find(line.fact.text)
        if at is not None and at in self._free:
            return at
        alike = self._index.alike(line.fact.text, _ALIKE)
        text = line.fact.text
        return next(
            (n for n in alike if n in self._free and is_typo_of(self._left[n].fact.text, text)),
            None,
        )

    def _made(self, line: _Line, relation: Relation, at: list[int]) -> Origin:
        old = [self._left[number] for number in at]
        self._free.difference_update(at)
        was_path = old[0].path if old[0].path != line.path else ""
        return Origin(
            line.path,
            line.digest,
            relation,
            tuple(one for row in old for one in digests(row.fact.text)),
            was_path,
        )


def _replaced(change: Change) -> dict[int, range]:
    """Map each added line of a file to the lines that it replaces; from 1."""
    old, new = diffs.lines_of(change.old), diffs.lines_of(change.new)
    found: dict[int, range] = {}
    if not old or not new:
        return found
    for tag, i, j, k, m in diffs.opcodes(old, new):
        if tag != "replace":
            continue
        for number in range(k, m):
            # With equally many lines, each replaces one.
            at = i + number - k
            rows = range(at, at + 1) if j - i == m - k else range(i, min(j, i + _LOOKED_AT))
            found[number + 1] = range(rows.start + 1, rows.stop + 1)
    return found
