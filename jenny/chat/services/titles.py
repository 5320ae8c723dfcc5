"""Has the model make a conversation's title after the first exchange."""

import logging
from dataclasses import replace

from jenny.accounts.access import model_for
from jenny.agent import messages
from jenny.agent.answers import first_line
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import AgentError, Cancelled
from jenny.agent.limits import Limits
from jenny.agent.provider import Provider
from jenny.agent.reply import StepEnd, TextDelta
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.prompt import title_prompt
from jenny.chat.services.publish import Publisher
from jenny.db_connections import release_db_connection
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

# Characters of each side of the exchange that the model sees.
EXCERPT = 2000
LONGEST = 60
# Models that think aloud do so before the title.
LIMITS = Limits(max_steps=1, max_output_tokens=1_024, seconds=60, retries=0)


def make_title(conversation_id: str) -> None:
    """Replace the first words by a title of the model. On any failure they stay."""
    chat = (
        Conversation.objects.select_related("workspace__owner")
        .filter(pk=conversation_id, titled_by_hand=False)
        .first()
    )
    if chat is None:
        return
    exchange = _exchange(chat)
    if not exchange:
        return
    try:
        endpoint, preset = model_for(chat.workspace, chat.preset, kind="title")
        release_db_connection()
        # Thinking would use up the few tokens that a title may take.
        title = _ask(Provider(endpoint, replace(preset, thinking="off")), exchange)
    except (AgentError, Cancelled, WorkspaceError) as error:
        log.info("title.none", extra={"cause": type(error).__name__})
        return
    if title and Conversation.objects.filter(pk=chat.pk, titled_by_hand=False).update(title=title):
        chat.title = title
        Publisher(chat).conversation_title()


def _exchange(chat: Conversation) -> str:
    lines = []
    rows = chat.messages.filter(kind__in=("user", "answer")).exclude(turn__reason=Turn.REFUSED)
    for row in rows.order_by("pk")[:2]:
        said = row.text or "\n".join(b.text for b in row.blocks.filter(kind="text"))
        speaker = "User" if row.kind == Message.Kind.USER else "Jenny"
        lines.append(f"{speaker}: {said[:EXCERPT]}")
    return "\n\n".join(lines)


def _ask(provider: Provider, exchange: str) -> str:
    """Return the model's title on one line; empty when it gave none."""
    watch = CancellationToken()
    said = ""
    for event in provider.stream(
        system=title_prompt().wire(),
        messages=[messages.text_message("user", exchange)],
        tools=[],
        watch=watch,
        limits=LIMITS,
    ):
        if isinstance(event, TextDelta):
            said += event.text
        elif isinstance(event, StepEnd) and event.stop_reason != "end_turn":
            return ""
    return first_line(said, LONGEST)
