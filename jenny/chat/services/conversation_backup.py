"""Exports conversations as rows of a backup, and merges them into a workspace.

A conversation is matched by its id, a message by text, speaker and time. Existing rows stay as they
are. A conversation with more messages in the backup is continued; one that diverged is added as a
conversation of its own.
"""

import contextlib
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.chat import backup
from jenny.chat.backup import ConversationRows, Numbers
from jenny.chat.models import (
    Attachment,
    Block,
    Branch,
    Conversation,
    Message,
    Summary,
    Turn,
    look_again,
)
from jenny.chat.services import conversation_list, deletion
from jenny.chat.thread import WorkspaceLinks
from jenny.markdown.render import render
from jenny.workspace import names
from jenny.workspace.backup.rows import Row
from jenny.workspace.errors import BackupRefused

# Exports the conversations of a workspace as rows of a backup.


log = logging.getLogger(__name__)

_UNDER_WAY = "It was under way when the backup was made."


def export_rows(workspace: Workspace, left_out: list[str] | None = None) -> Iterator[Row]:
    """Yield every conversation with its messages, versions, turns, answers and summaries.

    Temporary chats, drafts and keys are left out. One conversation is in memory at a time.
    *left_out* gets a sentence for each conversation that no import would accept.
    """
    kept = Conversation.objects.filter(workspace=workspace, kind__in=backup.KINDS)
    for key in list(kept.order_by("created_at", "pk").values_list("pk", flat=True)):
        with contextlib.suppress(Conversation.DoesNotExist):  # deleted meanwhile
            talk = talk_of(kept.get(pk=key))
            try:
                found = list(backup.rows(backup.validated(talk)))
            except (BackupRefused, ValueError) as error:
                log.warning("backup.conversation_left_out", extra={"conversation": str(key)})
                if left_out is not None:
                    title = names.shown(str(talk.conversation["title"] or key))
                    left_out.append(f"The conversation {title} is left out: {error}")
                continue
            yield from found


def talk_of(chat: Conversation) -> ConversationRows:
    """Return a conversation as values, read in one transaction except for text being written.

    :raises Conversation.DoesNotExist: it was deleted.
    """
    with transaction.atomic():
        chat = chat.locked()
        messages = list(Message.objects.filter(conversation=chat).order_by("pk"))
        shown = {row.pk for row in messages}
        return ConversationRows(
            _values(
                chat,
                "conversation",
                type=chat.kind,
                tags=list(chat.tags.order_by("key").values_list("name", flat=True)),
            ),
            _all(Branch.objects.filter(conversation=chat), "branch"),
            [_turn(row) for row in Turn.objects.filter(conversation=chat).order_by("pk")],
            _messages(chat, messages),
            [
                _values(row, "block", data=backup.fit_block_data(row.kind, row.data))
                for row in Block.objects.filter(turn__conversation=chat).order_by("pk")
                if row.message_id in shown
            ],
            _listed(Summary.objects.filter(conversation=chat).order_by("pk"), "summary", shown),
        )


def _all(found: QuerySet[Any], kind: str) -> list[Row]:
    return [_values(row, kind) for row in found.order_by("pk")]


def _listed(found: Iterable[Any], kind: str, shown: set[int]) -> list[Row]:
    """Return the rows about messages that were read; others may arrive meanwhile."""
    return [_values(row, kind) for row in found if row.message_id in shown]


def _messages(chat: Conversation, rows: Iterable[Message]) -> list[Row]:
    """Return the messages' rows with their files, whose content is in the workspace."""
    files: dict[int, list[Row]] = defaultdict(list)
    sent = Attachment.objects.filter(message__conversation=chat)
    for one in sent.values("message", *backup.ATTACHMENT):
        files[one.pop("message")].append(one)
    return [_values(row, "message", attachments=files[row.pk]) for row in rows]


def _turn(row: Turn) -> Row:
    """Return a turn's row; a live turn is exported as interrupted, since it cannot continue
    elsewhere.
    """
    values = _values(row, "turn")
    if row.is_live:
        values |= {"state": "interrupted", "reason": "", "message": _UNDER_WAY}
        values |= {"can_retry": False, "ended_at": timezone.now()}
    return values


def _values(row: Model, kind: str, **other: Any) -> Row:
    names = (name for name in backup.TABLE.kinds[kind] if name not in other)
    found = {name: row.serializable_value(name) for name in names}
    return found | other


# Finds which conversations of a backup, and which of their messages, exist here.


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
        here = dict(zip(backup.identities(ours), (row["pk"] for row in ours), strict=True))
        names = backup.identities(talk.messages)
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


_AT_ONCE = 500
# Rows of one transaction; others wait for the database meanwhile.
_MESSAGES_AT_ONCE = 2_000
_COLUMNS = (
    *("project", "title", "titled_by_hand", "preset", "created_at", "active_at", "overflow_note"),
    *("is_pinned", "is_archived"),
)
_POINTERS = ("summarised_through", "context_from", "session_from", "tokens_gone")


@dataclass
class Merged:
    """The result of a merge, and what is needed to undo it.

    ``new`` and ``longer``: conversations that were added or got messages; ``messages``: how many;
    ``same``: conversations that were unchanged. ``chats``: the id here of each conversation by its
    id in the backup; ``numbers``: our numbers by those of the backup, of messages by conversation
    and of turns. ``from_trash``: when those that the merge took out of the trash were deleted.
    """

    new: list[str] = field(default_factory=list)
    longer: list[Row] = field(default_factory=list)
    messages: int = 0
    same: int = 0
    chats: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)
    from_trash: dict[str, str] = field(default_factory=dict)

    @property
    def undoing(self) -> Row:
        return {"new": self.new, "longer": self.longer, "from_trash": self.from_trash}


def merge(
    workspace: Workspace,
    found: Iterable[ConversationRows],
    keep: Callable[[Merged], object] | None = None,
) -> Merged:
    """Add the missing conversations and messages, some conversations in each transaction.

    *keep* is called at the end of each transaction, so what it stores always matches the stored
    rows.

    :raises BackupRefused: a row is invalid, and everything must be undone.
    """
    done = Merged()
    for some in _batches(found):
        # Rendering is slow, so it happens before the transaction.
        html = [_html(workspace, talk) for talk in some]
        with transaction.atomic():
            for talk, shown in zip(some, html, strict=True):
                _merge(workspace, talk, shown, done)
            if keep is not None:
                keep(done)
    look_again(workspace)
    return done


def copy(workspace: Workspace, talk: ConversationRows) -> Conversation:
    """Store *talk*, whose id no conversation has, as a conversation of its own."""
    html = _html(workspace, talk)
    done = Merged()
    with transaction.atomic():
        _merge(workspace, talk, html, done)
    return Conversation.objects.get(pk=done.new[0])


def _batches(found: Iterable[ConversationRows]) -> Iterator[list[ConversationRows]]:
    some: list[ConversationRows] = []
    count = 0
    for talk in found:
        some.append(talk)
        count += len(talk.messages)
        if count >= _MESSAGES_AT_ONCE:
            yield some
            some, count = [], 0
    if some:
        yield some


def _html(workspace: Workspace, talk: ConversationRows) -> list[str]:
    """Render each block's HTML from its text; a backup's HTML is never used."""
    place = ImportMatch.of(workspace, talk)
    chat = place.chat.pk if place.chat else place.key
    around = WorkspaceLinks(talk.conversation["project"], str(chat))
    return [
        render(row["text"], prefix=f"i{uuid.uuid4().hex[:12]}-", around=around)
        if row["kind"] == Block.Kind.TEXT and row["message"] not in place.known
        else ""
        for row in talk.blocks
    ]


def _merge(workspace: Workspace, talk: ConversationRows, html: list[str], done: Merged) -> None:
    place = ImportMatch.of(workspace, talk)
    theirs = str(talk.conversation["id"])
    if place.chat is None:
        chat = _make(workspace, place.key, talk, done)
        done.new.append(str(chat.pk))
    else:
        if place.chat.deleted_at is not None:
            # A backup brings back what it has, from the trash as well.
            done.from_trash[str(place.chat.pk)] = place.chat.deleted_at.isoformat()
            deletion.bring_back(Conversation.all_objects.filter(pk=place.chat.pk))
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
    """Delete exactly what ``merge`` added, and move back to the trash what it took from there."""
    rows = Conversation.all_objects.filter(workspace=workspace)
    rows.filter(pk__in=undoing.get("new", [])).delete()
    for one in undoing.get("longer", []):
        chat = rows.filter(pk=one["chat"]).first()
        if chat is not None:
            chat.messages.filter(pk__in=one["messages"]).delete()
            chat.turns.filter(pk__in=one["turns"]).delete()
            rows.filter(pk=chat.pk).update(**one["before"])
    for key, moment in undoing.get("from_trash", {}).items():
        deleted_at = datetime.fromisoformat(moment)
        # One in which somebody went on since is in use, and stays.
        since = Message.objects.filter(conversation=OuterRef("pk"), created_at__gt=deleted_at)
        back = Conversation.objects.filter(~Exists(since), workspace=workspace, pk=key)
        deletion.delete_conversations(back, deleted_at=deleted_at)


@dataclass
class _Added:
    messages: list[int]
    turns: list[int]
    numbers: Numbers
    branches: dict[int, int]

    def undoing(self, chat: Conversation) -> Row:
        before = {name: getattr(chat, name) for name in _POINTERS}
        return {
            "chat": str(chat.pk), "messages": self.messages, "turns": self.turns, "before": before,
        }  # fmt: skip


def _make(
    workspace: Workspace, key: uuid.UUID, talk: ConversationRows, done: Merged
) -> Conversation:
    own = talk.conversation
    # What it was branched from is older, and came before it, unless the backup does not have it.
    source = str(own["source"])
    message = own["source_message"]
    chat = Conversation.objects.create(
        pk=key,
        workspace=workspace,
        kind=own["type"],
        source_id=done.chats.get(source),
        source_message=done.numbers[source].through(message) if source in done.chats else message,
        **{name: own[name] for name in _COLUMNS},
    )
    conversation_list.set_tags(chat, own["tags"])
    return chat


def _add(
    chat: Conversation, talk: ConversationRows, place: ImportMatch, turns_of: dict[int, int]
) -> _Added:
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
            _without(row, "id", "branch", "turn", "attachments")
            | {"conversation": chat, "branch_id": branches.get(row["branch"]),
               "turn_id": turns.get(row["turn"])}
            for row in new
        ],
    )  # fmt: skip
    fresh = {row["id"]: one.pk for row, one in zip(new, made, strict=True)}
    numbers = Numbers.of(place.known | fresh)
    _made(
        Attachment,
        [
            one
            | {"workspace": chat.workspace, "conversation": chat, "message_id": fresh[row["id"]]}
            for row in new
            for one in row["attachments"]
        ],
    )
    _summaries(chat, talk, fresh, numbers)
    for row, one in zip(new_turns, made_turns, strict=True):
        one.context_from = numbers.since(row["context_from"])
        one.session_from = numbers.since(row["session_from"])
    Turn.objects.bulk_update(made_turns, ["context_from", "session_from"], batch_size=_AT_ONCE)
    turns_of |= turns
    return _Added(list(fresh.values()), [one.pk for one in made_turns], numbers, branches)


def _branches(chat: Conversation, talk: ConversationRows) -> dict[int, int]:
    """Create the versions; their places are set after the messages exist."""
    made: dict[int, int] = {}
    for row in talk.branches:
        parent = made[row["parent"]] if row["parent"] is not None else None
        one = Branch.objects.create(conversation=chat, parent_id=parent, left_at=row["left_at"])
        made[row["id"]] = one.pk
    return made


def _blocks(talk: ConversationRows, html: list[str], added: _Added, turns: dict[int, int]) -> None:
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


def _summaries(
    chat: Conversation, talk: ConversationRows, fresh: dict[int, int], numbers: Numbers
) -> None:
    rows = [
        _without(row, "message", "first")
        | {"conversation": chat, "message_id": fresh[row["message"]],
           "first": numbers.since(row["first"])}
        for row in talk.summaries
        if row["message"] in fresh
    ]  # fmt: skip
    _made(Summary, rows)


def _point(chat: Conversation, talk: ConversationRows, added: _Added, *, is_new: bool) -> None:
    """Set the pointers of the conversation and its versions to its messages."""
    numbers, own = added.numbers, talk.conversation
    found = backup.pointers(own, numbers)
    if not is_new:
        found["summarised_through"] = max(found["summarised_through"], chat.summarised_through)
        found["active_at"] = max(own["active_at"], chat.active_at)
    found["branch_id"] = added.branches.get(own["branch"]) if is_new else chat.branch_id
    Conversation.objects.filter(pk=chat.pk).update(**found)
    for row in talk.branches:
        Branch.objects.filter(pk=added.branches[row["id"]]).update(
            **backup.pointers(row, numbers),
            forks_at=numbers.since(row["forks_at"]),
            first=numbers.since(row["first"]),
            read_to=row["read_to"],
        )


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _made(model: Any, rows: list[Row]) -> list[Any]:
    """Create the rows and return them with their ascending numbers."""
    made = model.objects.bulk_create([model(**row) for row in rows], batch_size=_AT_ONCE)
    return list(made)
