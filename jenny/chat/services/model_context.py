"""The context that a conversation gives the model: system prompt, history, messages.

The same rows give the same bytes in every request, so that the provider's cache hits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from jenny.agent import messages as wire
from jenny.agent.messages import Part, Text, ToolResult, ToolUse
from jenny.agent.prompt import SystemPrompt
from jenny.agent.tokens import estimate
from jenny.chat.attachment_texts import AttachedFile, message_parts
from jenny.chat.models import Attachment, Block, Conversation, Message, Summary, Turn
from jenny.chat.prompt import build
from jenny.workspace.errors import WorkspaceError
from memory.history import prompt as pending
from memory.history import reader
from memory.history.entries import HistoryEntry
from memory.suppression import without_forgotten

# Builds a conversation's system prompt, with the summaries of its beginning.


def prompt_of(chat: Conversation, tool_names: Sequence[str]) -> SystemPrompt:
    return build(
        chat.kind,
        chat.workspace.root,
        tool_names=tool_names,
        stored=stored_of(chat),
        project=chat.project,
        zone=chat.workspace.owner.time_zone,
    )


def stored_of(chat: Conversation) -> list[str]:
    """Return the summaries of what left the context, oldest first.

    Without those of a session before ``/new``, forgotten ones, and those that the prompt shows
    among the pending entries.
    """
    if not chat.context_from:
        return []  # nothing left the context
    rows = Summary.objects.filter(
        conversation=chat,
        message__is_current=True,
        first__lt=chat.context_from,
        message__gte=chat.session_from,
    ).order_by("message_id", "pk")
    if not rows:
        return []
    root = chat.workspace.root
    numbers = {cursor for row in rows for cursor in row.cursors}
    try:
        found = reader.find_by_cursor(root, numbers - pending.shown(root))
    except WorkspaceError:
        # The block of pending entries reports an unreadable history; the chat goes on.
        found = {}
    texts = []
    for row in rows:
        own = [HistoryEntry(0, "", row.text)] if row.text else []
        entries = own or [
            found[cursor]
            for cursor in row.cursors
            if cursor in found and found[cursor].prompt_visible
        ]
        texts += [entry.content for entry in without_forgotten(root, entries)]
    return texts


STOPPED = "(The answer was stopped here.)"
INTERRUPTED = "(The answer was cut off here.)"


_ENDINGS = {"stopped": STOPPED, "interrupted": INTERRUPTED, "failed": INTERRUPTED}


@dataclass(frozen=True, slots=True)
class Piece:
    step: int
    kind: str
    text: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """A row of the thread: a user's message, or the answer of a turn that ended in *state*.

    *is_refused*: the provider declined to answer that turn.
    """

    kind: str
    text: str = ""
    context: str = ""
    # Empty: no turn took it.
    state: str = ""
    is_retried: bool = False
    pieces: Sequence[Piece] = ()
    id: int = 0
    is_refused: bool = False
    files: Sequence[AttachedFile] = ()
    # The turn that took or gave it (0: none), and the tokens of that turn's last request, as the
    # provider counted them.
    turn: int = 0
    counted: int = 0

    @property
    def tokens(self) -> int:
        """Estimate the tokens of a user's message in a request."""
        return estimate(self.text) + estimate(self.context) + sum(one.tokens for one in self.files)


def user_message(
    text: str, context: str, files: Sequence[AttachedFile] = (), folder: str = ""
) -> wire.Message:
    """Build a user message with *context*, which only the model sees, after the text.

    *folder*: the one that the paths of *files* are given from.
    """
    whole = f"{text}\n\n{context}" if context else text
    return wire.Message("user", tuple(message_parts(whole, files, folder=folder)))


def messages(rows: Iterable[Said], folder: str = "") -> list[wire.Message]:
    """Return the model's history: user messages that a turn took, and current answers.

    Turns that a provider declined to answer are left out, since it would decline every later
    request with them.
    """
    history: list[wire.Message] = []
    for row in rows:
        if row.is_refused:
            continue
        if row.kind == "user" and row.state:
            history.append(user_message(row.text, row.context, row.files, folder))
        elif row.kind == "answer" and row.state and not row.is_retried:
            history.extend(_answer(row.pieces))
            if row.state in _ENDINGS and any(piece.kind == "text" for piece in row.pieces):
                history.append(wire.Message("assistant", (Text(_ENDINGS[row.state]),)))
    return history


def _answer(pieces: Iterable[Piece]) -> Iterator[wire.Message]:
    """Yield an answer's blocks as messages, tool calls followed by their results."""
    said = (piece for piece in pieces if piece.kind in ("text", "tool"))
    for _, step in groupby(said, key=lambda piece: piece.step):
        parts: list[Part] = []
        results: list[Part] = []
        for piece in step:
            if piece.kind == "text":
                parts.append(Text(piece.text))
                continue
            data = piece.data
            parts.append(ToolUse(data["id"], data["name"], data["arguments"]))
            if "result" in data:
                results.append(ToolResult(data["id"], data["result"], ok=bool(data.get("ok"))))
        yield wire.Message("assistant", tuple(parts))
        if results:
            yield wire.Message("user", tuple(results))


# Loads the messages of a conversation that the model still sees.
#
# They are read as values: model instances cost many times as much, and a long conversation has
# hundreds.


# Thinking and notes are never sent.
_SENT = (Block.Kind.TEXT, Block.Kind.TOOL)
_MESSAGE_COLUMNS = ("pk", "kind", "text", "context")
_TURN_COLUMNS = ("turn", "turn__state", "turn__retried", "turn__reason", "turn__context_tokens")
_BLOCK_COLUMNS = ("blocks__step", "blocks__kind", "blocks__text", "blocks__data")
_FILE_COLUMNS = (
    *("name", "path", "label", "form", "size", "problem", "page_count", "width", "height"),
    *("text", "picture", "picture_type"),
)


def load_files(conversation: Conversation, first: int) -> Mapping[int, Sequence[AttachedFile]]:
    """Return the files of the messages from the id *first* on, as the model gets them."""
    found: dict[int, list[AttachedFile]] = defaultdict(list)
    rows = Attachment.objects.filter(
        message__conversation=conversation, message__gte=first, message__is_current=True
    ).order_by("position", "pk")
    for message, *values in rows.values_list("message", *_FILE_COLUMNS):
        row = dict(zip(_FILE_COLUMNS, values, strict=True))
        found[message].append(AttachedFile(**row | {"picture": bytes(row["picture"] or b"")}))
    return found


def load_history(conversation: Conversation) -> list[Said]:
    """Return the messages that the model still sees, oldest first, with the answers' blocks."""
    # A message appears once for each of its blocks.
    rows = (
        Message.objects.filter(
            conversation=conversation, pk__gte=conversation.context_from, is_current=True
        )
        .order_by("pk", "blocks__pk")
        .values_list(*_MESSAGE_COLUMNS, *_TURN_COLUMNS, *_BLOCK_COLUMNS)
    )
    files = load_files(conversation, conversation.context_from)
    said = []
    for _, blocks in groupby(rows, key=itemgetter(0)):
        first, *others = blocks
        pk, kind, text, context, turn, state, is_retried, reason, counted, *_ = first
        pieces = (Piece(*row[-len(_BLOCK_COLUMNS) :]) for row in (first, *others))
        said.append(
            Said(
                kind,
                text,
                context,
                state or "",
                bool(is_retried),
                tuple(piece for piece in pieces if piece.kind in _SENT),
                pk,
                reason == Turn.REFUSED,
                files.get(pk, ()),
                turn or 0,
                counted or 0,
            )
        )
    return said
