"""Other versions of what was said: an edit, a new answer, and the way back to an earlier one.

Nothing is taken away: what stood behind stays in its own version, with its own pointers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from jenny.chat.meter import meter_of
from jenny.chat.models import Branch, Conversation, Message, Path, Turn
from jenny.chat.tasks.accept import SESSION_BEGINS, Refused, check_text
from jenny.chat.tasks.publish import Publisher
from jenny.chat.tasks.turns import queue_turn
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from memory.history import cursors, removal

_BUSY = "An answer is being written. Stop it first, or wait until it is there."
_ELSEWHERE = "That message stands in another version of the conversation by now. Nothing was done."
_SAID = (Message.Kind.USER, Message.Kind.ANSWER)


@dataclass(frozen=True, slots=True)
class _At:
    """The pointers of a version."""

    summarised_through: int
    context_from: int
    session_from: int
    tokens_gone: int = 0


def edit(
    chat: Conversation,
    message_id: int,
    text: str,
    *,
    start: Callable[[int], object] = queue_turn,
) -> Turn:
    """Say a message anew, in other words; what came after it stays in its own version.

    :raises Refused: there is nothing to say, an answer is being written, or the message is not
        in the thread (sent twice, it is not any more).
    """
    text = check_text(text)
    with transaction.atomic():
        row = _resting(chat)
        first = row.messages.filter(pk=message_id, kind=Message.Kind.USER, is_current=True).first()
        if first is None:
            raise Refused(_ELSEWHERE)
        turn = _said_anew(row, [first], [text])
    return _begun(chat, turn, start)


def again(chat: Conversation, turn_id: int, *, start: Callable[[int], object] = queue_turn) -> Turn:
    """Have a turn's messages answered anew; the answer that is there stays in its own version.

    :raises Refused: an answer is being written, or that turn is not in the thread.
    """
    with transaction.atomic():
        row = _resting(chat)
        rows = row.messages.filter(turn=turn_id, kind=Message.Kind.USER, is_current=True)
        asked = list(rows.order_by("pk"))
        if not asked:
            raise Refused(_ELSEWHERE)
        turn = _said_anew(row, asked, [message.text for message in asked])
    return _begun(chat, turn, start)


def show(chat: Conversation, message_id: int, step: int) -> None:
    """Show the version before (-1) or behind (1) that of a message in the thread; nothing when
    there is none.

    :raises Refused: an answer is being written, or the message is not in the thread.
    """
    with transaction.atomic():
        row = _resting(chat)
        here = row.messages.filter(pk=message_id, is_current=True).first()
        if here is None or here.branch is None:
            raise Refused(_ELSEWHERE)
        branches = {branch.pk: branch for branch in row.branches.all()}
        parent, forks_at = _place(here)
        wanted = row.messages.filter(
            Q(pk=forks_at) | Q(pk__in=_firsts(branches.values(), parent, forks_at)),
            version=here.version + step,
        ).first()
        if wanted is None or wanted.branch_id is None:
            return
        paths = {pk: branch.path(branches) for pk, branch in branches.items()}
        holding = [pk for pk in branches if paths[pk].holds(wanted.branch_id, wanted.pk)]
        # The one that was shown last, of those in which it stands.
        target = max(holding, key=lambda pk: (str(branches[pk].left_at or ""), pk))
        _leave(row)
        left = paths[row.branch_id or target]
        row.messages.filter(is_current=True).update(is_current=False)
        row.messages.filter(paths[target].condition).update(is_current=True)
        _enter(row, branches[target], _returned(row, branches[target], left))
    _tell(chat)


def _resting(chat: Conversation) -> Conversation:
    """Inside a transaction: the conversation, held, in which nothing is under way.

    :raises Refused: something is.
    """
    row = chat.locked()
    if row.turns.filter(state__in=Turn.LIVE).exists() or row.waiting().exists():
        raise Refused(_BUSY)
    return row


def _said_anew(chat: Conversation, rows: Sequence[Message], texts: Sequence[str]) -> Turn:
    """Inside the transaction: a branch at the first of *rows*, in which *texts* are said."""
    first = rows[0]
    if chat.branch is None:
        # Until now there was one version only.
        chat.branch = Branch.objects.create(conversation=chat)
        chat.messages.update(branch=chat.branch)
        first.branch = chat.branch
    at = _forked(chat, first)
    parent, forks_at = _place(first)
    siblings = _firsts(chat.branches.all(), parent, forks_at)
    versions = len(siblings) + 2
    _leave(chat)
    chat.messages.filter(is_current=True, pk__gte=first.pk).update(is_current=False)
    chat.messages.filter(Q(pk=forks_at) | Q(pk__in=siblings)).update(versions=versions)
    branch = Branch.objects.create(conversation=chat, parent_id=parent, forks_at=forks_at)
    _enter(chat, branch, at)
    for number, text in enumerate(texts):
        message = Message.objects.create(
            conversation=chat,
            kind=Message.Kind.USER,
            text=text,
            event_number=chat.next_event_number(),
            branch=branch,
            version=1 if number else versions,
            versions=1 if number else versions,
        )
        if not number:
            Branch.objects.filter(pk=branch.pk).update(first=message.pk)
    Conversation.objects.filter(pk=chat.pk).update(active_at=Now())
    return Turn.objects.create(conversation=chat)


def _place(message: Message) -> tuple[int, int]:
    """Where a message's versions branch off: the branch, and the first version's id."""
    branch = message.branch
    if branch is None:
        raise Refused(_ELSEWHERE)
    if branch.parent_id is not None and branch.first == message.pk:
        return branch.parent_id, branch.forks_at
    return branch.pk, message.pk


def _firsts(branches: Iterable[Branch], parent: int, forks_at: int) -> list[int]:
    """The first messages of the branches that begin at that place."""
    return [
        branch.first
        for branch in branches
        if (branch.parent_id, branch.forks_at) == (parent, forks_at)
    ]


def _forked(chat: Conversation, first: Message) -> _At:
    """The pointers of a version that begins at *first*: those that held there.

    An entry about messages on both sides, which Dream has not read, will be passed over; so its
    messages before the fork are for the history once more.
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
    """The pointers of a version that is shown again, where *left* was. What Dream passed over
    while it was not is for the history once more."""
    through = branch.summarised_through
    try:
        read_to = cursors.dream_cursor(chat.workspace.root)
    except WorkspaceError:
        read_to = branch.read_to
    rows = chat.summaries.filter(message__is_current=True).select_related("message")
    for row in rows:
        shared = left.holds(row.message.branch_id or 0, row.message_id)
        if not shared and any(branch.read_to < cursor <= read_to for cursor in row.cursors):
            through = min(through, row.first - 1)
    return _At(through, branch.context_from, branch.session_from, branch.tokens_gone)


def _leave(chat: Conversation) -> None:
    """Keep the pointers of the version that is shown, for when it is shown again."""
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
    """Let *branch* be the version that is shown, with these pointers."""
    Conversation.objects.filter(pk=chat.pk).update(
        branch=branch,
        summarised_through=at.summarised_through,
        context_from=at.context_from,
        session_from=at.session_from,
        tokens_gone=at.tokens_gone,
        appending_from=0,
        appending_through=0,
        crowded="",
        event_number=F("event_number") + 1,
    )
    chat.refresh_from_db()
    chat.rests(chat.workspace.root)


def _waiting(chat: Conversation) -> list[tuple[int, int]]:
    """What the entries that Dream has not read are about: first and last message of each."""
    try:
        found = removal.waiting(chat.workspace.root, str(chat.pk))
    except WorkspaceError:
        return []
    return [entry.messages for entry in found if entry.messages]


def _begun(chat: Conversation, turn: Turn, start: Callable[[int], object]) -> Turn:
    """After the transaction: tell the pages, and let the turn run."""
    _tell(chat)
    Publisher(chat).turn_state()
    start(turn.pk)
    return turn


def _tell(chat: Conversation) -> None:
    """Let every page that shows the conversation render it anew."""
    chat.refresh_from_db()
    publisher = Publisher(chat)
    publisher.changed()
    gauge = meter_of(chat, workspace_config.load(chat.workspace.root))
    publisher.meter(gauge.sentence, gauge.percent, "")
