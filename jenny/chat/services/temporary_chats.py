"""Makes a temporary chat a permanent one, including its beginning."""

from django.db import transaction
from django.db.models.functions import Now

from jenny.broker import enqueue
from jenny.chat.models import Conversation, Message
from jenny.chat.services.publish import Publisher
from jenny.chat.services.shared_messages import last_given_elsewhere

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
