"""Points at which a conversation may be cut: only before a user's turn.

A call is never separated from its result, a turn is never split, and the last exchange stays.
Counts are of messages from the first that the model still sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KEPT_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class Weighed:
    """A message for a cut: its approximate tokens, and whether a user's turn begins with it (tool
    results begin none)."""

    tokens: int
    begins_turn: bool


def for_tokens(messages: Sequence[Weighed], tokens: int) -> int:
    """Return how many messages must be removed to gain *tokens*: all that may go when they do not
    suffice, 0 when none may."""
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
    """Return how many messages must be removed so that at most *most* stay, or as many as may
    go."""
    surplus = len(messages) - most
    if surplus <= 0:
        return 0
    return for_tokens([Weighed(1, message.begins_turn) for message in messages], surplus)


def for_rest(messages: Sequence[Weighed], keep: int = KEPT_MESSAGES) -> int:
    """Return how many messages leave the context after idle time: all but the last *keep* and the
    rest of their turn."""
    start = max(len(messages) - keep, 0)
    while start and not messages[start].begins_turn:
        start -= 1
    return start
