"""Creates the message that holds a turn's answer."""

from django.db import transaction

from jenny.chat.models import Message, Turn


def answer_of(turn: Turn) -> Message:
    """Create an empty answer of *turn* as its conversation's newest message."""
    with transaction.atomic():
        return answer_at(turn, turn.conversation.next_event_number())


def answer_at(turn: Turn, number: int) -> Message:
    """As ``answer_of``, inside the transaction that took the event number *number*."""
    turn.conversation.bump()
    return Message.insert(
        conversation=turn.conversation,
        kind=Message.Kind.ANSWER,
        turn=turn,
        branch_id=turn.conversation.branch_id,
        event_number=number,
    )
