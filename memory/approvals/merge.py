"""Places hunks in a file that may have changed since.

Lines to remove must match word for word; of several matches those with the same neighbours count.
Lines to add are placed beside their old neighbours, or at the end of their section. A missing
section or missing lines are a conflict: nothing is guessed.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory import facts
from memory.approvals import diff
from memory.approvals.diff import ALIKE, derive
from memory.approvals.values import Piece

_COMPARED_CHARS = 1_000
_SOUGHT = 2_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A merged text and the numbers of the hunks in conflict. ``None``: no file."""

    text: str | None
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Spot:
    """Lines *start* to *stop* are replaced by *after*."""

    start: int
    stop: int
    after: tuple[str, ...]


def merge_hunks(text: str | None, pieces: Sequence[Piece]) -> Placed:
    """Return the text with all pieces that can be placed, in their order."""
    if not pieces:
        return Placed(text)
    if pieces[-1].kind == "skill":
        return _put_skill(text, pieces)
    lines = diff.split_lines(text or "")
    if _bring_their_headings(pieces) and all(_fits(lines, piece) for piece in pieces):
        for piece in reversed(pieces):
            lines[piece.at : piece.at + len(piece.before)] = piece.after
        return Placed(diff.join_lines(lines, text or ""))
    conflicts = []
    for number, piece in enumerate(pieces):
        spot = _spot(lines, piece)
        if spot is None:
            conflicts.append(number)
        else:
            lines[spot.start : spot.stop] = spot.after
    if text is None and len(conflicts) == len(pieces):
        return Placed(None, tuple(conflicts))
    return Placed(diff.join_lines(lines, text or ""), tuple(conflicts))


def is_settled(text: str | None, piece: Piece) -> bool:
    """True when the file already says what the piece would make it say. A missing file says
    nothing, and nothing was removed from it."""
    if text is None:
        return False
    lines = diff.split_lines(text)
    if piece.kind == "skill":
        return tuple(lines) == piece.after
    if piece.before and diff.find_places(lines, piece.before):
        return False
    said = diff.said_lines(lines)
    if piece.kind == "remove":
        return not (diff.said_lines(piece.before) & said) and not standing(text, piece)
    wanted = diff.said_lines(piece.after)
    if wanted:
        return wanted <= said
    return bool(piece.after) and bool(diff.find_places(lines, piece.after))


def standing(text: str | None, piece: Piece) -> str:
    """Return the present text at the place of a conflicting piece; empty when there is none."""
    lines = diff.split_lines(text or "")
    if piece.kind == "skill":
        return "\n".join(lines)
    found = _nearest(lines, piece.before) if piece.before else None
    return "\n".join(lines[found[0] : found[1]]) if found else ""


def solved(text: str | None, piece: Piece, after: Sequence[str]) -> str:
    """Return the text with *after* at the place of a conflicting piece: it replaces the present
    text there, or is added at the end of its section, which is created when it is missing."""
    if piece.kind == "skill":
        return diff.join_lines(after, text or "")
    lines = diff.split_lines(text or "")
    found = _nearest(lines, piece.before) if piece.before else None
    if found:
        lines[found[0] : found[1]] = after
        return diff.join_lines(lines, text or "")
    if after:
        title = piece.title or (f"## {piece.heading}" if piece.heading else "")
        add = replace(piece, kind="add", before=(), after=tuple(after), title=title)
        spot = _insertion(lines, add) or _at_end(lines, tuple(after))
        lines[spot.start : spot.stop] = spot.after
    return diff.join_lines(lines, text or "")


def rebased(path: str, text: str | None, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with the neighbours that they have in the present file."""
    placed = merge_hunks(text, pieces)
    fresh = list(derive(path, text, placed.text or ""))
    found = []
    for piece in pieces:
        same = next((row for row in fresh if row.content == piece.content), None)
        if same is not None:
            fresh.remove(same)
        found.append(same or piece)
    return found


def _put_skill(text: str | None, pieces: Sequence[Piece]) -> Placed:
    """A skill's file is replaced whole or not at all."""
    piece = pieces[-1]
    others = tuple(range(len(pieces) - 1))
    if tuple(diff.split_lines(text or "")) in (piece.before, piece.after):
        return Placed(diff.join_lines(piece.after, text or ""), others)
    return Placed(text, (*others, len(pieces) - 1))


def _bring_their_headings(pieces: Sequence[Piece]) -> bool:
    """True when each piece under a new heading follows the piece that adds the heading."""
    brought: set[str] = set()
    for piece in pieces:
        own, _ = diff.own_heading(piece.after)
        if piece.title and facts.normal(piece.heading) not in brought:
            return False
        brought.add(facts.normal(own))
    return True


def _fits(lines: Sequence[str], piece: Piece) -> bool:
    stop = piece.at + len(piece.before)
    if piece.at > len(lines) or tuple(lines[piece.at : stop]) != piece.before:
        return False
    above, below = piece.at - piece.gap - 1, stop + piece.gap_after
    return (
        above >= -1
        and (above >= 0) == bool(piece.previous)
        and (below < len(lines)) == bool(piece.following)
        and diff.line_at(lines, above) == piece.previous
        and diff.line_at(lines, below) == piece.following
        and not any(line.strip() for line in lines[above + 1 : piece.at])
        and not any(line.strip() for line in lines[stop:below])
    )


def _spot(lines: Sequence[str], piece: Piece) -> _Spot | None:
    if not piece.before:
        return _insertion(lines, piece)
    found = diff.find_places(lines, piece.before)
    before, after = piece.before, piece.after
    if not found:
        before, after = diff.trim_blank_lines(before), diff.trim_blank_lines(after)
        found = diff.find_places(lines, before) if before else []
    if not found:
        return None
    start = min(found, key=lambda at: _distance(lines, piece, at, at + len(before)))
    return _Spot(start, start + len(before), after)


def _distance(lines: Sequence[str], piece: Piece, start: int, stop: int) -> tuple[int, int]:
    """Return how far a place is from the intended one: by neighbours, then by line."""
    above = next((line for line in reversed(lines[:start]) if line.strip()), "")
    below = next((line for line in lines[stop:] if line.strip()), "")
    strange = (above.rstrip() != piece.previous) + (below.rstrip() != piece.following)
    return strange, abs(start - piece.at)


def _insertion(lines: Sequence[str], piece: Piece) -> _Spot | None:
    own, rest = diff.own_heading(piece.after)
    if own and rest and (found := list(diff.sections(lines, own))):
        return _in_section(lines, replace(piece, after=rest, previous="", following=""), found)
    sections = list(diff.sections(lines, piece.heading))
    if sections:
        return _in_section(lines, piece, sections)
    if piece.title:
        return _at_end(lines, (piece.title, "", *diff.trim_blank_lines(piece.after)))
    return _at_end(lines, piece.after) if own else None


def _in_section(lines: Sequence[str], piece: Piece, sections: list[tuple[int, int]]) -> _Spot:
    """Find the place beside the old neighbours, else at the section's end."""
    for first, end in sections:
        above = diff.nearest_line(lines, piece.previous, first - 1, end, piece.at)
        below = diff.nearest_line(lines, piece.following, first, end + 1, piece.at)
        if above is None and piece.previous == "" and first == 0 and piece.following:
            above = -1
        if piece.following == "" and piece.previous and end == len(lines):
            below = len(lines)
        if below is not None and (above is None or above < below):
            blanks = diff.blanks_above(lines, below, above)
            at = below - min(piece.gap_after, blanks)
            return _Spot(at, at, piece.after)
        if above is not None:
            at = above + 1 + min(piece.gap, diff.blanks_below(lines, above))
            return _Spot(at, at, piece.after)
    first, end = sections[0]
    while end > first and not lines[end - 1].strip():
        end -= 1
    after = diff.trim_blank_lines(piece.after)
    is_bare = end == first and end > 0
    return _Spot(end, end, ("", *after) if is_bare else after)


def _at_end(lines: Sequence[str], after: tuple[str, ...]) -> _Spot:
    """Return the end of the file, after an empty line."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    trimmed = diff.trim_blank_lines(after)
    return _Spot(end, len(lines), ("", *trimmed) if end else trimmed)


def _nearest(lines: Sequence[str], sought: Sequence[str]) -> tuple[int, int] | None:
    """Return the range of the entry that is most similar to some lines; ``None`` without one."""
    wanted = facts.normal("\n".join(sought)[:_COMPARED_CHARS])
    rows = [row for row in facts.facts("\n".join(lines)) if row.has_content][:_SOUGHT]
    ratios = [
        (difflib.SequenceMatcher(None, wanted, facts.normal(row.text)[:_COMPARED_CHARS]), row)
        for row in rows
    ]
    likely = [(pair.ratio(), row) for pair, row in ratios if pair.quick_ratio() >= ALIKE]
    best = max(likely, key=lambda pair: pair[0], default=None)
    return (best[1].first - 1, best[1].last) if best and best[0] >= ALIKE else None
