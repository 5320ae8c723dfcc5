"""Finds which conversations of a backup, and which of their messages, exist here."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from jenny.accounts.models import Workspace
from jenny.chat.backup import conversations
from jenny.chat.backup.conversations import ConversationRows
from jenny.chat.models import Conversation, Message


@dataclass(frozen=True)
class ImportMatch:
    """The target of a conversation: *chat*, or a new one with the id *key*.

    *known*: our numbers of its existing messages, by the backup's numbers.
    """

    key: uuid.UUID
    chat: Conversation | None = None
    known: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, workspace: Workspace | None, talk: ConversationRows) -> "ImportMatch":
        theirs: uuid.UUID = talk.conversation["id"]
        if workspace is None:
            return cls(theirs)
        taken = Conversation.all_objects.filter(pk=theirs).first()
        if taken is not None and taken.workspace_id != workspace.pk:
            return cls._at(workspace, uuid.uuid5(workspace.pk, str(theirs)), talk)
        return cls._at(workspace, theirs, talk)

    @classmethod
    def _at(cls, workspace: Workspace, key: uuid.UUID, talk: ConversationRows) -> "ImportMatch":
        chat = Conversation.all_objects.filter(pk=key, workspace=workspace).first()
        if chat is None:
            return cls(key)
        ours = list(chat.messages.order_by("pk").values("pk", "kind", "created_at", "text"))
        here = dict(zip(conversations.identities(ours), (row["pk"] for row in ours), strict=True))
        names = conversations.identities(talk.messages)
        known = {
            row["id"]: here[name]
            for row, name in zip(talk.messages, names, strict=True)
            if name in here
        }
        went_on = len(known) == len(ours) and not talk.branches and chat.branch_id is None
        if went_on or len(known) == len(talk.messages):
            return cls(key, chat, known)
        # It diverged: the backup's version becomes another conversation, under an id that a later
        # import finds again.
        own = uuid.uuid5(key, "".join(names))
        other = Conversation.all_objects.filter(pk=own, workspace=workspace).first()
        if other is None:
            return cls(own)
        pairs = zip(talk.messages, other.messages.order_by("pk"), strict=False)
        return cls(own, other, {theirs["id"]: mine.pk for theirs, mine in pairs})

    def turns(self, talk: ConversationRows) -> dict[int, int]:
        rows = Message.objects.filter(pk__in=list(self.known.values())).values_list("pk", "turn_id")
        of = dict(rows)
        found = {row["turn"]: of.get(self.known.get(row["id"], 0)) for row in talk.messages}
        return {theirs: ours for theirs, ours in found.items() if theirs and ours}


@dataclass(frozen=True)
class Counts:
    new: int = 0
    longer: int = 0
    same: int = 0
    messages: int = 0


def match_conversations(workspace: Workspace | None, found: Iterable[ConversationRows]) -> Counts:
    """Count what ``merge`` would do; every row is checked. ``None``: into a new workspace."""
    new = longer = same = messages = 0
    for talk in found:
        place = ImportMatch.of(workspace, talk)
        messages += len(talk.messages) - len(place.known)
        if place.chat is None:
            new += 1
        elif len(place.known) < len(talk.messages):
            longer += 1
        else:
            same += 1
    return Counts(new, longer, same, messages)
