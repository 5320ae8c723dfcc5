"""Moves a conversation to the trash, and keeps or removes its history entries as the person chose.

``Conversation.objects`` leaves out what is in the trash, so that no list, search or prompt has it.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from jenny.chat.models import Conversation, Message, Summary, Turn
from jenny.chat.services import context_window
from jenny.chat.services.attachment_files import (
    delete_noted_files,
    move_files_to_trash,
    note_files_of,
)
from jenny.chat.services.consolidation import rows_of
from jenny.chat.services.consolidation_state import seized, settle_pointers
from jenny.chat.services.context_window import Pointers
from jenny.chat.services.publish import NUMBERS_GONE, Publisher
from jenny.chat.services.search import forget_conversation
from jenny.chat.services.send_message import ask_to_end, publish_end
from jenny.chat.services.shared_messages import hand_over, own_cursors
from jenny.chat.services.summaries import summarise_slice
from jenny.chat.services.turn_claims import answer_of
from jenny.chat.services.turn_recovery import close_block
from jenny.workspace import paths, retention, transactions
from jenny.workspace.errors import WorkspaceError
from memory.history import cursors, removal
from memory.provenance import TURN
from memory.services import dream_run_store, origins

# Choices for the entries: keep them; delete those that Dream has not read; or first add what is
# missing in the history.
KEEP, TAKE, ADD = "keep", "take", "add"
CHOICES = frozenset({KEEP, TAKE, ADD})
# Time to wait for the history's lock.
_LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Holds:
    """The memory's state of a conversation.

    *read*: entries that Dream read; *wait*: entries that it has not read; *unsummarised*: messages
    without an entry. *problem*: why this is unknown.
    """

    read: int = 0
    waiting: int = 0
    unsummarised: int = 0
    problem: str = ""

    @property
    def offers(self) -> bool:
        return bool(self.waiting or self.unsummarised)


@dataclass(frozen=True, slots=True)
class Deleted:
    """The conversations that were deleted, without those that somebody else had deleted meanwhile.

    *problem*: why the rest was not; empty: nothing is left.
    """

    conversations: list[Conversation]
    problem: str = ""


def memory_of_conversations(chats: Iterable[Conversation]) -> Holds:
    """Count what the memory has of conversations of a workspace, for the page that asks before
    deleting them."""
    found = [chat for chat in chats if chat.feeds_history]
    if not found:
        return Holds()
    root = found[0].workspace.root
    unsummarised = sum(rows_of(chat, chat.summarised_through + 1).count() for chat in found)
    try:
        waiting = removal.count_waiting(root, {str(chat.pk) for chat in found})
        read_to = cursors.dream_cursor(root)
    except WorkspaceError as error:
        return Holds(unsummarised=unsummarised, problem=error.message)
    read = sum(cursor <= read_to for cursor in own_cursors(*found))
    return Holds(read, waiting, unsummarised)


def delete_conversation(
    chat: Conversation,
    memory: str = KEEP,
    *,
    deleted_at: datetime | None = None,
    with_files: bool = False,
) -> None:
    """Move a conversation to the trash; a live turn ends with the text that was stored.

    Open pages are told to reload, and its stream is deleted. *memory* ``TAKE`` also deletes its
    entries that Dream has not read; ``ADD`` first adds what is missing in the history, word for
    word. *with_files* moves the files that were sent in it, and in no other conversation, to the
    trash of Files. Conversations that are deleted together have the same *deleted_at*. A temporary
    chat does not stay in the trash, since it is promised to be forgotten.

    :raises Conversation.DoesNotExist: it is deleted already.
    :raises WorkspaceError: the history could not be changed; nothing was deleted.
    """
    if memory == ADD and chat.feeds_history:
        _add(chat)
    with contextlib.ExitStack() as held:
        if memory == TAKE:
            # Lock the workspace before the database, as everywhere, so that nobody waits for both.
            root = paths.real_root(chat.workspace.root)
            held.enter_context(transactions.lock_workspace(root, timeout=_LOCK_SECONDS))
        held.enter_context(transaction.atomic())
        row = chat.locked()
        asked = ask_to_end(row)
        if asked.running is not None:
            _end(row, asked.running)
        through = _take(row) if memory == TAKE else _hand_over(row)
        # A consolidation under way can no longer move the pointers.
        Conversation.objects.filter(pk=chat.pk).update(
            deleted_at=deleted_at or timezone.now(),
            is_unread=False,
            consolidator="",
            consolidating_until=None,
            consolidate_after=None,
            summarised_through=through,
        )
    forget_conversation(chat)
    if with_files and row.kind != Conversation.Kind.TEMPORARY:
        move_files_to_trash(row)
    if asked.running is not None:
        publish_end(chat, asked)
    Publisher(chat).conversation_gone()
    if row.kind == Conversation.Kind.TEMPORARY:
        delete_for_good(Conversation.all_objects.filter(pk=row.pk))


def delete_conversations(
    rows: Iterable[Conversation],
    memory: str = KEEP,
    *,
    deleted_at: datetime | None = None,
    with_files: bool = False,
) -> Deleted:
    """Delete several together, until one cannot be deleted."""
    deleted_at = deleted_at or timezone.now()
    done: list[Conversation] = []
    for chat in rows:
        try:
            with contextlib.suppress(Conversation.DoesNotExist):
                delete_conversation(chat, memory, deleted_at=deleted_at, with_files=with_files)
                done.append(chat)
        except WorkspaceError as error:
            return Deleted(done, error.message)
    return Deleted(done)


def _end(chat: Conversation, turn: Turn) -> None:
    """End a running turn here: its worker loses the lease, and writes nothing more."""
    chat.waiting().update(turn=turn)
    if not turn.messages.filter(kind=Message.Kind.ANSWER).exists():
        answer_of(turn)
    Turn.objects.filter(pk=turn.pk).update(
        state=Turn.State.STOPPED,
        reason="stopped",
        message="Stopped, since the conversation was deleted.",
        can_retry=True,
        ended_at=Now(),
    )
    for block in turn.blocks.filter(is_open=True):
        close_block(block, result="Not finished: the conversation was deleted.")


def _take(chat: Conversation) -> int:
    """Delete the entries that Dream has not read, under the history's lock.

    Returns up to where the conversation is in the history then. Who brings it back has the rest
    summarised again.
    """
    own, root = str(chat.pk), chat.workspace.root
    taken = {entry.cursor for entry in removal.waiting(root, own)}
    if not taken:
        return chat.summarised_through
    removal.remove(root, own, timeout=_LOCK_SECONDS)
    dream_run_store.drop_digests(chat.workspace, sorted(taken))
    rows = chat.summaries.select_related("message")
    gone = [row for row in rows if taken.intersection(row.cursors)]
    chat.summaries.filter(pk__in=[row.pk for row in gone if taken.issuperset(row.cursors)]).delete()
    chat.messages.filter(remembered__in=taken).update(remembered=None)
    branches = {branch.pk: branch for branch in chat.branches.all()}
    for branch in branches.values():
        path = branch.path(branches)
        noted = [row for row in gone if path.holds(row.message.branch_id or 0, row.message_id)]
        branch.summarised_through = _before(noted, branch.summarised_through)
        branch.save(update_fields=["summarised_through"])
    return _before([row for row in gone if row.message.is_current], chat.summarised_through)


def _before(gone: Iterable[Summary], through: int) -> int:
    return min([through, *(row.first - 1 for row in gone)])


def _hand_over(chat: Conversation) -> int:
    """Let its branches give the history what they share with it and it has not given yet.

    Returns up to where the conversation is in the history then.
    """
    through = chat.summarised_through
    if chat.kind != Conversation.Kind.TEMPORARY:
        through = max(through, hand_over(chat, rows_of(chat, through + 1)))
    return through


def bring_back(rows: QuerySet[Conversation]) -> int:
    """Take these conversations out of the trash as they were; return how many.

    What the history lacks of them is summarised after the idle time, as in any conversation.
    """
    return rows.filter(deleted_at__isnull=False).update(
        deleted_at=None,
        consolidate_after=Now(),
        # Beyond the event that told pages of the deletion.
        event_number=F("event_number") + NUMBERS_GONE + 1,
    )


def delete_for_good(rows: QuerySet[Conversation]) -> int:
    """Delete these conversations of the trash with all that was said in them; return how many."""
    done = 0
    workspaces: set[UUID] = set()
    for key in list(rows.filter(deleted_at__isnull=False).values_list("pk", flat=True)):
        with transaction.atomic():
            # One that is brought back at this moment stays.
            found = rows.select_for_update(of=("self",)).filter(pk=key, deleted_at__isnull=False)
            for chat in found.select_related("workspace"):
                turns = chat.turns.values_list("pk", flat=True)
                origins.drop_changes(chat.workspace, [f"{TURN}{pk}" for pk in turns])
                note_files_of(chat)
                workspaces.add(chat.workspace_id)
                chat.delete()
                done += 1
    if workspaces:
        delete_noted_files(*workspaces)
    return done


def purge() -> int:
    """Delete for good what has been in the trash long enough; return how many."""
    is_over = Q(deleted_at__lt=Now() - retention.TRASH) | Q(kind=Conversation.Kind.TEMPORARY)
    return delete_for_good(Conversation.all_objects.filter(is_over))


def _add(chat: Conversation) -> None:
    with seized(chat) as claim:
        settle_pointers(claim)
        chat.refresh_from_db()
        at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
        query = rows_of(chat, at.summarised_through + 1)
        rows = list(
            query.select_related("turn").prefetch_related("blocks", "attachments").order_by("pk")
        )
        for piece in (context_window.past(rows, at), context_window.unsummarised(rows, at)):
            if piece is not None:
                summarise_slice(claim, chat, piece, at_once=True, lock_seconds=_LOCK_SECONDS)
                chat.refresh_from_db()
