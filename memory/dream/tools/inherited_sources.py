"""What a review's writes rest on: it was shown no entries, so each line that comes takes over those
of the lines that leave for it."""

from collections.abc import Callable, Sequence

from memory import facts
from memory.dream.tools.drafts import Draft

type RestsOn = Callable[[Sequence[str]], tuple[int, ...]]
"""On which entries lines rest, by their digests (``memory.facts.digests``)."""

# A line that takes the place of many rests on the newest so many of their entries.
_MOST = 100


class InheritedSources:
    """The entries that lines rest on, as a ledger has them, and those of the pass's own lines,
    which no ledger has yet."""

    def __init__(self, rests_on: RestsOn) -> None:
        self._rests_on = rests_on
        self._own: dict[str, tuple[int, ...]] = {}

    def of(self, drafts: Sequence[Draft]) -> tuple[int, ...]:
        """What an act rests on."""
        gone = [_digests(draft.data) - _digests(draft.text.encode()) for draft in drafts]
        left = sorted(set().union(*gone))
        found = {cursor for one in left for cursor in self._own.get(one, ())}
        if asked := [one for one in left if one not in self._own]:
            found.update(self._rests_on(asked))
        sources = tuple(sorted(found))[-_MOST:]
        for draft in drafts:
            came = _digests(draft.text.encode()) - _digests(draft.data)
            self._own |= dict.fromkeys(came, sources)
        return sources


def _digests(data: bytes | None) -> set[str]:
    return {one for fact in facts.stated(data) for one in facts.digests(fact.text)}
