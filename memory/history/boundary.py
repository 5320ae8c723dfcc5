"""Where a conversation may be cut: only before a user's turn.

So a call is never parted from its result, a turn is never split, and the last exchange stays.
All of it counts messages from the first that the model still sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KEPT_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class Weighed:
    """A message, as far as a cut is concerned: about how many tokens it takes, and whether a
    user's turn begins with it (no result of a tool does)."""

    tokens: int
    begins_turn: bool


def for_tokens(messages: Sequence[Weighed], tokens: int) -> int:
    """How many messages must go so that *tokens* are gained; as many as may go when they are not
    enough, and 0 when none may."""
    gained = 0
    best = 0
    for at, message in enumerate(messages):
        if at and message.begins_turn:
            best = at
            if gained >= tokens:
                break
        gained += message.tokens
    return best


def for_count(messages: Sequence[Weighed], most: int) -> int:
    """How many messages must go so that at most *most* stay; as many as may go otherwise."""
    surplus = len(messages) - most
    if surplus <= 0:
        return 0
    return for_tokens([Weighed(1, message.begins_turn) for message in messages], surplus)


def for_rest(messages: Sequence[Weighed], keep: int = KEPT_MESSAGES) -> int:
    """How many messages leave the context after an idle time: all but the last *keep*, and those
    before them that belong to the same turn."""
    start = max(len(messages) - keep, 0)
    while start and not messages[start].begins_turn:
        start -= 1
    return start
