"""Which messages were edited away, for those who read the history."""

from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import models

from jenny.accounts.models.prepared import Prepared, text_slot
from jenny.chat.models import Branch, Message
from memory.history.edited import NONE, Gone


def messages_gone(root: Path) -> Gone:
    """The messages of the workspace at *root* that stand in no thread any more."""
    folder = settings.JENNY_DATA.workspaces
    if root.parent not in {folder, folder.resolve()}:
        # No workspace of this instance has its folder there.
        return NONE
    return Gone({(str(chat), pk): at for chat, pk, at in _GONE.rows(slug=root.name)})


def _gone() -> models.QuerySet[Message, tuple[UUID, int, datetime]]:
    chats = Branch.objects.filter(conversation__workspace__slug=text_slot("slug")).values(
        "conversation"
    )
    gone = Message.objects.filter(is_current=False, conversation__in=chats)
    return gone.values_list("conversation_id", "pk", "created_at")


# Asked by each turn.
_GONE = Prepared(_gone)
