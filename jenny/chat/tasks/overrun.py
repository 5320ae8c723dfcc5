"""Before a turn's request is sent: what would overrun the model's window goes into the history
as it is, at once. Nobody waits for a summary then; Dream has it summarised later.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from jenny.accounts.models.prepared import Prepared, number_slot, uuid_slot
from jenny.agent.errors import Cancelled
from jenny.agent.prompt import SystemPrompt
from jenny.agent.tokens import estimate
from jenny.agent.tools import Toolbox
from jenny.chat import slices
from jenny.chat.meter import meter
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.slices import Pointers
from jenny.chat.tasks.claims import seized
from jenny.chat.tasks.consolidation import rows_of
from jenny.chat.tasks.crowding import crowding, tell_crowding
from jenny.chat.tasks.pointers import settle
from jenny.chat.tasks.prompts import prompt_of
from jenny.chat.tasks.summarising import carry_out
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError

logger = logging.getLogger(__name__)

# How long others may hold the history while somebody waits for an answer.
_LOCK_SECONDS = 2.0


# What the provider counted last, of the context as it is now.
_COUNTED = Prepared(
    lambda: (
        Turn.objects.filter(
            conversation=uuid_slot("conversation"),
            context_tokens__gt=0,
            messages__pk__gte=number_slot("context_from"),
            messages__is_current=True,
        )
        .order_by("-pk")
        .values_list("context_tokens")[:1]
    )
)


def fitting(turn: Turn, taken: Sequence[Message], toolbox: Toolbox, config: Config) -> SystemPrompt:
    """The turn's system prompt, after what would overrun the window with it has left."""
    chat, schemas = turn.conversation, toolbox.schemas()
    system = prompt_of(chat, toolbox.names, schemas)
    if make_room(turn, taken, system, schemas, config):
        system = prompt_of(chat, toolbox.names, schemas)
    return system


def make_room(
    turn: Turn,
    taken: Sequence[Message],
    system: SystemPrompt,
    schemas: Sequence[Mapping[str, Any]],
    config: Config,
) -> bool:
    """Let the oldest turns leave the context when the turn's request would not fit otherwise;
    whether anything left.

    What cannot be kept at the moment stays in the context, and the model says what it thinks of
    it. :raises Conversation.DoesNotExist: it was deleted.
    """
    chat = turn.conversation
    window = config.get("agents.defaults.contextWindowTokens")
    most = config.get("agents.defaults.maxTokens")
    used = _size(turn, taken, system, schemas)
    if used + most <= window:
        return False
    target = int(meter(0, window=window, max_tokens=most).total * _ratio(config))
    try:
        with seized(chat) as claim:
            settle(claim)
            chat.refresh_from_db()
            at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
            query = rows_of(chat, min(at.summarised_through + 1, at.context_from))
            rows = list(query.select_related("turn").prefetch_related("blocks").order_by("pk"))
            piece = slices.oldest(rows, at, tokens=max(1, used - target))
            if piece is None:
                tell_crowding(chat, crowding(chat))
                return False
            carry_out(claim, chat, piece, at_once=True, lock_seconds=_LOCK_SECONDS)
    except (Cancelled, WorkspaceError) as error:
        logger.warning("overrun.kept", extra={"turn": turn.pk, "cause": type(error).__name__})
        return False
    chat.refresh_from_db()
    # What left was counted before this turn looks at the context.
    Conversation.objects.filter(pk=chat.pk).update(tokens_gone=0)
    return True


def _size(
    turn: Turn,
    taken: Sequence[Message],
    system: SystemPrompt,
    schemas: Sequence[Mapping[str, Any]],
) -> int:
    """About how many tokens the request takes: what the provider counted last and what came
    since, or else the estimate of all of it."""
    chat = turn.conversation
    fresh = sum(estimate(row.text) + estimate(row.context) for row in taken)
    counted = _COUNTED.first(conversation=chat.pk, context_from=chat.context_from)
    if counted:
        return max(0, counted[0] - turn.tokens_gone) + fresh
    rows = rows_of(chat, chat.context_from).prefetch_related("blocks").order_by("pk")
    said = sum(weight.tokens for weight in slices.weighed(list(rows)))
    return estimate(system.text) + estimate(json.dumps(list(schemas))) + said


def _ratio(config: Config) -> float:
    return float(config.get("agents.defaults.consolidationRatio"))
