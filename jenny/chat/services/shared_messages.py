"""Messages that conversations have in common, since one was branched from the other.

The history gets each once: from the conversation that has not summarised it yet and is to do so. A
copied message keeps the time at which it was said, by which it is recognised.
"""

from django.db.models import Q, QuerySet
from django.db.models.functions import Least, Now

from jenny.chat.models import Conversation, Message, Summary
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
