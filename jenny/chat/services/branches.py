"""Edits a message, regenerates an answer, switches between versions, and branches off.

Nothing is deleted: later messages stay in their own version, with its own pointers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from jenny.chat.backup import ConversationRows
from jenny.chat.models import Branch, Conversation, Message, Path, Turn
from jenny.chat.services.attachments import copy_to
from jenny.chat.services.consolidation import rows_of
from jenny.chat.services.context_window import meter_of
from jenny.chat.services.conversation_backup import copy, talk_of
from jenny.chat.services.publish import Publisher
from jenny.chat.services.send_message import SESSION_BEGINS, MessageRefused, check_text
from jenny.chat.services.shared_messages import hand_over, own_cursors
from jenny.chat.services.turns import queue_turn
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from memory.history import cursors, removal

_BUSY = "An answer is being written. Stop it first, or wait until it is there."
_ELSEWHERE = "That message stands in another version of the conversation by now. Nothing was done."
_BRANCH_OF = "Branch of "


@dataclass(frozen=True, slots=True)
class _At:
    summarised_through: int
    context_from: int
    session_from: int
    tokens_gone: int = 0


def edit_message(
    chat: Conversation,
    message_id: int,
    text: str,
    *,
    start: Callable[[int], object] = queue_turn,
) -> Turn:
    """Replace a message by *text* in a new version; what came after it stays in the old one.

    :raises Refused: *text* is blank, an answer is being written, or the message is not in the
    thread (a form sent twice finds it gone).
    """
    with transaction.atomic():
        row = _resting(chat)
        first = row.messages.filter(pk=message_id, kind=Message.Kind.USER, is_current=True).first()
        if first is None:
            raise MessageRefused(_ELSEWHERE)
        text = check_text(text, has_files=first.attachments.exists())
        turn = _said_anew(row, [first], [text])
    return _begun(chat, turn, start)


def regenerate_answer(
    chat: Conversation, turn_id: int, *, start: Callable[[int], object] = queue_turn
) -> Turn:
    """Have a turn's messages answered again; the present answer stays in its own version.

    :raises Refused: an answer is being written, or that turn is not in the thread.
    """
    with transaction.atomic():
        row = _resting(chat)
        rows = row.messages.filter(turn=turn_id, kind=Message.Kind.USER, is_current=True)
        asked = list(rows.order_by("pk"))
        if not asked:
            raise MessageRefused(_ELSEWHERE)
        turn = _said_anew(row, asked, [message.text for message in asked])
    return _begun(chat, turn, start)


def show_version(chat: Conversation, message_id: int, step: int) -> None:
    """Show the previous (-1) or next (1) version of a message; do nothing when there is none.

    :raises MessageRefused: an answer is being written, or the message is not in the thread.
    """
    with transaction.atomic():
        row = _resting(chat)
        here = row.messages.filter(pk=message_id, is_current=True).first()
        if here is None or here.branch is None:
            raise MessageRefused(_ELSEWHERE)
        branches = {branch.pk: branch for branch in row.branches.all()}
        parent, forks_at = _branch_point(here)
        wanted = row.messages.filter(
            Q(pk=forks_at) | Q(pk__in=_firsts(branches.values(), parent, forks_at)),
            version=here.version + step,
        ).first()
        if wanted is None:
            return
        _show(row, wanted)
    _tell(chat)


def show_message(chat: Conversation, message_id: int) -> None:
    """Show the version in which a message stands.

    :raises MessageRefused: an answer is being written, or there is no such message.
    """
    with transaction.atomic():
        row = _resting(chat)
        wanted = row.messages.filter(pk=message_id).first()
        if wanted is None:
            raise MessageRefused(_ELSEWHERE)
        if wanted.is_current:
            return
        _show(row, wanted)
    _tell(chat)


def _show(row: Conversation, wanted: Message) -> None:
    branches = {branch.pk: branch for branch in row.branches.all()}
    paths = {pk: branch.path(branches) for pk, branch in branches.items()}
    holding = [pk for pk in branches if paths[pk].holds(wanted.branch_id or 0, wanted.pk)]
    # The branch with this version that was shown last.
    target = max(holding, key=lambda pk: (str(branches[pk].left_at or ""), pk))
    _hand_over(row, rows_of(row, 0).exclude(paths[target].condition))
    _leave(row)
    left = paths[row.branch_id or target]
    row.messages.filter(is_current=True).update(is_current=False)
    row.messages.filter(paths[target].condition).update(is_current=True)
    _enter(row, branches[target], _returned(row, branches[target], left))


def branch_off(chat: Conversation, message_id: int) -> Conversation:
    """Begin a new conversation with a copy of the thread up to a message.

    The model goes on from there with what it saw then. The memory gets what was said before once:
    from the conversation where it was said.

    :raises MessageRefused: the message is not in the thread, or is being written.
    """
    rows = chat.messages.filter(pk=message_id, is_current=True).select_related("turn")
    last = rows.first()
    if last is None:
        raise MessageRefused(_ELSEWHERE)
    if last.turn is None and last.kind == Message.Kind.USER:
        raise MessageRefused(_BUSY)
    if last.turn is not None and last.turn.is_live:
        raise MessageRefused(_BUSY)
    at = _forked(chat, last)
    talk = talk_of(chat)
    messages = [
        row | {"branch": None, "version": 1, "versions": 1, "remembered": None}
        for row in talk.messages
        if row["is_current"] and row["id"] <= message_id
    ]
    kept = {row["id"] for row in messages}
    turns = {row["turn"] for row in messages}
    through = at.summarised_through if chat.kind == Conversation.Kind.TEMPORARY else message_id
    new = copy(
        chat.workspace,
        ConversationRows(
            talk.conversation
            | {
                "id": uuid4(),
                "title": _branch_title(chat.title),
                "titled_by_hand": True,
                "created_at": timezone.now(),
                "active_at": timezone.now(),
                "branch": None,
                "is_pinned": False,
                "is_archived": False,
                "overflow_note": "",
                "summarised_through": through,
                "context_from": at.context_from,
                "session_from": at.session_from,
                "tokens_gone": 0,
            },
            # What waits is answered where it was asked, and only there.
            turns=[row | {"can_retry": False} for row in talk.turns if row["id"] in turns],
            messages=messages,
            blocks=[row for row in talk.blocks if row["message"] in kept],
            summaries=[row for row in talk.summaries if row["message"] in kept],
        ),
    )
    Conversation.objects.filter(pk=new.pk).update(source=chat, source_message=message_id)
    new.refresh_from_db()
    return new


def _branch_title(title: str) -> str:
    """Name what it was branched from; a branch of a branch is named as one."""
    return f"{_BRANCH_OF}{title.removeprefix(_BRANCH_OF) or 'a conversation'}"[:120]


def _resting(chat: Conversation) -> Conversation:
    """Lock the conversation inside a transaction and require that no turn is live.

    :raises Refused: one is.
    """
    row = chat.locked()
    if row.turns.filter(state__in=Turn.LIVE).exists() or row.waiting().exists():
        raise MessageRefused(_BUSY)
    return row


def _said_anew(chat: Conversation, rows: Sequence[Message], texts: Sequence[str]) -> Turn:
    """Create a branch at the first of *rows* with *texts*, inside the transaction."""
    first = rows[0]
    if chat.branch is None:
        # Until now there was one version only.
        chat.branch = Branch.objects.create(conversation=chat)
        chat.messages.update(branch=chat.branch)
        first.branch = chat.branch
    at = _forked(chat, first)
    parent, forks_at = _branch_point(first)
    siblings = _firsts(chat.branches.all(), parent, forks_at)
    versions = len(siblings) + 2
    _hand_over(chat, rows_of(chat, first.pk))
    _leave(chat)
    chat.messages.filter(is_current=True, pk__gte=first.pk).update(is_current=False)
    chat.messages.filter(Q(pk=forks_at) | Q(pk__in=siblings)).update(versions=versions)
    branch = Branch.objects.create(conversation=chat, parent_id=parent, forks_at=forks_at)
    _enter(chat, branch, at)
    for number, (source, text) in enumerate(zip(rows, texts, strict=True)):
        message = Message.objects.create(
            conversation=chat,
            kind=Message.Kind.USER,
            text=text,
            event_number=chat.next_event_number(),
            branch=branch,
            version=1 if number else versions,
            versions=1 if number else versions,
        )
        copy_to(message, source)
        if not number:
            Branch.objects.filter(pk=branch.pk).update(first=message.pk)
    Conversation.objects.filter(pk=chat.pk).update(active_at=Now())
    return Turn.objects.create(conversation=chat)


def _branch_point(message: Message) -> tuple[int, int]:
    """Return where a message's versions branch off: the branch, and the first version's id."""
    branch = message.branch
    if branch is None:
        raise MessageRefused(_ELSEWHERE)
    if branch.parent_id is not None and branch.first == message.pk:
        return branch.parent_id, branch.forks_at
    return branch.pk, message.pk


def _firsts(branches: Iterable[Branch], parent: int, forks_at: int) -> list[int]:
    """Return the first messages of the branches that begin there."""
    return [
        branch.first
        for branch in branches
        if (branch.parent_id, branch.forks_at) == (parent, forks_at)
    ]


def _forked(chat: Conversation, first: Message) -> _At:
    """Return the pointers of a version that begins at *first*: those that held there.

    Dream will pass over an unread entry about messages on both sides of the fork, so the entry's
    messages before the fork are summarised again.
    """
    turn = first.turn
    begins = chat.messages.filter(
        kind=Message.Kind.DIVIDER, text=SESSION_BEGINS, is_current=True, pk__lt=first.pk
    )
    session = begins.order_by("-pk").values_list("pk", flat=True).first() or 0
    through = min(chat.summarised_through, first.pk - 1)
    if chat.summarised_through >= first.pk:
        away = set(
            chat.messages.filter(is_current=True, pk__gte=first.pk).values_list("pk", flat=True)
        )
        across = [start for start, end in _waiting(chat) if start < first.pk and end in away]
        own = chat.summaries.filter(first__lt=first.pk, message__in=away).exclude(text="")
        across += own.values_list("first", flat=True)
        through = min([through, *(start - 1 for start in across)])
    context = min(turn.context_from if turn else chat.context_from, first.pk)
    return _At(through, max(context, session), session)


def _returned(chat: Conversation, branch: Branch, left: Path) -> _At:
    """Return the pointers of a version that is shown again; *left* was shown until now.

    What Dream passed over while the version was hidden is summarised again.
    """
    own = own_cursors(chat)
    through = branch.summarised_through
    try:
        read_to = cursors.dream_cursor(chat.workspace.root)
    except WorkspaceError:
        read_to = branch.read_to
    rows = chat.summaries.filter(message__is_current=True).select_related("message")
    for row in rows:
        shared = left.holds(row.message.branch_id or 0, row.message_id)
        numbers = own.intersection(row.cursors)
        if not shared and any(branch.read_to < cursor <= read_to for cursor in numbers):
            through = min(through, row.first - 1)
    return _At(through, branch.context_from, branch.session_from, branch.tokens_gone)


def _hand_over(chat: Conversation, hidden: QuerySet[Message]) -> None:
    """Let other conversations give the history what they share of the messages to be hidden."""
    if chat.kind == Conversation.Kind.TEMPORARY:
        return
    unsummarised = chat.summarised_through + 1
    last = hand_over(chat, hidden.filter(pk__gte=unsummarised))
    between = rows_of(chat, unsummarised).filter(pk__lte=last).exclude(pk__in=hidden.values("pk"))
    if last and not between.exists():
        chat.summarised_through = last


def _leave(chat: Conversation) -> None:
    """Store the pointers of the version that is shown until now."""
    try:
        read_to = cursors.dream_cursor(chat.workspace.root)
    except WorkspaceError:
        read_to = 0
    Branch.objects.filter(pk=chat.branch_id or 0).update(
        summarised_through=chat.summarised_through,
        context_from=chat.context_from,
        session_from=chat.session_from,
        tokens_gone=chat.tokens_gone,
        read_to=read_to,
        left_at=Now(),
    )


def _enter(chat: Conversation, branch: Branch, at: _At) -> None:
    """Show the version *branch* with these pointers."""
    Conversation.objects.filter(pk=chat.pk).update(
        branch=branch,
        summarised_through=at.summarised_through,
        context_from=at.context_from,
        session_from=at.session_from,
        tokens_gone=at.tokens_gone,
        appending_from=0,
        appending_through=0,
        overflow_note="",
        event_number=F("event_number") + 1,
    )
    chat.refresh_from_db()
    chat.rests(chat.workspace.root)


def _waiting(chat: Conversation) -> list[tuple[int, int]]:
    """Return the first and last message of each entry that Dream has not read."""
    try:
        found = removal.waiting(chat.workspace.root, str(chat.pk))
    except WorkspaceError:
        return []
    return [entry.messages for entry in found if entry.messages]


def _begun(chat: Conversation, turn: Turn, start: Callable[[int], object]) -> Turn:
    """Publish and start the turn, after the transaction."""
    _tell(chat)
    Publisher(chat).turn_state()
    start(turn.pk)
    return turn


def _tell(chat: Conversation) -> None:
    """Make every page that shows the conversation render it anew."""
    chat.refresh_from_db()
    publisher = Publisher(chat)
    publisher.changed()
    gauge = meter_of(chat, workspace_config.load_config(chat.workspace.root))
    publisher.meter(gauge.message, gauge.percent, "")
