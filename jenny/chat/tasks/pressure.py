"""When a conversation has become too large for its model, and by how much."""

from jenny.chat.meter import meter
from jenny.chat.models import Conversation
from jenny.workspace import config as workspace_config


class Pressure:
    """How full a conversation's context is."""

    def __init__(self, chat: Conversation) -> None:
        config = workspace_config.load(chat.workspace.root)
        self._ratio = config.get("agents.defaults.consolidationRatio")
        self._most = config.get("agents.defaults.maxMessages")
        self.budget = meter(
            0,
            window=config.get("agents.defaults.contextWindowTokens"),
            max_tokens=config.get("agents.defaults.maxTokens"),
        ).total
        # Only what the newest turn was told of counts: an older one may have seen what has left.
        newest = (
            chat.turns.filter(messages__is_current=True)
            .order_by("-pk")
            .values_list("context_tokens", flat=True)
            .first()
        )
        self.used = max(0, (newest or 0) - chat.tokens_gone)

    def is_on(self, count: int) -> bool:
        """Whether the tokens, or *count* messages, are too many."""
        return self.surplus > 0 or self.keep(count) > 0

    @property
    def surplus(self) -> int:
        """Tokens that are to go; 0 while all of them fit."""
        target = int(self.budget * self._ratio)
        return max(1, self.used - target) if 0 < self.budget <= self.used else 0

    def keep(self, count: int) -> int:
        """How many messages are to stay; 0: all of *count*. As with tokens, so many go that
        the next turns find room."""
        return max(1, int(self._most * self._ratio)) if count > self._most else 0
