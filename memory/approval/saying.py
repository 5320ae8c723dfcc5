"""What a hunk says: for finding the other half of a move, and for what is never to be stored."""

from collections.abc import Sequence

from memory import facts, files, near
from memory.approval.values import Piece
from memory.facts import Fact
from memory.forgotten import stones
from memory.forgotten.stones import Tombstone

# Of a skill, sentences of fewer words are no facts that must never be written again.
_STEP_WORDS = 4


def words(piece: Piece) -> frozenset[str]:
    """What a piece that only adds or only takes out says, in its normal form."""
    return frozenset(facts.normal(row.text) for row in _said(piece.after or piece.before))


def dead(path: str, piece: Piece) -> list[Tombstone]:
    """What is forgotten with a piece: what it adds and nothing in its place says already, or what
    it takes out."""
    if piece.kind == "remove":
        gone = _said(piece.before)
        return [stones.tombstone(row.text, path=path, heading=row.heading) for row in gone]
    standing = [row.text for row in _said(piece.before)]
    came = [row for row in _said(piece.after) if near.nearest(row.text, standing) is None]
    if path in files.BY_PATH:
        return [
            stones.tombstone(row.text, path=path, heading=row.heading or piece.heading)
            for row in came
        ]
    return [
        stones.tombstone(unit, path=path, heading=row.heading)
        for row in came
        if row.kind != "header"
        for unit in facts.units(row)
        if len(facts.normal(unit).split()) >= _STEP_WORDS
    ]


def _said(lines: Sequence[str]) -> list[Fact]:
    return [row for row in facts.facts("\n".join(lines)) if row.has_content]
