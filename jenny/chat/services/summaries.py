"""Summarises a slice of a conversation, and moves the pointers after the summary is stored.

The summary goes to the history, to a project's log, or stays in a temporary chat. While a model is
asked, no transaction and no connection is held, and chat goes on: new messages come after the
slice.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from jenny.accounts.access import model_for
from jenny.agent.cancellation import OPEN_TOKENS
from jenny.agent.clock import zone_of
from jenny.agent.errors import AgentError, CallsPaused, Cancelled
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.chat import prompt
from jenny.chat.models import Conversation, ProjectState
from jenny.chat.services import context_window
from jenny.chat.services.consolidation_state import (
    Claim,
    Kept,
    Outcome,
    left_out,
    move_pointers,
    session_of,
)
from jenny.chat.services.context_window import Slice
from jenny.chat.services.memory_links import unsuppress_in_entries
from jenny.db_connections import release_db_connection
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.locks import TIMEOUT_SECONDS
from jenny.workspace.redact import redact
from memory.history import consolidator, log, removal
from memory.history.consolidator import LIMITS, Consolidated, Reply
from memory.history.entries import zone_name
from memory.history.prompt import known_facts_block
from memory.history.transcript import Spoken
from memory.services import forgotten_facts
from wikis import pages, project
from wikis import project as project_log
from wikis.errors import WikiMissing

logger = logging.getLogger(__name__)

# Characters per token of the model's window that a piece of the conversation may take; the rest is
# for instructions, known facts and the answer.
_CHARS_A_TOKEN = 2
_LEAST_CHARS = 2_000


def summarise_slice(
    claim: Claim,
    chat: Conversation,
    piece: Slice,
    *,
    at_once: bool = False,
    lock_seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Store the summary of a slice and move the pointers past it.

    *at_once*: store it as raw entries, without a model; *lock_seconds*: time to wait for the
    history's lock.

    :raises Cancelled: the claim was taken away; nothing was moved.
    :raises WorkspaceError: nothing was added, and nothing was moved.
    """
    said = tuple(message for row in piece.rows if (message := context_window.spoken(row)))
    part = _Part(claim, chat, piece, said, at_once, lock_seconds)
    kept = Kept()
    if said:
        if chat.feeds_history:
            kept = _into_history(part)
        elif chat.project:
            kept = _into_log(part)
        elif not piece.is_past:
            kept = _for_itself(part)
        kept = replace(kept, count=len(said), secrets=left_out(said) if kept.is_something else ())
    try:
        move_pointers(claim, chat, piece, kept)
    except Conversation.DoesNotExist:
        # Deleted meanwhile, by a person who was told that nothing more of it is kept.
        removal.remove(chat.workspace.root, str(chat.pk), only=frozenset(kept.cursors))
        raise
    facts = {"summaries": kept.summaries, "raw": kept.raw, "messages": len(said)}
    facts |= {"untagged": kept.untagged} if kept.untagged else {}
    logger.info("consolidation.done", extra={"conversation": str(chat.pk), **facts})
    return Outcome.of(kept)


@dataclass(frozen=True, slots=True)
class _Part:
    """Arguments of ``summarise_slice``, and the slice's messages."""

    claim: Claim
    chat: Conversation
    piece: Slice
    said: tuple[Spoken, ...]
    at_once: bool
    lock_seconds: float


def _into_history(part: _Part) -> Kept:
    """Add the summary to the history; it is on disk when this returns."""
    made = _made(part)
    if made.forget:
        forgotten_facts.note_wishes(part.chat.workspace, made.forget)
    if not made.entries:
        return Kept()
    # /new may have come meanwhile: then the next chat starts without it, too.
    session_from = session_of(part.claim, made.messages)
    is_past = part.piece.is_past or session_from > made.messages[1]
    added = log.append(
        part.chat.workspace.root,
        [replace(one, prompt_visible=one.prompt_visible and not is_past) for one in made.entries],
        zone=part.chat.workspace.owner.time_zone,
        one_group=True,
        timeout=part.lock_seconds,
    ).entries
    unsuppress_in_entries(part.chat, part.piece.rows, added)
    return Kept(
        cursors=tuple(entry.cursor for entry in added),
        summaries=sum(entry.kind == "summary" for entry in added),
        raw=sum(entry.kind == "raw" for entry in added),
        untagged=made.untagged,
    )


def _for_itself(part: _Part) -> Kept:
    """Summarise a temporary chat, which needs it to go on; it is stored in no file."""
    return _own(_made(part))


def _own(made: Consolidated, *, with_hidden: bool = False) -> Kept:
    """Join entries to the conversation's own text.

    *with_hidden*: include those that no prompt may show.
    """
    entries = [entry for entry in made.entries if entry.prompt_visible or with_hidden]
    raw = sum(entry.kind == "raw" for entry in entries)
    texts = [
        prompt.shortened(entry.content) if entry.kind == "raw" else entry.content
        for entry in entries
    ]
    return Kept(
        text=redact("\n".join(texts)).text,
        summaries=len(texts) - raw,
        raw=raw,
        untagged=made.untagged,
    )


def _into_log(part: _Part) -> Kept:
    """Add the summary to the project's log; nothing of it reaches the history.

    It is on disk when this returns.
    """
    chat, root = part.chat, part.chat.workspace.root
    made = _made(part)
    kept = _own(made)
    first = part.piece.rows[0]
    # After a database was restored, only the time tells messages with the same number apart.
    mark = (
        f"conversation {chat.pk}, messages {first.pk} to {part.piece.through}, "
        f"from {first.created_at:%Y-%m-%d %H:%M:%S.%f}"
    )
    zone = zone_of(zone_name(root, chat.workspace.owner.time_zone))
    try:
        pages.open_wiki(root, chat.project)
    except WikiMissing:
        return kept  # the project's folder is gone; the conversation keeps the summary itself
    actor = Actor("project", account=chat.workspace.owner_id, run=f"conversation:{chat.pk}")
    workspace = open_workspace(root, actor, within=project.folder_of(chat.project))
    ProjectState.of(chat.workspace, chat.project).happened()
    lines = _own(made, with_hidden=True).text.splitlines()
    project_log.add_to_log(workspace, lines, datetime.now(zone), mark=mark)
    return kept


def _made(part: _Part) -> Consolidated:
    """Make the entries without storing them."""
    chat, root = part.chat, part.chat.workspace.root
    zone = zone_of(zone_name(root, chat.workspace.owner.time_zone))
    if part.at_once:
        return consolidator.without_asking(part.said, conversation=str(chat.pk), zone=zone)
    window = workspace_config.load_config(root).agents.defaults.context_window_tokens
    return consolidator.consolidate(
        part.said,
        _ask(part.claim, chat),
        conversation=str(chat.pk),
        # Nothing but the project's own words may reach its folder.
        recorded="" if chat.project else known_facts_block(root),
        zone=zone,
        chunk_chars=max(_LEAST_CHARS, min(consolidator.CHUNK_CHARS, window * _CHARS_A_TOKEN)),
    )


def _ask(claim: Claim, chat: Conversation) -> consolidator.Ask:
    """Return a function that asks the conversation's own model, with a time limit per request."""

    def ask(system: SystemPrompt, text: str) -> Reply:
        claim.renew()
        try:
            endpoint, preset = model_for(chat.workspace, chat.preset, kind="summary")
        except CallsPaused as error:
            # Not a failure that raw entries replace: the slice waits unchanged.
            raise Cancelled(error.reason) from error
        except WorkspaceError as error:
            raise AgentError("workspace", error.message) from error
        release_db_connection()
        with OPEN_TOKENS.open() as watch:
            watch.limit(LIMITS.seconds)
            # Thinking would use up the tokens that the summary may take.
            provider = Provider(endpoint, replace(preset, thinking="off"))
            return consolidator.asking(provider, watch)(system, text)

    return ask
