"""All calls to models were paused, or a day's limit was reached, and they are resumed: what waited
in conversations goes on."""

from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.db.models import Count, Q

from jenny.accounts.management import gate
from jenny.accounts.models import Workspace
from jenny.agent.errors import WAITS
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.tasks.accept import first_words
from jenny.chat.tasks.publish import Publisher, hand_over
from jenny.chat.tasks.titles import make_title
from jenny.chat.tasks.turns import queue_turn

# Why a turn waits (its row's reason).
_REASONS = tuple(WAITS)
# The newest conversations may lack a title that was not made because of the pause.
_LOOKED_AT = 20
# Workspaces that one look goes through; the others are there for the next one.
_SWEPT = 100


@shared_task(name="chat.resume")
def sweep() -> None:
    """Go on where the cause of waiting went by itself: the day of a limit is over, or the settings
    were put back from elsewhere. Without anything that waits it is one indexed query."""
    waiting = Turn.objects.filter(
        reason__in=_REASONS, can_retry=True, retried=False, conversation__workspace__deleted_at=None
    )
    rows = Workspace.objects.filter(pk__in=waiting.values("conversation__workspace"))
    for workspace in list(rows.select_related("owner")[:_SWEPT]):
        if not gate.why_calls_wait(workspace):
            _go_on(workspace)


def resume(workspace: Workspace) -> int:
    """Answer, as new turns, what was said and not answered; how many conversations go on."""
    for pk in _without_title(workspace):
        hand_over(make_title, str(pk))
    return _go_on(workspace)


def _go_on(workspace: Workspace) -> int:
    waiting = Turn.objects.filter(
        conversation__workspace=workspace, reason__in=_REASONS, can_retry=True, retried=False
    )
    chats = Conversation.objects.filter(pk__in=waiting.values("conversation"))
    return sum(_goes_on(chat) for chat in chats.select_related("workspace__owner"))


def _without_title(workspace: Workspace) -> list[UUID]:
    """Conversations whose first answer came just before the pause: their titles are still the first
    words. A title that is made twice is the same title."""
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
    """One new turn for everything in the conversation that waits. ``False``: one is under way."""
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
