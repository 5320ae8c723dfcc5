"""A slice of a conversation becomes entries of the history, or a summary of the conversation's
own; only then do the pointers move.

While a model is asked, neither a transaction nor a connection is held, and chat goes on: what
comes in meanwhile lies behind the slice.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from jenny.accounts.access import model_for
from jenny.agent.errors import AgentError, CallsPaused, Cancelled
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.chat import slices, stored
from jenny.chat.models import Conversation, ProjectState
from jenny.chat.outcomes import Kept, Outcome, left_out
from jenny.chat.prompt import zone_of
from jenny.chat.slices import Slice
from jenny.chat.tasks.claims import WATCHES, Claim
from jenny.chat.tasks.lending import give_back
from jenny.chat.tasks.pointers import move, session_of
from jenny.chat.tasks.restated import hear_entries
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.locks import TIMEOUT_SECONDS
from jenny.workspace.redact import redact
from memory.history import consolidator, log, recorded, removal
from memory.history.consolidator import LIMITS, Consolidated, Reply
from memory.history.transcript import Spoken
from wikis import pages
from wikis.errors import WikiMissing
from wikis.project import about
from wikis.project import log as project_log

logger = logging.getLogger(__name__)

# Characters for each token of the model's window that a piece of the conversation may take,
# beside the instructions, what is recorded already, and the answer.
_CHARS_A_TOKEN = 2
_LEAST_CHARS = 2_000


def carry_out(
    claim: Claim,
    chat: Conversation,
    piece: Slice,
    *,
    at_once: bool = False,
    lock_seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Keep what a slice says, and move the pointers past it. *at_once*: as it is, without asking
    a model; *lock_seconds*: how long others may hold the history.

    :raises Cancelled: the claim was taken away; nothing was moved.
    :raises WorkspaceError: nothing was added, and nothing was moved.
    """
    said = tuple(message for row in piece.rows if (message := slices.spoken(row)))
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
        move(claim, chat, piece, kept)
    except Conversation.DoesNotExist:
        # Deleted meanwhile, by somebody who was told that nothing more of it is kept.
        removal.remove(chat.workspace.root, str(chat.pk), only=frozenset(kept.cursors))
        raise
    facts = {"summaries": kept.summaries, "raw": kept.raw, "messages": len(said)}
    logger.info("consolidation.done", extra={"conversation": str(chat.pk), **facts})
    return Outcome.of(kept)


@dataclass(frozen=True, slots=True)
class _Part:
    """What ``carry_out`` was given, and what the messages of it say."""

    claim: Claim
    chat: Conversation
    piece: Slice
    said: tuple[Spoken, ...]
    at_once: bool
    lock_seconds: float


def _into_history(part: _Part) -> Kept:
    """Add it to the history; when this returns, it is on disk."""
    made = _made(part)
    if not made.entries:
        return Kept()
    # /new may have come meanwhile: then the next chat starts without it, too.
    session_from = session_of(part.claim, made.messages)
    is_past = part.piece.is_past or session_from > made.messages[1]
    added = log.append(
        part.chat.workspace.root,
        [replace(one, prompt_visible=not is_past) for one in made.entries],
        zone=part.chat.workspace.owner.time_zone,
        one_group=True,
        timeout=part.lock_seconds,
    ).entries
    hear_entries(part.chat, part.piece.rows, added)
    return Kept(
        cursors=tuple(entry.cursor for entry in added),
        summaries=sum(entry.kind == "summary" for entry in added),
        raw=sum(entry.kind == "raw" for entry in added),
    )


def _for_itself(part: _Part) -> Kept:
    """A summary that stands in no file: what a temporary chat needs to go on."""
    entries = _made(part).entries
    raw = sum(entry.kind == "raw" for entry in entries)
    texts = [
        stored.shortened(entry.content) if entry.kind == "raw" else entry.content
        for entry in entries
    ]
    return Kept(text=redact("\n".join(texts)).text, summaries=len(texts) - raw, raw=raw)


def _into_log(part: _Part) -> Kept:
    """Add it to the log of the project that the conversation takes place in; nothing of it
    reaches the history. When this returns, it is on disk."""
    chat, root = part.chat, part.chat.workspace.root
    kept = _for_itself(part)
    first = part.piece.rows[0]
    # The time tells messages apart that have the same number after a database came back.
    mark = (
        f"conversation {chat.pk}, messages {first.pk} to {part.piece.through}, "
        f"from {first.created_at:%Y-%m-%d %H:%M:%S.%f}"
    )
    zone = zone_of(log.zone_of(root, chat.workspace.owner.time_zone))
    try:
        pages.open_wiki(root, chat.project)
    except WikiMissing:
        return kept  # its folder is gone; the conversation goes on for itself
    actor = Actor("project", account=chat.workspace.owner_id, run=f"conversation:{chat.pk}")
    workspace = open_workspace(root, actor, within=about.folder_of(chat.project))
    ProjectState.of(chat.workspace, chat.project).happened()
    project_log.add(workspace, kept.text.splitlines(), datetime.now(zone), mark=mark)
    return kept


def _made(part: _Part) -> Consolidated:
    """The entries, before anybody has them."""
    chat, root = part.chat, part.chat.workspace.root
    zone = zone_of(log.zone_of(root, chat.workspace.owner.time_zone))
    if part.at_once:
        return consolidator.without_asking(part.said, conversation=str(chat.pk), zone=zone)
    window = workspace_config.load(root).get("agents.defaults.contextWindowTokens")
    return consolidator.consolidate(
        part.said,
        _ask(part.claim, chat),
        conversation=str(chat.pk),
        # Nothing but the project's own words may reach its folder.
        recorded="" if chat.project else recorded.block(root),
        zone=zone,
        chunk_chars=max(_LEAST_CHARS, min(consolidator.CHUNK_CHARS, window * _CHARS_A_TOKEN)),
    )


def _ask(claim: Claim, chat: Conversation) -> consolidator.Ask:
    """Asks the conversation's own model, with a time limit for each question."""

    def ask(system: SystemPrompt, text: str) -> Reply:
        claim.renew()
        try:
            endpoint, preset = model_for(chat.workspace, chat.preset, kind="summary")
        except CallsPaused as error:
            # No failure to be made up for: the slice waits, and is kept as it is.
            raise Cancelled(error.reason) from error
        except WorkspaceError as error:
            raise AgentError("workspace", error.sentence) from error
        give_back()
        with WATCHES.one(LIMITS.seconds) as watch:
            # Thinking would use up the tokens that the summary may take.
            provider = Provider(endpoint, replace(preset, thinking="off"))
            return consolidator.asking(provider, watch)(system, text)

    return ask
