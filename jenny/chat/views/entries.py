"""Shows an entry of the history, with links to the messages that it is about."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jenny.accounts import access as accounts
from jenny.accounts.models import Workspace
from jenny.chat import access, entry_views
from jenny.chat.models import Conversation, Message
from jenny.chat.views.conversation_list import rail_of
from jenny.chat.views.conversation_pages import WINDOW
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.redact import redact
from memory.errors import CursorBroken
from memory.history import cursors, edited_entries, log, reader
from memory.history.entries import MAX_CURSOR, HistoryEntry

# Listed messages, characters of each, and how many follow the linked one.
LISTED = 40
_EXCERPT = 160
_FOLLOWING = 20


@dataclass(frozen=True, slots=True)
class Said:
    message: Message
    excerpt: str


@require_safe
def entry(request: HttpRequest, cursor: int) -> HttpResponse:
    """Show an entry of the account's own workspace, its messages, and whether Dream read it."""
    workspace = accounts.workspace(request)
    number = min(cursor, MAX_CURSOR)
    found = reader.find_by_cursor(workspace.root, [number]).get(number)
    if found is None:
        raise Http404
    account = accounts.account(request)
    chat = _chat_of(found, workspace)
    context = {
        "entry": entry_views.view(found),
        "visible": found.prompt_visible,
        "state": _state(workspace.root, found),
        "zone_name": log.zone_of(workspace.root, account.time_zone),
        "source": chat,
        "has_messages": found.messages is not None,
        "is_gone": chat is None and bool(found.conversation),
        "rail": rail_of(account, workspace),
        **_said(chat, found),
    }
    return render(request, "chat/entry.html", context)


@require_safe
def at(request: HttpRequest, conversation_id: UUID, message_id: int) -> HttpResponse:
    """Redirect to the part of a conversation's page that contains a message."""
    chat = access.conversation(request, conversation_id)
    rows = Message.objects.filter(conversation=chat, is_current=True)
    if not rows.filter(pk=message_id).exists():
        raise Http404
    page = reverse("chat:conversation", args=[chat.pk])
    later = list(
        rows.filter(pk__gt=message_id).order_by("pk").values_list("pk", flat=True)[:WINDOW]
    )
    if len(later) == WINDOW:
        page += f"?before={later[_FOLLOWING]}"
    return HttpResponseRedirect(f"{page}#m{message_id}")


def _chat_of(found: HistoryEntry, workspace: Workspace) -> Conversation | None:
    try:
        rows = Conversation.objects.filter(pk=found.conversation, workspace=workspace)
        return rows.first() if found.conversation else None
    except (ValidationError, ValueError):
        # A person edited the line.
        return None


def _state(root: Path, found: HistoryEntry) -> str:
    try:
        if found.cursor <= cursors.dream_cursor(root):
            return "read"
    except (CursorBroken, WorkspaceError):
        return "unknown"
    return "passed" if edited_entries.cursors(root, [found]) else "waits"


def _said(chat: Conversation | None, found: HistoryEntry) -> dict[str, Any]:
    if chat is None or found.messages is None:
        return {"said": [], "more": 0}
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    rows = chat.messages.filter(
        pk__gte=found.messages[0], pk__lte=found.messages[1], kind__in=kinds, is_current=True
    )
    if end := edited_entries.written(found):
        rows = rows.filter(created_at__lt=end)
    first = rows.prefetch_related("blocks").order_by("pk")[:LISTED]
    said = [Said(row, _excerpt(row)) for row in first]
    return {"said": said, "more": rows.count() - len(said)}


def _excerpt(row: Message) -> str:
    text = row.text or " ".join(block.text for block in row.blocks.all() if block.kind == "text")
    line = " ".join(redact(text[: _EXCERPT * 4]).text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
