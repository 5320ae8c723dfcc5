"""Which messages were edited away, for those who read the history."""

from pathlib import Path

from django.conf import settings

from jenny.chat.models import Branch, Message
from memory.history.edited import Gone


def messages_gone(root: Path) -> Gone:
    """The messages of the workspace at *root* that stand in no thread any more."""
    folder = settings.JENNY_DATA.workspaces
    if root.parent not in {folder, folder.resolve()}:
        # No workspace of this instance has its folder there.
        return frozenset()
    chats = Branch.objects.filter(conversation__workspace__slug=root.name).values("conversation")
    gone = Message.objects.filter(is_current=False, conversation__in=chats)
    return frozenset((str(chat), pk) for chat, pk in gone.values_list("conversation_id", "pk"))
