"""Connects conversations and the memory: changed files, said messages, facts said again."""

import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from jenny.agent.run_kinds import RUN_KINDS
from jenny.chat.models import Block, Branch, Conversation, Message, Turn
from jenny.chat.services.turn_claims import answer_of
from jenny.search.words import QUERY_CHARS, Query, index_words, parse_query
from jenny.workspace import diffs
from jenny.workspace.errors import WorkspaceError
from memory import suppression
from memory.history.entries import HistoryEntry
from memory.message_sources import (
    NO_EDITED_MESSAGES,
    EditedMessages,
    MessageQuery,
    SourceConversation,
    SourceMessage,
)
from memory.models import TurnChange
from memory.provenance import TURN
from memory.services import origins
from memory.undo_turn import Changed

# Shows a turn's changes of memory files on its answer, computed from its writes.


MARK = "memory"


def record_changes(turn: Turn) -> Message | None:
    """Add the note "Memory updated" to the turn's last answer, once, without publishing it.

    ``None``: the turn changed no memory file, or the note exists.
    """
    rows = changes_of(turn)
    if not rows:
        return None
    files = []
    for row in values(rows):
        counts = diffs.counts(row.before, row.after)
        files.append({"path": row.path, "added": counts.added, "removed": counts.removed})
    with transaction.atomic():
        turn.conversation.locked()
        if turn.blocks.filter(kind=Block.Kind.NOTE, data__kind=MARK).exists():
            return None
        answers = turn.messages.filter(kind=Message.Kind.ANSWER).order_by("-pk")
        answer = answers.first() or answer_of(turn)
        url = reverse("chat:changes", args=[turn.conversation_id, turn.pk])
        Block.objects.create(
            turn=turn,
            message=answer,
            step=turn.steps,
            kind=Block.Kind.NOTE,
            is_open=False,
            text="Memory updated: " + ", ".join(row.path for row in rows),
            data={"kind": MARK, "files": files, "url": url},
        )
    return answer


def changes_of(turn: Turn) -> list[TurnChange]:
    return origins.changes_of(turn.conversation.workspace, f"{TURN}{turn.pk}")


def values(rows: list[TurnChange]) -> list[Changed]:
    return [Changed(row.path, _bytes(row.before), _bytes(row.after)) for row in rows]


def mark_undone(turn: Turn, rows: list[TurnChange]) -> Message | None:
    """Record that these changes were undone, in the note when all of them are, and return its
    answer."""
    origins.mark_undone(rows)
    block = turn.blocks.filter(kind=Block.Kind.NOTE, data__kind=MARK).first()
    if block is None:
        return None
    if all(row.undone_at is not None for row in changes_of(turn)):
        block.data["undone"] = True
        block.save(update_fields=["data"])
    return block.message


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


# Gives the memory app the messages of an entry or of a turn.


LISTED = 20
# Messages of a long slice that say what is explained, and those of it that are read.
SAID, _READ = 3, 1_000
_EXCERPT = 200
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_KINDS = (Message.Kind.USER, Message.Kind.ANSWER)


def source_messages(query: MessageQuery) -> SourceConversation | None:
    """Return those messages; ``None``: they, or their conversation, are deleted."""
    folder = settings.JENNY_DATA.workspaces
    if query.root.parent not in {folder, folder.resolve()}:
        # The folder belongs to no workspace of this instance.
        return None
    found = _of_turn(query) if query.run else _of_messages(query)
    if found is None:
        return None
    chat, rows = found
    messages = list(rows.prefetch_related("blocks").order_by("pk")[:_READ])
    texts = [_text(row) for row in messages]
    words = parse_query(query.about[:QUERY_CHARS])
    shown = tuple(
        SourceMessage(
            messages[at].pk,
            messages[at].kind,
            messages[at].created_at,
            _excerpt(texts[at], words),
            _url(messages[at]),
        )
        for at in (_most_about(texts, words) if len(messages) > SAID else range(len(messages)))
    )
    return SourceConversation(str(chat.pk), chat.title, shown, len(messages) - len(shown))


def _most_about(texts: Sequence[str], query: Query) -> Sequence[int]:
    """Return the places of the texts that say most of the query; the first ones when none does."""
    scores = _scores(texts, query)
    best = max(scores, default=0.0)
    if not best:
        return range(min(len(texts), LISTED))
    ranked = sorted(range(len(texts)), key=lambda at: -scores[at])[:SAID]
    return sorted(at for at in ranked if scores[at] > best / 2)


def _scores(texts: Sequence[str], query: Query) -> list[float]:
    """Return how much of the query each text says; a word that few texts have counts more."""
    words = [set(" ".join(index_words([text])).split()) for text in texts]
    found = [[term.weight if term.forms & row else 0.0 for term in query.terms] for row in words]
    having = [sum(map(bool, column)) for column in zip(*found, strict=True)]
    return [
        sum(weight / many for weight, many in zip(row, having, strict=True) if weight)
        for row in found
    ]


def _of_turn(query: MessageQuery) -> "tuple[Conversation, QuerySet[Message]] | None":
    number = query.run.removeprefix(TURN)
    if not query.run.startswith(TURN) or not number.isdecimal():
        return None
    turn = (
        Turn.objects.select_related("conversation")
        .filter(
            pk=int(number[:18]),
            conversation__workspace__slug=query.root.name,
            conversation__deleted_at=None,
        )
        .first()
    )
    if turn is None:
        return None
    return turn.conversation, turn.messages.filter(kind__in=_KINDS)


def _of_messages(query: MessageQuery) -> "tuple[Conversation, QuerySet[Message]] | None":
    rows = Conversation.objects.filter(workspace__slug=query.root.name)
    try:
        chat = rows.filter(pk=query.conversation).first()
    except (ValidationError, ValueError):
        # A person edited the line.
        return None
    if chat is None or query.messages is None:
        return None
    first, last = query.messages
    said = chat.messages.filter(pk__gte=first, pk__lte=last, kind__in=_KINDS, is_current=True)
    if query.until is not None:
        said = said.filter(created_at__lt=query.until)
    return chat, said


def _text(row: Message) -> str:
    return row.text or " ".join(block.text for block in row.blocks.all() if block.kind == "text")


def _excerpt(text: str, query: Query) -> str:
    """Return the text from the sentence that says most of the query."""
    if len(text) > _EXCERPT and query.terms:
        sentences = _SENTENCE_END.split(text)
        scores = _scores(sentences, query)
        start = scores.index(max(scores))
        rest = " ".join(" ".join(sentences[start:])[: _EXCERPT * 4].split())
        line = f"… {rest}" if start else rest
    else:
        line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def _url(row: Message) -> str:
    return reverse("chat:at", args=[row.conversation_id, row.pk])


def edited_messages(root: Path) -> EditedMessages:
    """Return the messages of the workspace at *root* that are no longer in any thread."""
    folder = settings.JENNY_DATA.workspaces
    if root.parent not in {folder, folder.resolve()}:
        # The folder belongs to no workspace of this instance.
        return NO_EDITED_MESSAGES
    branches = Branch.objects.filter(conversation__workspace__slug=root.name)
    gone = Message.objects.filter(
        is_current=False, conversation__in=branches.values("conversation")
    ).values_list("conversation_id", "pk", "created_at")
    return EditedMessages({(str(chat), pk): at for chat, pk, at in gone})


log = logging.getLogger(__name__)


def unsuppress_restated(conversation: Conversation, rows: Iterable[Message]) -> None:
    """Check a person's messages before the turn that answers them.

    A temporary chat changes nothing about forgotten facts.
    """
    if RUN_KINDS[conversation.kind].feeds_history:
        for row in rows:
            _restated(conversation, row.text, row)


def unsuppress_in_entries(
    conversation: Conversation, rows: Sequence[Message], entries: Iterable[HistoryEntry]
) -> None:
    """Check summaries of *rows*.

    Their facts count as said with the person's oldest message, since a summary does not say which
    message a fact is from.
    """
    first = next((row for row in rows if row.kind == Message.Kind.USER), None)
    if first is not None:
        for entry in entries:
            if entry.kind == "summary":
                _restated(conversation, entry.content, first)


def _restated(conversation: Conversation, text: str, row: Message) -> None:
    try:
        found = suppression.restated(conversation.workspace.root, text, row.created_at)
    except WorkspaceError as error:
        log.warning("forgotten.not_lifted", extra={"cause": type(error).__name__})
        return
    if found:
        log.info("forgotten.lifted", extra={"count": len(found)})
