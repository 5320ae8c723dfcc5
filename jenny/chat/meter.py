"""How full a conversation's context is, in words and as a share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jenny.workspace.config import Config

if TYPE_CHECKING:
    from jenny.chat.models import Conversation

# Tokens kept free beside the answer.
RESERVE = 1024

_THOUSAND = 1000
# From here on a tenth of a thousand says nothing.
_WHOLE = 9.95


@dataclass(frozen=True)
class Meter:
    """Tokens *used* of *total*."""

    used: int
    total: int

    @property
    def percent(self) -> int:
        """The share, at most 999."""
        return min(999, round(100 * self.used / self.total)) if self.total > 0 else 0

    @property
    def sentence(self) -> str:
        """For the line below the composer."""
        total = _short(self.total)
        return (
            f"{_short(self.used)} of {total} tokens; the oldest turns will be summarised at {total}"
        )


def meter(used: int, *, window: int, max_tokens: int) -> Meter:
    """The meter of a conversation whose last request and answer took *used* tokens."""
    return Meter(used, max(0, window - max_tokens - RESERVE))


def meter_of(chat: "Conversation", config: Config) -> Meter:
    """The meter of a conversation, by its newest turn since it was started anew."""
    newest = (
        chat.turns.filter(
            context_tokens__gt=0, messages__pk__gte=chat.context_from, messages__is_current=True
        )
        .order_by("-pk")
        .values_list("context_tokens", flat=True)
        .first()
    )
    return meter(
        max(0, (newest or 0) - chat.tokens_gone),
        window=config.get("agents.defaults.contextWindowTokens"),
        max_tokens=config.get("agents.defaults.maxTokens"),
    )


def _short(tokens: int) -> str:
    if tokens < _THOUSAND:
        return str(tokens)
    thousands = tokens / _THOUSAND
    return f"{thousands:.1f}k" if thousands < _WHOLE else f"{thousands:.0f}k"
