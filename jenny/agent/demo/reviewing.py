"""A review of the memory files by rule: what stands in the wrong file moves, and what another line
says as well, with more in it, goes to the archive.

A word alone tells little, so it leaves more in place than a model would.
"""

from collections.abc import Iterator

from jenny.agent.demo.asked import Asked, Call, Piece, Say
from jenny.agent.demo.dreaming import lines_of, place_of, words_of

_USER, _MEMORY = "USER.md", "memory/MEMORY.md"
# So many lines are moved or taken out in one review.
_MOST = 8
_FEWEST_WORDS = 2

type _Line = tuple[str, str]


def is_review(asked: Asked) -> bool:
    """Whether the memory files are to be made smaller, with nothing new to be read."""
    return asked.tools >= {"finish", "move_entry"} and "This is a review" in asked.system


def review(asked: Asked) -> Iterator[Piece]:
    """The next step: the moves, then the end, then a word."""
    names = [done.call.name for done in asked.done]
    calls = [] if names else list(_moves(list(lines_of(asked.system))))[:_MOST]
    if "finish" in names:
        yield Say("Reviewed, by rule: I am the demo model and understand nothing.")
    elif calls:
        yield from calls
    else:
        yield Call("finish", {})


def _moves(lines: list[_Line]) -> Iterator[Call]:
    """What is to be moved: to where it belongs, or out."""
    gone: set[_Line] = set()
    for line in lines:
        path, text = line
        # Which of two equal lines is meant could not be said.
        if lines.count(line) > 1:
            continue
        if any(_says_more(other, line) for other in lines if other not in gone):
            gone.add(line)
            yield _move(line, "archive", "another line says it, with more in it")
        elif path == _USER:
            place, heading = place_of(text, by_words=True)
            if place == _MEMORY:
                gone.add(line)
                yield _move(line, place, "", heading)


def _says_more(other: _Line, line: _Line) -> bool:
    """Whether the other line has all words of this one, or is its double in a later file."""
    said, meant = words_of(other[1]), words_of(line[1])
    if other == line or len(meant) < _FEWEST_WORDS:
        return False
    return meant < said or (meant == said and (other[0] < line[0]))


def _move(line: _Line, to: str, reason: str, heading: str = "") -> Call:
    path, text = line
    rest = {"heading": heading} if heading else {"reason": reason}
    return Call("move_entry", {"path": path, "entry": text, "to": to, **rest})
