"""Conversations of a backup, merged into a workspace: each once, whatever number it has here.

A conversation is known by its id, a message by what was said, by whom and when. What is there
already stays as it is; a conversation that went on elsewhere goes on here; one that went two ways
comes as a conversation of its own.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from jenny.accounts.models import Workspace
from jenny.chat.backup import talks
from jenny.chat.backup.talks import Numbers, Talk
from jenny.chat.models import Block, Branch, Conversation, Message, Summary, Turn, look_again
from jenny.chat.models.placing import Place
from jenny.markdown.render import render
from jenny.workspace.backup.rows import Row

_AT_ONCE = 500
# So long others wait for the database.
_MESSAGES_AT_ONCE = 2_000
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


def merge(
    workspace: Workspace, found: Iterable[Talk], keep: Callable[[Merged], object] | None = None
) -> Merged:
    """Add what is not there: some conversations in each transaction, at whose end *keep* is called,
    so that what it keeps tells of all that is stored, and of nothing else.

    :raises BackupRefused: a row is none, and everything must be taken back.
    """
    done = Merged()
    for some in _batches(found):
        # Slow, and nobody is to wait for it.
        html = [_html(workspace, talk) for talk in some]
        with transaction.atomic():
            for talk, shown in zip(some, html, strict=True):
                _merge(workspace, talk, shown, done)
            if keep is not None:
                keep(done)
    look_again(workspace)
    return done


def _batches(found: Iterable[Talk]) -> Iterator[list[Talk]]:
    some: list[Talk] = []
    count = 0
    for talk in found:
        some.append(talk)
        count += len(talk.messages)
        if count >= _MESSAGES_AT_ONCE:
            yield some
            some, count = [], 0
    if some:
        yield some


def _html(workspace: Workspace, talk: Talk) -> list[str]:
    """What a page shows of each block: made of its text here, never taken over."""
    place = Place.of(workspace, talk)
    return [
        render(row["text"], prefix=f"i{uuid.uuid4().hex[:12]}-")
        if row["kind"] == Block.Kind.TEXT and row["message"] not in place.known
        else ""
        for row in talk.blocks
    ]


def _merge(workspace: Workspace, talk: Talk, html: list[str], done: Merged) -> None:
    """Add one conversation, or what is missing of it."""
    place = Place.of(workspace, talk)
    theirs = str(talk.conversation["id"])
    if place.chat is None:
        chat = _make(workspace, place.key, talk)
        done.new.append(str(chat.pk))
    else:
        chat = place.chat.locked()
    if place.chat is None or len(place.known) < len(talk.messages):
        added = _add(chat, talk, place, done.turns)
        _blocks(talk, html, added, done.turns)
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


def _add(chat: Conversation, talk: Talk, place: Place, turns_of: dict[int, int]) -> _Added:
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


def _blocks(talk: Talk, html: list[str], added: _Added, turns: dict[int, int]) -> None:
    """The answers' blocks, with what a page shows of each."""
    fresh = set(added.messages)
    rows = [
        _without(row, "message", "turn")
        | {
            "message_id": added.numbers.ours[row["message"]],
            "turn_id": turns[row["turn"]],
            "is_open": False,
            "html": shown,
        }
        for row, shown in zip(talk.blocks, html, strict=True)
        if added.numbers.ours[row["message"]] in fresh
    ]
    _made(Block, rows)


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
