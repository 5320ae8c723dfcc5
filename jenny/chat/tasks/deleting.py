"""A conversation is deleted, and what the memory has of it goes or stays as the person chose."""

import contextlib
from dataclasses import dataclass

from django.db import transaction

from jenny.chat import slices
from jenny.chat.models import Conversation
from jenny.chat.slices import Pointers
from jenny.chat.tasks.accept import ask_to_end, tell_of_end
from jenny.chat.tasks.claims import seized
from jenny.chat.tasks.consolidation import rows_of
from jenny.chat.tasks.pointers import settle
from jenny.chat.tasks.publish import Publisher
from jenny.chat.tasks.summarising import carry_out
from jenny.workspace import acts, paths
from jenny.workspace.errors import WorkspaceError
from memory.history import cursors, removal
from memory.management import origins
from memory.management.dreaming import book
from memory.provenance.record import TURN

# What may become of the entries: they stay; those that Dream has not read go along; or what is
# not in the history yet is added to it first.
KEEP, TAKE, ADD = "keep", "take", "add"
CHOICES = frozenset({KEEP, TAKE, ADD})
# How long others may hold the history meanwhile.
_LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Holds:
    """What the memory has of a conversation: entries that Dream *read*, those that *wait* for
    it, and messages that are *unheard* of. *problem*: why nobody knows."""

    read: int = 0
    waiting: int = 0
    unheard: int = 0
    problem: str = ""

    @property
    def offers(self) -> bool:
        """Whether there is anything to choose."""
        return bool(self.waiting or self.unheard)


def holds(chat: Conversation) -> Holds:
    """What the memory has of *chat*, for who is about to delete it."""
    if not chat.feeds_history:
        return Holds()
    root = chat.workspace.root
    unheard = rows_of(chat, chat.summarised_through + 1).count()
    try:
        waiting = len(removal.waiting(root, str(chat.pk)))
        read_to = cursors.dream_cursor(root)
    except WorkspaceError as error:
        return Holds(unheard=unheard, problem=error.sentence)
    numbers = chat.summaries.values_list("cursors", flat=True)
    read = sum(cursor <= read_to for row in numbers for cursor in row)
    return Holds(read, waiting, unheard)


def delete(chat: Conversation, memory: str = KEEP) -> None:
    """Delete a conversation with all that was said in it; a turn under way comes to nothing.

    Pages that show it are told to look again, and what its stream held is gone with it. With
    *memory* ``TAKE`` the entries about it that Dream has not read go too, with ``ADD`` what is
    not in the history yet is added before, word for word.

    :raises WorkspaceError: the history could not be changed; nothing was deleted.
    """
    if memory == ADD and chat.feeds_history:
        _add(chat)
    with contextlib.ExitStack() as held:
        if memory == TAKE:
            # Before the database's, as everybody takes it: nobody is to wait for both.
            root = paths.real_root(chat.workspace.root)
            held.enter_context(acts.locked(root, timeout=_LOCK_SECONDS))
        held.enter_context(transaction.atomic())
        asked = ask_to_end(chat.locked())
        turns = chat.turns.values_list("pk", flat=True)
        origins.drop_changes(chat.workspace, [f"{TURN}{pk}" for pk in turns])
        Conversation.objects.filter(pk=chat.pk).delete()
        if memory == TAKE:
            # Before the rows are gone for good: all of it, or nothing.
            own = str(chat.pk)
            cursors_ = [entry.cursor for entry in removal.waiting(root, own)]
            removal.remove(root, own, timeout=_LOCK_SECONDS)
            book.drop_digests(chat.workspace, cursors_)
    if asked.running is not None:
        tell_of_end(chat, asked)
    Publisher(chat).conversation_gone()


def _add(chat: Conversation) -> None:
    """What the history does not have of the conversation yet, as it was said."""
    with seized(chat) as claim:
        settle(claim)
        chat.refresh_from_db()
        at = Pointers(chat.summarised_through, chat.context_from, chat.session_from)
        query = rows_of(chat, at.summarised_through + 1)
        rows = list(query.select_related("turn").prefetch_related("blocks").order_by("pk"))
        for piece in (slices.past(rows, at), slices.unheard(rows, at)):
            if piece is not None:
                carry_out(claim, chat, piece, at_once=True, lock_seconds=_LOCK_SECONDS)
                chat.refresh_from_db()
