"""Messages that conversations have in common, since one was branched from the other.

The history gets each once: from the conversation that has not summarised it yet and is to do so. A
copied message keeps the time at which it was said, by which it is recognised.
"""

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Least, Now

from jenny.broker import enqueue
from jenny.chat.models import Conversation, Message, Summary
from jenny.chat.services.attachment_files import let_stay
from jenny.chat.services.publish import Publisher
from jenny.workspace.errors import WorkspaceError
from memory.history import reader


def hand_over(chat: Conversation, rows: QuerySet[Message]) -> int:
    """Let a related conversation give the history those of *rows* that it has in common.

    Call it inside the transaction that takes *rows*, which the history lacks, out of *chat*.
    Returns the last one that was handed over, or 0.
    """
    others = [(pairs, one) for one in _related(chat) if (pairs := _in_common(rows, one))]
    if not others:
        return 0
    pairs, other = max(others, key=lambda found: max(found[0]))
    first = min(pairs.values())
    # Who summarises it now lost the claim, since it would move the pointer past them again.
    Conversation.objects.filter(pk=other.pk).update(
        summarised_through=Least("summarised_through", first - 1),
        appending_from=0,
        appending_through=0,
        consolidate_after=Now(),
        consolidator="",
        consolidating_until=None,
    )
    other.branches.update(summarised_through=Least("summarised_through", first - 1))
    return max(pairs)


def last_given_elsewhere(chat: Conversation, rows: QuerySet[Message]) -> int:
    """Return the last of *rows* that a related conversation gives the history, or 0."""
    return max((own for one in _related(chat) for own in _in_common(rows, one)), default=0)


def own_cursors(*chats: Conversation) -> set[int]:
    """Return the numbers of their entries; copied summaries name those of a source as well."""
    rows = Summary.objects.filter(conversation__in=chats).values_list("cursors", flat=True)
    numbers = {cursor for row in rows for cursor in row}
    try:
        found = reader.find_by_cursor(chats[0].workspace.root, numbers)
    except WorkspaceError:
        return numbers
    own = {"", *(str(chat.pk) for chat in chats)}
    return numbers - {key for key, entry in found.items() if entry.conversation not in own}


def _in_common(rows: QuerySet[Message], other: Conversation) -> dict[int, int]:
    """Return the numbers that those of *rows* have in *other* which are shown there, too."""
    # SQLite stores a time that the database gave in another form than one that Django gave.
    shown = other.messages.filter(is_current=True).values_list("created_at", "kind", "pk")
    theirs = {(said_at, kind): key for said_at, kind, key in shown}
    own = rows.values_list("created_at", "kind", "pk")
    return {key: theirs[said_at, kind] for said_at, kind, key in own if (said_at, kind) in theirs}


def _related(chat: Conversation) -> QuerySet[Conversation]:
    """Return its source, its branches and those of its source, unless they are temporary."""
    found = Q(source=chat.pk)
    if chat.source_id is not None:
        found |= Q(pk=chat.source_id) | Q(source=chat.source_id)
    rows = Conversation.objects.filter(found, workspace=chat.workspace_id).exclude(pk=chat.pk)
    return rows.exclude(kind=Conversation.Kind.TEMPORARY)


# Makes a temporary chat a permanent one, including its beginning.


KEPT = "This chat is kept: Jenny remembers what is said in it."


def keep_chat(chat: Conversation) -> bool:
    """Keep a temporary chat and have it summarised. ``False``: it is none.

    It is summarised from its start, or from after what it shares with a branch, or with its source,
    that was kept before.
    """
    with transaction.atomic():
        row = chat.locked()
        if row.kind != Conversation.Kind.TEMPORARY:
            return False
        # A worker that summarises it as temporary loses the claim, since it would pass over what
        # the history must get. The sweep enqueues it, also without a broker or while a turn runs.
        Conversation.objects.filter(pk=row.pk).update(
            kind=Conversation.Kind.PERSONAL,
            summarised_through=last_given_elsewhere(row, row.messages.filter(is_current=True)),
            appending_from=0,
            appending_through=0,
            consolidate_after=Now(),
            consolidator="",
            consolidating_until=None,
        )
        branches = {branch.pk: branch for branch in row.branches.all()}
        for branch in branches.values():
            version = row.messages.filter(branch.path(branches).condition)
            branch.summarised_through = last_given_elsewhere(row, version)
            branch.save(update_fields=["summarised_through"])
        let_stay(row.workspace_id, row.attachments.values_list("path", flat=True))
        divider = Message.objects.create(
            conversation=row,
            kind=Message.Kind.DIVIDER,
            text=KEPT,
            event_number=row.next_event_number(),
            branch_id=row.branch_id,
        )
    Publisher(chat).message(divider)
    enqueue("chat.consolidate", str(chat.pk), "asked")
    return True
