"""Conversations, their messages, turns and blocks."""

from jenny.chat.models.attachments import Attachment, FileToDelete
from jenny.chat.models.consolidation import Summary
from jenny.chat.models.conversations import (
    Branch,
    Conversation,
    Path,
    ProjectState,
    Tag,
    look_again,
)
from jenny.chat.models.messages import Block, Draft, Message
from jenny.chat.models.turns import ConsentRequest, Turn

__all__ = [
    "Attachment",
    "Block",
    "Branch",
    "ConsentRequest",
    "Conversation",
    "Draft",
    "FileToDelete",
    "Message",
    "Path",
    "ProjectState",
    "Summary",
    "Tag",
    "Turn",
    "look_again",
]
