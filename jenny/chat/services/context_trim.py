"""Moves the oldest turns into the history as raw entries when a request exceeds the window.

This happens before a turn's request, or after the provider said that it was too long. Nobody waits
for a summary; Dream has the entries summarised later.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jenny.agent import loop
from jenny.agent.errors import Cancelled, ProviderFault
from jenny.agent.prompt import SystemPrompt
from jenny.agent.tokens import estimate
from jenny.agent.tools import Toolbox
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import context_window, model_context
from jenny.chat.services.consolidation import rows_of
from jenny.chat.services.consolidation_state import seized, settle_pointers
from jenny.chat.services.context_window import (
    Pointers,
    Slice,
    find_overflow,
    meter,
    publish_overflow,
    too_big,
)
from jenny.chat.services.model_context import Said, load_history, prompt_of
from jenny.chat.services.summaries import summarise_slice
from jenny.db_connections import release_db_connection
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from wikis.project import folder_of

logger = logging.getLogger(__name__)

# Time to wait for the history's lock while a person waits for an answer.
_LOCK_SECONDS = 2.0


def fitting(
    turn: Turn, toolbox: Toolbox, config: Config, known_window: int | None = None
) -> tuple[SystemPrompt, list[Said]]:
    """Return the turn's system prompt and history after trimming the context to the window.

    *known_window*: the window in tokens that the model's server reported.
    """
    chat, schemas = turn.conversation, toolbox.schemas()
    system, said = prompt_of(chat, toolbox.names), load_history(chat)
    window, began = _window(config, known_window), chat.context_from
    # A summary that was stored meanwhile has moved the context, too.
    has_left = trim_context(turn, said, system, schemas, config, window=window)
    if has_left or chat.context_from != began:
        system, said = prompt_of(chat, toolbox.names), load_history(chat)
    return system, said


def trim_context(
    turn: Turn,
    said: Sequence[Said],
    system: SystemPrompt,
    schemas: Sequence[Mapping[str, Any]],
    config: Config,
    *,
    window: int,
) -> bool:
    """Let the oldest turns leave the context when the request would not fit. True: some left.

    *said*: the history, with the messages that the turn took.
    Turns that cannot be stored at the moment stay, and the provider decides about the request.

    :raises Conversation.DoesNotExist: it was deleted.
    """
    chat = turn.conversation
    most = config.agents.defaults.max_tokens
    used = _size(turn, said, system, schemas)
    if used + most <= window:
        return False
    target = _target(config, window)
    if not _let_go(
        turn, lambda rows, at: context_window.oldest(rows, at, tokens=max(1, used - target))
    ):
        return False
    # Reset: the provider's next count already lacks what has just left.
    Conversation.objects.filter(pk=chat.pk).update(tokens_gone=0)
    return True


def room_for(turn: Turn, said: Sequence[Said], toolbox: Toolbox, config: Config) -> loop.MakeRoom:
    """Return the function that makes room after the provider refused a request as too long.

    *said*: the rows of the run's history.
    """

    def make_room(fault: ProviderFault) -> loop.Room | str:
        try:
            return _room_after(fault, turn, said, toolbox, config)
        finally:
            release_db_connection()

    return make_room


def _room_after(
    fault: ProviderFault, turn: Turn, said: Sequence[Said], toolbox: Toolbox, config: Config
) -> loop.Room | str:
    """Remove half of the conversation, or what the window named by the provider requires.

    Return a sentence that names what is too big when nothing may leave.
    """
    chat, schemas = turn.conversation, toolbox.schemas()
    window = _window(config, fault.window)
    rows = _rows(chat, chat.context_from)
    spoken = sum(weight.tokens for weight in context_window.weighed(rows))
    fixed = estimate(prompt_of(chat, toolbox.names).text)
    fixed += estimate(json.dumps(list(schemas)))
    surplus = fixed + spoken - _target(config, window)
    tokens = max(spoken // 2, surplus if fault.window else 0, 1)
    before = chat.context_from
    if not _let_go(
        turn, lambda rows, at: context_window.oldest(rows, at, tokens=tokens), tells=False
    ):
        return too_big(chat, budget_of(config, window), over=max(1, surplus), is_alone=True)
    gone = sum(before <= row.id < chat.context_from for row in said)
    return loop.Room(
        system=prompt_of(chat, toolbox.names).wire(),
        history=model_context.messages(
            (row for row in said if row.id >= chat.context_from),
            folder_of(chat.project) if chat.project else "",
        ),
        message=(
            f"The oldest part of this conversation ({gone:,} messages) is not sent any more; it is "
            "kept, and stays in the thread. The request was repeated once without it."
        ),
    )


def _let_go(
    turn: Turn,
    choose: Callable[[list[Message], Pointers], Slice | None],
    *,
    tells: bool = True,
) -> bool:
    """Let a slice leave the context into the history as raw entries. True: one left.

    *tells*: when none may leave, the page names what is too big.
    """
    chat = turn.conversation
    try:
        with seized(chat) as claim:
            settle_pointers(claim)
            chat.refresh_from_db()
            at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
            piece = choose(_rows(chat, min(at.summarised_through + 1, at.context_from)), at)
            if piece is None:
                if tells:
                    publish_overflow(chat, find_overflow(chat))
                return False
            summarise_slice(claim, chat, piece, at_once=True, lock_seconds=_LOCK_SECONDS)
    except (Cancelled, WorkspaceError) as error:
        logger.warning("overrun.kept", extra={"turn": turn.pk, "cause": type(error).__name__})
        return False
    before = chat.context_from
    chat.refresh_from_db()
    return chat.context_from > before


def _rows(chat: Conversation, first: int) -> list[Message]:
    query = rows_of(chat, first).select_related("turn").prefetch_related("blocks", "attachments")
    return list(query.order_by("pk"))


def _window(config: Config, known: int | None) -> int:
    """Return the window: the setting's, or the smaller one that the server named."""
    own: int = config.agents.defaults.context_window_tokens
    return min(own, known) if known else own


def _target(config: Config, window: int) -> int:
    """Return the size that the context should have after trimming."""
    return int(budget_of(config, window) * _ratio(config))


def budget_of(config: Config, window: int) -> int:
    """Return the tokens of a request beside its answer.

    When the answer may fill the window, this is half of the window.
    """
    most = config.agents.defaults.max_tokens
    return max(meter(0, window=window, max_tokens=most).total, window // 2)


def _size(
    turn: Turn,
    said: Sequence[Said],
    system: SystemPrompt,
    schemas: Sequence[Mapping[str, Any]],
) -> int:
    """Estimate the request's tokens, from the provider's last count when there is one."""
    chat = turn.conversation
    fresh = sum(row.tokens for row in said if row.turn == turn.pk)
    counted = max(((row.turn, row.counted) for row in said if row.counted), default=None)
    if counted:
        return max(0, counted[1] - turn.tokens_gone) + fresh
    spoken = sum(weight.tokens for weight in context_window.weighed(_rows(chat, chat.context_from)))
    return estimate(system.text) + estimate(json.dumps(list(schemas))) + spoken


def _ratio(config: Config) -> float:
    return float(config.agents.defaults.consolidation_ratio)
