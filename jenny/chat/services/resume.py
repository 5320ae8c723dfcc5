"""Resumes waiting conversations after a pause of all model calls or a daily limit ends."""

from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q

from jenny.accounts.models import Workspace
from jenny.accounts.services import usage
from jenny.agent.errors import WAITS
from jenny.broker import enqueue
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services.publish import Publisher
from jenny.chat.services.send_message import first_words
from jenny.chat.services.turns import queue_turn

# Reasons of waiting turns, as their rows have them.
_REASONS = tuple(WAITS)
# The newest conversations may lack a title because of the pause.
_LOOKED_AT = 20
# Workspaces of one sweep; the others wait for the next one.
_SWEPT = 100


def resume_where_possible() -> None:
    """Resume where the cause of waiting has ended by itself.

    This is so when a limit's day is over or the settings were restored. With nothing waiting it is
    one indexed query.
    """
    waiting = Turn.objects.filter(
        reason__in=_REASONS,
        can_retry=True,
        retried=False,
        conversation__deleted_at=None,
        conversation__workspace__deleted_at=None,
    )
    rows = Workspace.objects.filter(pk__in=waiting.values("conversation__workspace"))
    for workspace in list(rows.select_related("owner")[:_SWEPT]):
        if not usage.why_calls_wait(workspace):
            _go_on(workspace)


def resume(workspace: Workspace) -> int:
    """Answer unanswered messages in new turns; return the number of resumed conversations."""
    for pk in _without_title(workspace):
        enqueue("chat.make_title", str(pk))
    return _go_on(workspace)


def _go_on(workspace: Workspace) -> int:
    waiting = Turn.objects.filter(
        conversation__workspace=workspace, reason__in=_REASONS, can_retry=True, retried=False
    )
    chats = Conversation.objects.filter(pk__in=waiting.values("conversation"))
    return sum(_goes_on(chat) for chat in chats.select_related("workspace__owner"))


def _without_title(workspace: Workspace) -> list[UUID]:
    """Return conversations that still have their first words as title after the pause.

    A title made twice does no harm.
    """
    newest = Conversation.objects.filter(workspace=workspace, titled_by_hand=False).annotate(
        done=Count("turns", filter=Q(turns__state=Turn.State.DONE))
    )
    rows = newest.filter(done=1).order_by("-active_at")[:_LOOKED_AT]
    found = []
    for chat in rows:
        first = chat.messages.filter(kind=Message.Kind.USER).order_by("pk").first()
        if first is not None and chat.title == first_words(first.text):
            found.append(chat.pk)
    return found


def _goes_on(chat: Conversation) -> bool:
    """Start one new turn for all waiting messages. ``False``: a turn is live."""
    with transaction.atomic():
        chat.locked()
        if chat.turns.filter(state__in=Turn.LIVE).exists():
            return False
        paused = chat.turns.filter(reason__in=_REASONS, can_retry=True, retried=False)
        ids = list(paused.values_list("pk", flat=True))
        asked = chat.messages.filter(turn__in=ids, kind=Message.Kind.USER, is_current=True)
        if not asked.exists():
            return False
        asked.update(turn=None, step=0)
        chat.turns.filter(pk__in=ids).update(retried=True)
        turn = Turn.objects.create(conversation=chat)
    queue_turn(turn.pk)
    publisher = Publisher(chat)
    answers = Message.objects.filter(turn__in=ids, kind=Message.Kind.ANSWER)
    publisher.tell(*map(publisher.item, answers), publisher.state())
    return True
