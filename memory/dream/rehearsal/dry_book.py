"""What a dry run is told of earlier runs; it leaves nothing behind."""

from jenny.agent.tokens import Usage
from memory.dream.judging.counters import Due
from memory.dream.offer.digesting import Digests
from memory.dream.offer.offering import Lists
from memory.dream.reviewing.reviewed import Reviewed
from memory.dream.values import Batch, Decision


class DryBook:
    """``memory.dream.offer.offering.Book`` that keeps nothing: what earlier runs left is what it
    was given. What raw texts became is known from *digests*, and not added to."""

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

    def reviewed(self, found: Reviewed) -> None:
        """It is in what the run gives back."""

    def spent(self, usage: Usage) -> None:
        """It is in what the run gives back."""

    def lists(self) -> Lists:
        """What earlier runs left."""
        return self._lists

    def digest(self, key: str) -> str | None:
        """What a summariser made of a text, if a real run asked it."""
        return self._digests.digest(key)

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        """Nothing is kept."""

    def settle(self, batch: Batch, decision: Decision) -> None:
        """Nothing is kept."""
