"""Where conversations of a backup go: which of them, and of their messages, are here already."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from jenny.accounts.models import Workspace
from jenny.chat.backup import talks
from jenny.chat.backup.talks import Talk
from jenny.chat.models import Conversation, Message


@dataclass(frozen=True)
class Place:
    """Where a conversation of a backup goes: *chat*, or a new one with the id *key*; *known*: our
    numbers of its messages that are there, by theirs."""

    key: uuid.UUID
    chat: Conversation | None = None
    known: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, workspace: Workspace | None, talk: Talk) -> "Place":
        """Find it."""
        theirs: uuid.UUID = talk.conversation["id"]
        if workspace is None:
            return cls(theirs)
        taken = Conversation.objects.filter(pk=theirs).first()
        if taken is not None and taken.workspace_id != workspace.pk:
            return cls._at(workspace, uuid.uuid5(workspace.pk, str(theirs)), talk)
        return cls._at(workspace, theirs, talk)

    @classmethod
    def _at(cls, workspace: Workspace, key: uuid.UUID, talk: Talk) -> "Place":
        chat = Conversation.objects.filter(pk=key, workspace=workspace).first()
        if chat is None:
            return cls(key)
        ours = list(chat.messages.order_by("pk").values("pk", "kind", "created_at", "text"))
        here = dict(zip(talks.identities(ours), (row["pk"] for row in ours), strict=True))
        names = talks.identities(talk.messages)
        known = {
            row["id"]: here[name]
            for row, name in zip(talk.messages, names, strict=True)
            if name in here
        }
        went_on = len(known) == len(ours) and not talk.branches and chat.branch_id is None
        if went_on or len(known) == len(talk.messages):
            return cls(key, chat, known)
        # It went two ways: theirs comes beside ours, under an id that it has again next time.
        own = uuid.uuid5(key, "".join(names))
        other = Conversation.objects.filter(pk=own, workspace=workspace).first()
        if other is None:
            return cls(own)
        pairs = zip(talk.messages, other.messages.order_by("pk"), strict=False)
        return cls(own, other, {theirs["id"]: mine.pk for theirs, mine in pairs})

    def turns(self, talk: Talk) -> dict[int, int]:
        """Our numbers of its turns, by theirs."""
        rows = Message.objects.filter(pk__in=list(self.known.values())).values_list("pk", "turn_id")
        of = dict(rows)
        found = {row["turn"]: of.get(self.known.get(row["id"], 0)) for row in talk.messages}
        return {theirs: ours for theirs, ours in found.items() if theirs and ours}


@dataclass(frozen=True)
class Counts:
    """What merging would do."""

    new: int = 0
    longer: int = 0
    same: int = 0
    messages: int = 0


def look(workspace: Workspace | None, found: Iterable[Talk]) -> Counts:
    """What ``merge`` would do; every row is looked at. ``None``: into a new workspace."""
    new = longer = same = messages = 0
    for talk in found:
        place = Place.of(workspace, talk)
        messages += len(talk.messages) - len(place.known)
        if place.chat is None:
            new += 1
        elif len(place.known) < len(talk.messages):
            longer += 1
        else:
            same += 1
    return Counts(new, longer, same, messages)
