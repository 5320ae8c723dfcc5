"""Finds the only place where an edit applies, or explains why there is none.

Only exact matches are replaced. When the text is missing, the model is told which line is the
nearest and in what kind of thing it differs, so that its next try fits.
"""

import difflib
import unicodedata
from dataclasses import dataclass

from jenny.agent.errors import ToolProblem
from jenny.workspace.texts import keep_line_ends, to_lf

# Places are counted up to this number.
_PLACES = 1_000
# Places that are named.
_NAMED = 10
# Lines searched for the nearest one, and characters of each that are compared.
_NEAR_LINES = 20_000
_NEAR_CHARS = 300
_NEAR_ENOUGH = 0.5

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
    }
)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_KINDS = ("white space", "case", "quotes", "unicode")


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text after an edit: the number of replacements, and the line of the first one."""

    text: str
    count: int
    line: int


def replace(
    text: str, old: str, new: str, *, every: bool = False, shown: str | None = None
) -> Replaced:
    """Replace *old* in *text* by *new*: at the one place, or with *every* at each one.

    Line ends do not count as a difference, and those of other lines stay as they are. *shown* is
    what the model may see of the text.

    Raises:
        ToolProblem: *old* is not there, or is there more than once, or nothing would change.
    """
    given = text
    text, old, new = to_lf(text), to_lf(old), to_lf(new)
    if not old:
        raise ToolProblem("old_text is empty; give the text to replace")
    if old == new:
        raise ToolProblem("old_text and new_text are the same; nothing would change")
    places = _places(text, old)
    if not places:
        raise ToolProblem(nearest(text if shown is None else to_lf(shown), old))
    if len(places) > 1 and not every:
        lines = ", ".join(str(line_of(text, place)) for place in places[:_NAMED])
        more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        message = (
            f"old_text is there {len(places)} times (lines {lines}{more}); "
            "give more of the text around the one that is meant"
        )
        raise ToolProblem(message)
    count = text.count(old) if every else 1
    made = keep_line_ends(text.replace(old, new, count), given)
    return Replaced(made, count, line_of(text, places[0]))


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def nearest(text: str, old: str) -> str:
    """Explain why *old* is not in *text*: name the nearest line, and the difference."""
    if not text.strip():
        return "old_text was not found; the file is empty"
    if found := _folded_place(text, old):
        start, end = found
        there = text[start:end]
        kinds = [kind for kind in _KINDS if _differs(there, old, kind)]
        first, last = line_of(text, start), line_of(text, max(start, end - 1))
        where = f"Line {first} differs" if first == last else f"Lines {first}–{last} differ"
        return (
            f"old_text was not found exactly. {where} only in "
            f"{' and '.join(kinds) or 'invisible characters'}: {_quoted(there)}. "
            "Repeat it exactly as it stands there"
        )
    return _nearest_line(text, old)


def _places(text: str, old: str) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) < _PLACES:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _folded_place(text: str, old: str) -> tuple[int, int] | None:
    """Return the offsets of *old* in *text* when no kind of difference counts."""
    folded, offsets = _fold(text)
    wanted = _fold(old)[0].strip()
    at = folded.find(wanted) if wanted else -1
    if at < 0:
        return None
    return offsets[at], offsets[at + len(wanted) - 1] + 1


def _differs(there: str, old: str, kind: str) -> bool:
    """True when the two differ in that kind, ignoring all others."""
    one, other = _fold(there, kind)[0], _fold(old, kind)[0]
    return one != other if kind == "white space" else one.strip() != other.strip()


def _fold(text: str, keep: str = "") -> tuple[str, list[int]]:
    """Return the text without the kinds of difference (except *keep*), and each character's
    offset.
    """
    folded: list[str] = []
    offsets: list[int] = []
    for offset, char in enumerate(text):
        for piece in _fold_char(char, keep):
            if piece == " " and keep != "white space" and folded and folded[-1] == " ":
                continue
            folded.append(piece)
            offsets.append(offset)
    return "".join(folded), offsets


def _fold_char(char: str, keep: str) -> str:
    """Fold one character. ``jenny.text_normalisation`` folds whole texts and all differences at
    once; here each kind is named, and every character keeps its offset."""
    if char.isspace():
        return char if keep == "white space" else " "
    if char.isascii():
        if keep != "quotes" and char == "`":
            return "'"
        return char if keep == "case" else char.lower()
    if keep != "quotes":
        char = char.translate(_QUOTES)
    if keep != "unicode":
        char = unicodedata.normalize("NFKD", char.translate(_DASHES))
        char = "".join(each for each in char if unicodedata.category(each) != "Cf")
    return char if keep == "case" else char.casefold()


def _nearest_line(text: str, old: str) -> str:
    wanted = max(old.splitlines() or [old], key=lambda line: len(line.strip())).strip()
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:_NEAR_CHARS])
    best, number, shown = 0.0, 0, ""
    for at, line in enumerate(text.split("\n")[:_NEAR_LINES], 1):
        candidate = line.strip()[:_NEAR_CHARS]
        if not candidate:
            continue
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() <= best or matcher.quick_ratio() <= best:
            continue
        if (ratio := matcher.ratio()) > best:
            best, number, shown = ratio, at, line
    if best < _NEAR_ENOUGH:
        return "old_text was not found, nor anything like it. Read the file again"
    return (
        f"old_text was not found. The nearest is line {number}, which differs in words: "
        f"{_quoted(shown)}. Read the file again"
    )


def _quoted(text: str) -> str:
    """Quote the text for a sentence, with its white space visible."""
    shown = text if len(text) <= _NEAR_CHARS else f"{text[:_NEAR_CHARS]}…"
    return repr(shown)
