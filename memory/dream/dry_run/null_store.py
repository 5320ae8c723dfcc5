"""What a dry run is told of earlier runs; it leaves nothing behind."""

from jenny.agent.tokens import Usage
from memory.dream.batching.digester import Digests
from memory.dream.batching.selection import Lists
from memory.dream.outcome.counters import Due
from memory.dream.review.result import ReviewResult
from memory.dream.values import Batch, Decision


class NullRunStore:
    """A ``RunStore`` that stores nothing. Earlier runs' lists and *digests* are given to it."""

    def __init__(self, lists: Lists, digests: Digests) -> None:
        self._lists = lists
        self._digests = digests

    def may_write(self) -> bool:
        """Nobody else is in the copy."""
        return True

    def began(self, cursor: int, snapshot: str) -> None:
        """Nobody takes a dry run over."""

    def reviewing(self, due: Due) -> None:
        """Nobody takes a dry run over."""

    def reviewed(self, found: ReviewResult) -> None:
        """It is in what the run gives back."""

    def spent(self, usage: Usage) -> None:
        """It is in what the run gives back."""

    def lists(self) -> Lists:
        return self._lists

    def digest(self, key: str) -> str | None:
        """What a summariser made of a text, if a real run asked it."""
        return self._digests.digest(key)

    def keep_digest(self, key: str, cursor: int, text: str) -> None: ...

    def save_outcome(self, batch: Batch, decision: Decision) -> None: ...
