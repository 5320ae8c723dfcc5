"""Gives the search what was said in the conversations of a workspace, and what they are called."""

import datetime as dt
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet

from jenny.chat.attachment_texts import without_marks
from jenny.chat.models import Attachment, Block, Conversation, Message
from jenny.search import Document, Key, Passage
from jenny.workspace.content import read_text
from jenny.workspace.redact import redact
from memory.search_sources import CHAT, CHAT_VERSION, PROJECT_CHAT, TITLE, passages_of, text_digest

# Those that are searched: what is said in a temporary chat is in no index.
KINDS_OF_CONVERSATIONS: dict[str, str] = {
    Conversation.Kind.PERSONAL: CHAT,
    Conversation.Kind.PROJECT: PROJECT_CHAT,
}
_SPEAKERS: dict[str, str] = {Message.Kind.USER: "You", Message.Kind.ANSWER: "Jenny"}
# What is said after a longer pause is about something else.
_PAUSE = dt.timedelta(hours=6)
# Before the name of a file in the title of its passages.
FILE_MARK = " › "
# The kind of attachments that are text files.
_TEXT = "text"


class TitleSource:
    """Each title is a document, with a passage of one line, so that any of them is found, however
    much is said."""

    def __init__(self, workspace: UUID) -> None:
        self._workspace = workspace

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        rows = _searched(self._workspace)
        if only is not None:
            rows = rows.filter(pk__in=[pk for kind, pk in only if kind == TITLE])
        for pk, title, project in rows.values_list("pk", "title", "project"):
            if title:
                yield Document(TITLE, str(pk), text_digest(f"{title}\0{project}"))

    def passages(self, document: Document) -> Iterator[Passage]:
        for chat in Conversation.objects.filter(pk=document.place):
            yield Passage((redact(chat.title).text,), (0,), chat.project)


class ChatSource:
    """The messages of each conversation that are shown, with the files that were sent with them."""

    def __init__(self, workspace: UUID, zone: dt.tzinfo) -> None:
        self._workspace = workspace
        self._zone = zone

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        rows = _searched(self._workspace)
        if only is not None:
            kinds = KINDS_OF_CONVERSATIONS.values()
            rows = rows.filter(pk__in=[pk for kind, pk in only if kind in kinds])
        for pk, kind, stamp in _stamped(rows):
            yield Document(KINDS_OF_CONVERSATIONS[kind], str(pk), stamp)

    def passages(self, document: Document) -> Iterator[Passage]:
        chat = _conversation(document.place)
        if chat is None:
            return
        title = title_of(chat)
        stretch: list[tuple[int, str]] = []
        last = started = dt.datetime.max.replace(tzinfo=dt.UTC)
        for row in _said(chat):
            at = row.said_at.astimezone(self._zone)
            yield from _file_passages(row, title, at)
            if stretch and (at - last > _PAUSE or at.date() != started.date()):
                yield from passages_of(stretch, title, started.date().isoformat())
                stretch = []
            if not stretch:
                started = at
            stretch += [(row.message, line) for line in row.lines]
            last = at
        yield from passages_of(stretch, title, started.date().isoformat())


class ChatVersionSource:
    """The messages of each conversation that stand in versions which are not shown."""

    def __init__(self, workspace: UUID, zone: dt.tzinfo) -> None:
        self._workspace = workspace
        self._zone = zone

    def documents(self, only: Collection[Key] | None = None) -> Iterator[Document]:
        # Only a conversation with another version has a branch.
        rows = _searched(self._workspace).filter(branch__isnull=False)
        if only is not None:
            rows = rows.filter(pk__in=[pk for kind, pk in only if kind == CHAT_VERSION])
        for pk, _, stamp in _stamped(rows):
            yield Document(CHAT_VERSION, str(pk), stamp)

    def passages(self, document: Document) -> Iterator[Passage]:
        chat = _conversation(document.place)
        if chat is None:
            return
        title = title_of(chat)
        for row in _said(chat, is_current=False):
            at = row.said_at.astimezone(self._zone)
            lines = ((row.message, line) for line in row.lines)
            yield from passages_of(lines, title, at.date().isoformat())
            yield from _file_passages(row, title, at)


def files_of_temporary_chats(workspace: UUID) -> set[str]:
    """Return the paths of files that are in the workspace only for a temporary chat, or for a
    message that is not sent yet."""
    rows = Attachment.objects.filter(workspace=workspace, is_own=True).exclude(path="")
    is_apart = Q(conversation__kind=Conversation.Kind.TEMPORARY) | Q(message=None)
    return set(rows.filter(is_apart).values_list("path", flat=True))


def _searched(workspace: UUID) -> QuerySet[Conversation]:
    return Conversation.objects.filter(workspace=workspace, kind__in=KINDS_OF_CONVERSATIONS)


def _stamped(rows: QuerySet[Conversation]) -> Iterator[tuple[UUID, str, str]]:
    """Yield id and kind of conversations, and what differs when something was said or shown."""
    # An import adds messages without an event.
    said = rows.annotate(count=Count("messages"), newest=Max("messages__pk"))
    for pk, kind, *stamp in said.values_list(
        "pk", "kind", "event_number", "branch", "count", "newest", "title", "project"
    ):
        # A title may have what is in no index.
        yield pk, kind, text_digest(" ".join(map(str, stamp)))


def title_of(chat: Conversation) -> str:
    """Return the title of its passages; those of attached files end with name and type."""
    return " ".join(part for part in (redact(chat.title).text, chat.project) if part)


def _conversation(pk: str) -> Conversation | None:
    return Conversation.objects.select_related("workspace").filter(pk=pk).first()


@dataclass(frozen=True, slots=True)
class _Said:
    """The lines of a message, and those of the files that were sent with it, by name and type."""

    message: int
    said_at: dt.datetime
    lines: list[str]
    files: list[tuple[str, list[str]]]


def _said(chat: Conversation, *, is_current: bool = True) -> Iterator[_Said]:
    """Yield the messages that are shown, or those that are not, without secrets."""
    files = _files_of(chat)
    rows = (
        Message.objects.filter(conversation=chat, kind__in=_SPEAKERS, is_current=is_current)
        .order_by("pk", "blocks__pk")
        .values_list("pk", "kind", "created_at", "text", "blocks__kind", "blocks__text", named=True)
    )
    for pk, group in groupby(rows, key=attrgetter("pk")):
        first, *others = group
        blocks = [
            row.blocks__text for row in (first, *others) if row.blocks__kind == Block.Kind.TEXT
        ]
        if lines := _lines("\n".join([first.text, *blocks])):
            lines[0] = f"{_SPEAKERS[first.kind]}: {lines[0]}"
        yield _Said(pk, first.created_at, lines, files.get(pk, []))


def _lines(text: str) -> list[str]:
    return [line for line in redact(text).text.split("\n") if line.strip()]


def _files_of(chat: Conversation) -> dict[int, list[tuple[str, list[str]]]]:
    """Return name, type and lines of the files of each message."""
    found: dict[int, list[tuple[str, list[str]]]] = {}
    rows = Attachment.objects.filter(conversation=chat, message__isnull=False)
    for row in rows.defer("thumbnail", "picture", "pages").order_by("message", "position", "pk"):
        name = redact(row.as_file().marker).text
        text = "" if _is_text_file(chat, row) else without_marks(row.text)
        lines = [f"Attached: {name}", *_lines(text)]
        found.setdefault(row.message_id or 0, []).append((name, lines))
    return found


def _is_text_file(chat: Conversation, row: Attachment) -> bool:
    """True when the text is found in the file itself, as in other text files, or was with it."""
    if row.kind != _TEXT or not row.path:
        return False
    return not read_text(chat.workspace.root, row.path).problem


def _file_passages(row: _Said, title: str, at: dt.datetime) -> Iterator[Passage]:
    for name, lines in row.files:
        named = f"{title}{FILE_MARK}{name}"
        yield from passages_of(
            ((row.message, line) for line in lines), named, at.date().isoformat()
        )
