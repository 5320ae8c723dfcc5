"""Conversations of a backup, merged into a workspace: each once, whatever number it has here.

A conversation is known by its id, a message by what was said, by whom and when. What is there
already stays as it is; a conversation that went on elsewhere goes on here; one that went two ways
comes as a conversation of its own.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jenny.accounts.models import Workspace
from jenny.chat.backup import talks
from jenny.chat.backup.talks import Numbers, Talk
from jenny.chat.models import Block, Branch, Conversation, Message, Summary, Turn, look_again
from jenny.markdown.render import render
from jenny.workspace.backup.rows import Row

_AT_ONCE = 500
_POINTERS = ("summarised_through", "context_from", "session_from", "tokens_gone")


@dataclass
class Merged:
    """What was done, and what it takes to undo it.

    ``new`` and ``longer``: conversations that came, or got messages; ``messages``: how many of
    these; ``same``: conversations that were there. ``chats``: the id here of each conversation by
    its id there; ``numbers``: ours by theirs, of messages by conversation and of turns.
    """

    new: list[str] = field(default_factory=list)
    longer: list[Row] = field(default_factory=list)
    messages: int = 0
    same: int = 0
    chats: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)

    @property
    def undoing(self) -> Row:
        """What ``undo`` takes, for a JSON column."""
        return {"new": self.new, "longer": self.longer}


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
        place = _Place.of(workspace, talk)
        messages += len(talk.messages) - len(place.known)
        if place.chat is None:
            new += 1
        elif len(place.known) < len(talk.messages):
            longer += 1
        else:
            same += 1
    return Counts(new, longer, same, messages)


def merge(workspace: Workspace, found: Iterable[Talk]) -> Merged:
    """Add what is not there; inside the caller's transaction.

    :raises BackupRefused: a row is none, and everything must be taken back.
    """
    done = Merged()
    for talk in found:
        place = _Place.of(workspace, talk)
        theirs = str(talk.conversation["id"])
        if place.chat is None:
            chat = _make(workspace, place.key, talk)
            done.new.append(str(chat.pk))
        else:
            chat = place.chat.locked()
        if place.chat is None or len(place.known) < len(talk.messages):
            added = _add(chat, talk, place, done.turns)
            done.messages += len(added.messages)
            if place.chat is not None:
                done.longer.append(added.undoing(chat))
            numbers = added.numbers
            _point(chat, talk, added, is_new=place.chat is None)
        else:
            done.same += 1
            numbers = Numbers.of(place.known)
            done.turns |= place.turns(talk)
        done.chats[theirs], done.numbers[theirs] = str(chat.pk), numbers
    look_again(workspace)
    return done


def undo(workspace: Workspace, undoing: Row) -> None:
    """Take back what ``merge`` did: what came goes, and nothing else."""
    rows = Conversation.objects.filter(workspace=workspace)
    rows.filter(pk__in=undoing.get("new", [])).delete()
    for one in undoing.get("longer", []):
        chat = rows.filter(pk=one["chat"]).first()
        if chat is not None:
            chat.messages.filter(pk__in=one["messages"]).delete()
            chat.turns.filter(pk__in=one["turns"]).delete()
            rows.filter(pk=chat.pk).update(**one["before"])


@dataclass(frozen=True)
class _Place:
    """Where a conversation of a backup goes: *chat*, or a new one with the id *key*; *known*: our
    numbers of its messages that are there, by theirs."""

    key: uuid.UUID
    chat: Conversation | None = None
    known: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, workspace: Workspace | None, talk: Talk) -> "_Place":
        """Find it."""
        theirs: uuid.UUID = talk.conversation["id"]
        if workspace is None:
            return cls(theirs)
        taken = Conversation.objects.filter(pk=theirs).first()
        if taken is not None and taken.workspace_id != workspace.pk:
            return cls._at(workspace, uuid.uuid5(workspace.pk, str(theirs)), talk)
        return cls._at(workspace, theirs, talk)

    @classmethod
    def _at(cls, workspace: Workspace, key: uuid.UUID, talk: Talk) -> "_Place":
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


@dataclass
class _Added:
    """The rows that were made for one conversation."""

    messages: list[int]
    turns: list[int]
    numbers: Numbers
    branches: dict[int, int]

    def undoing(self, chat: Conversation) -> Row:
        """What takes them back."""
        before = {name: getattr(chat, name) for name in _POINTERS}
        return {
            "chat": str(chat.pk), "messages": self.messages, "turns": self.turns, "before": before,
        }  # fmt: skip


def _make(workspace: Workspace, key: uuid.UUID, talk: Talk) -> Conversation:
    own = talk.conversation
    names = ("project", "title", "titled_by_hand", "preset", "created_at", "active_at", "crowded")
    return Conversation.objects.create(
        pk=key, workspace=workspace, kind=own["type"], **{name: own[name] for name in names}
    )


def _add(chat: Conversation, talk: Talk, place: _Place, turns_of: dict[int, int]) -> _Added:
    """Add the messages that are not there, with all that belongs to them."""
    branches = _branches(chat, talk)
    known_turns = place.turns(talk)
    new_turns = [row for row in talk.turns if row["id"] not in known_turns]
    turns = dict(known_turns)
    made_turns = _made(Turn, [_without(row, "id") | {"conversation": chat} for row in new_turns])
    turns |= {row["id"]: one.pk for row, one in zip(new_turns, made_turns, strict=True)}
    new = [row for row in talk.messages if row["id"] not in place.known]
    made = _made(
        Message,
        [
            _without(row, "id", "branch", "turn")
            | {"conversation": chat, "branch_id": branches.get(row["branch"]),
               "turn_id": turns.get(row["turn"])}
            for row in new
        ],
    )  # fmt: skip
    fresh = {row["id"]: one.pk for row, one in zip(new, made, strict=True)}
    numbers = Numbers.of(place.known | fresh)
    _blocks(talk, fresh, turns)
    _summaries(chat, talk, fresh, numbers)
    for row, one in zip(new_turns, made_turns, strict=True):
        one.context_from = numbers.since(row["context_from"])
        one.session_from = numbers.since(row["session_from"])
    Turn.objects.bulk_update(made_turns, ["context_from", "session_from"], batch_size=_AT_ONCE)
    turns_of |= turns
    return _Added(list(fresh.values()), [one.pk for one in made_turns], numbers, branches)


def _branches(chat: Conversation, talk: Talk) -> dict[int, int]:
    """The versions; their places are set when the messages are there."""
    made: dict[int, int] = {}
    for row in talk.branches:
        parent = made[row["parent"]] if row["parent"] is not None else None
        one = Branch.objects.create(conversation=chat, parent_id=parent, left_at=row["left_at"])
        made[row["id"]] = one.pk
    return made


def _blocks(talk: Talk, fresh: dict[int, int], turns: dict[int, int]) -> None:
    """The answers' blocks. What a page shows is made of their text here, never taken over."""
    rows = [
        _without(row, "message", "turn")
        | {"message_id": fresh[row["message"]], "turn_id": turns[row["turn"]], "is_open": False}
        for row in talk.blocks
        if row["message"] in fresh
    ]
    made = _made(Block, rows)
    texts = [one for one in made if one.kind == Block.Kind.TEXT]
    for one in texts:
        one.html = render(one.text, prefix=f"b{one.pk}-")
    Block.objects.bulk_update(texts, ["html"], batch_size=_AT_ONCE)


def _summaries(chat: Conversation, talk: Talk, fresh: dict[int, int], numbers: Numbers) -> None:
    rows = [
        _without(row, "message", "first")
        | {"conversation": chat, "message_id": fresh[row["message"]],
           "first": numbers.since(row["first"])}
        for row in talk.summaries
        if row["message"] in fresh
    ]  # fmt: skip
    _made(Summary, rows)


def _point(chat: Conversation, talk: Talk, added: _Added, *, is_new: bool) -> None:
    """Set what the conversation and its versions know of their messages."""
    numbers, own = added.numbers, talk.conversation
    found = talks.pointers(own, numbers)
    if not is_new:
        found["summarised_through"] = max(found["summarised_through"], chat.summarised_through)
        found["active_at"] = max(own["active_at"], chat.active_at)
    found["branch_id"] = added.branches.get(own["branch"]) if is_new else chat.branch_id
    Conversation.objects.filter(pk=chat.pk).update(**found)
    for row in talk.branches:
        Branch.objects.filter(pk=added.branches[row["id"]]).update(
            **talks.pointers(row, numbers),
            forks_at=numbers.since(row["forks_at"]),
            first=numbers.since(row["first"]),
            read_to=row["read_to"],
        )


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _made(model: Any, rows: list[Row]) -> list[Any]:
    """The rows in the database, with their numbers, which count up."""
    made = model.objects.bulk_create([model(**row) for row in rows], batch_size=_AT_ONCE)
    return list(made)
