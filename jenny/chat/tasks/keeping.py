"""A temporary chat is kept: from then on it is one like any other, and its beginning too."""

from django.db import transaction
from django.db.models.functions import Now

from jenny.chat.models import Conversation, Message
from jenny.chat.tasks.consolidation import consolidate
from jenny.chat.tasks.publish import Publisher, hand_over

KEPT = "This chat is kept: Jenny remembers what is said in it."


def keep(chat: Conversation) -> bool:
    """Keep a temporary chat, and have it taken into the history from its start. ``False``: it
    is none."""
    with transaction.atomic():
        row = chat.locked()
        if row.kind != Conversation.Kind.TEMPORARY:
            return False
        # Whoever is summarising it for itself loses the claim: that would pass over what the
        # history is to get. The sweep sees to it without a broker, or when a turn runs.
        Conversation.objects.filter(pk=row.pk).update(
            kind=Conversation.Kind.PERSONAL,
            summarised_through=0,
            appending_from=0,
            appending_through=0,
            consolidate_after=Now(),
            consolidator="",
            consolidating_until=None,
        )
        row.branches.update(summarised_through=0)
        divider = Message.objects.create(
            conversation=row,
            kind=Message.Kind.DIVIDER,
            text=KEPT,
            event_number=row.next_event_number(),
            branch_id=row.branch_id,
        )
    Publisher(chat).message(divider)
    hand_over(consolidate, str(chat.pk), "asked")
    return True
