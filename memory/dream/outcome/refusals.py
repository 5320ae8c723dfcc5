"""Which refused writes are still open: the bookkeeping of one run.

* A refusal by a budget stays open until at least one of the lines it refused lands in that same
  file; what lands in another file does not close it.
* Refusals because a line is pinned, forgotten, protected and the like are final answers: they
  close at once.
* An edit that did not fit the file stays open until a later edit of the same target lands. One
  whose lines had landed before was made twice, and is not open.
"""

import difflib
from collections.abc import Sequence

from memory import text_similarity
from memory.dream.values import Attempt
from memory.facts import normal

# Rules whose no is the last word: nothing the run could do would make it a yes.
FINAL = frozenset(
    {
        "forgotten",
        "pinned",
        "protected",
        "consent",
        "spelling",
        "secret",
        "skill",
        "rejected",
        "dated",
        "grounding",
    }
)
_ALIKE = 0.7
# Longer texts are compared by their beginnings.
_COMPARED_CHARS = 2_000


def open_refusals(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts of a run, in order, that were refused and never made good."""
    return tuple(
        attempt
        for number, attempt in enumerate(attempts)
        if not attempt.ok
        and attempt.rule not in FINAL
        and not any(_makes_good(later, attempt) for later in attempts[number + 1 :])
        and not any(_had_landed(earlier, attempt) for earlier in attempts[:number])
    )


def _makes_good(later: Attempt, refused: Attempt) -> bool:
    """Whether a later write brought what the refused one was to bring."""
    # A call that nobody could read named no file.
    if not later.ok or (refused.path and later.path != refused.path):
        return False
    if refused.rule == "budget":
        return not refused.added or _shares_a_line(later.added, refused.added)
    if not (refused.added or refused.removed):
        return True
    return (
        _shares_a_line(later.added, refused.added)
        or _is_within(refused.added, later.added)
        or _shares_a_line(later.removed, refused.removed)
        or _is_alike(later.added, refused.added)
        or _is_alike(later.removed, refused.removed)
    )


def _had_landed(earlier: Attempt, refused: Attempt) -> bool:
    """Whether an edit that did not fit was made before, and landed then."""
    return (
        earlier.ok
        and earlier.path == refused.path
        and refused.rule != "budget"
        and _shares_a_line(earlier.added, refused.added)
    )


def _shares_a_line(landed: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether one of the lines is among those that landed, in these or nearly these words."""
    index = text_similarity.Index(line for line in landed if line.strip())
    return any(line.strip() and index.find(line) is not None for line in wanted)


def _is_within(pieces: Sequence[str], landed: Sequence[str]) -> bool:
    """Whether one of the pieces of lines stands in a line that landed."""
    texts = [normal(line) for line in landed]
    return any(piece.strip() and any(normal(piece) in text for text in texts) for piece in pieces)


def _is_alike(landed: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether two texts are mostly the same: an edit tried again in other words."""
    first, second = "\n".join(landed)[:_COMPARED_CHARS], "\n".join(wanted)[:_COMPARED_CHARS]
    if not first or not second:
        return False
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE
