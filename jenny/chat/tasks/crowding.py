"""What is too big for the model's window though all that may go has gone: named, so that the
person can do something about it.
"""

from jenny.chat import slices
from jenny.chat.meter import meter_of
from jenny.chat.models import Conversation, Message
from jenny.chat.prompt import FixedCost, fixed_cost
from jenny.chat.tasks.pressure import Pressure
from jenny.chat.tasks.prompts import prompt_of
from jenny.chat.tasks.publish import Publisher
from jenny.chat.toolset import tools_of
from jenny.workspace import config as workspace_config


def crowding(chat: Conversation) -> str:
    """The sentence that names it; empty while everything fits."""
    chat.refresh_from_db()
    pressure = Pressure(chat)
    if not pressure.surplus:
        return ""
    over = max(1, pressure.used - pressure.budget)
    fixed = fixed_part(chat, pressure.budget)
    last = _last_exchange(chat)
    room = f"of the {pressure.budget:,} tokens that this model has room for"
    files = [part for part in fixed.parts if part.source]
    if files and fixed.tokens >= last:
        return (
            f"{files[0].source} is too big: about {files[0].tokens:,} {room} go out with every "
            f"message for it. Shorten it by about {min(over, files[0].tokens):,} tokens, or choose "
            "a model that reads more."
        )
    return (
        f"The last exchange is too big: about {last:,} {room}. It is never split. Begin anew with "
        "/new, or choose a model that reads more."
    )


def fixed_part(chat: Conversation, room: int) -> FixedCost:
    """What goes out with every message of the conversation, of *room* tokens."""
    tools = tools_of(chat.kind)
    schemas = [tool.schema for tool in tools]
    names = [tool.name for tool in tools]
    prompt = prompt_of(chat, names, schemas)
    return fixed_cost(prompt, schemas, room=room)


def tell_crowding(chat: Conversation, sentence: str) -> None:
    """Let the page say it, beside the meter; empty: take it away."""
    rows = Conversation.objects.filter(pk=chat.pk).exclude(crowded=sentence)
    # Mostly it says so already, and nothing is to be written.
    if rows.exists() and rows.update(crowded=sentence):
        chat.refresh_from_db()
        gauge = meter_of(chat, workspace_config.load(chat.workspace.root))
        Publisher(chat).meter(gauge.sentence, gauge.percent, sentence)


def _last_exchange(chat: Conversation) -> int:
    """About how many tokens the last turn takes, which always stays."""
    rows = list(
        Message.objects.filter(
            conversation=chat,
            pk__gte=chat.context_from,
            kind__in=("user", "answer"),
            is_current=True,
        )
        .exclude(turn=None)
        .prefetch_related("blocks")
        .order_by("pk")
    )
    weights = slices.weighed(rows)
    begins = [number for number, weight in enumerate(weights) if weight.begins_turn]
    return sum(weight.tokens for weight in weights[begins[-1] if begins else 0 :])
