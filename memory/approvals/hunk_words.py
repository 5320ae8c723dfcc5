"""Words and tombstones of hunks: they find the other half of a move and suppress rejected texts."""

from collections.abc import Sequence

from memory import facts, files
from memory.approvals.values import Piece
from memory.facts import Fact
from memory.suppression import tombstones
from memory.suppression.tombstones import Tombstone
from memory.text_similarity import nearest

# Shorter sentences of a skill are no facts to suppress.
_STEP_WORDS = 4


def words(piece: Piece) -> frozenset[str]:
    """Return the normal form of a piece that only adds or only removes."""
    return frozenset(facts.normal(row.text) for row in _said(piece.after or piece.before))


def dead(path: str, piece: Piece) -> list[Tombstone]:
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
