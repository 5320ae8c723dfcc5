"""Pages between a conversation and the memory: entries, facts to keep, changes, and consent."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.accounts import access as accounts
from jenny.accounts.models import Workspace
from jenny.chat import access, entry_views
from jenny.chat.models import ConsentRequest, Conversation, Message, Turn
from jenny.chat.services import consent_requests, memory_links
from jenny.chat.services.publish import Publisher
from jenny.chat.views import conversation_list, conversation_pages
from jenny.chat.views.conversation_list import rail_of
from jenny.chat.views.conversation_pages import WINDOW
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs
from jenny.workspace.diffs import difference
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from jenny.workspace.redact import redact
from memory import archive, consents, message_sources, notes, suppression, undo_turn
from memory.errors import CursorBroken
from memory.history import cursors, reader
from memory.history.entries import MAX_CURSOR, HistoryEntry, zone_name
from memory.models import TurnChange
from memory.notes import MOST_OF_A_MESSAGE, About
from memory.provenance import TURN
from memory.services import forgotten_facts

# Shows a change that the assistant asked for; a person allows or declines it.


# Characters of the diff that are shown.
_SHOWN = 20_000
_ANSWERS = ("allow", "always", "no")


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def asked(request: HttpRequest, conversation_id: UUID, request_id: int) -> HttpResponse:
    """Show the change; on POST decide it with ``answer`` (``allow``, ``always``, ``no``)."""
    chat = access.conversation(request, conversation_id)
    rows = ConsentRequest.objects.select_related("turn__conversation__workspace", "block__message")
    row = rows.filter(pk=request_id, turn__conversation=chat).first()
    if row is None:
        raise Http404
    if request.method != "POST":
        return _consent_page(request, row)
    answer = request.POST.get("answer", "")
    if answer not in _ANSWERS:
        return _consent_page(request, row, "Say whether to allow it or not. Nothing was changed.")
    done = consent_requests.decide_consent(row, answer, accounts.account(request).pk)  # type: ignore[arg-type]  # one of its two words, as asked above
    if request.headers.get("HX-Request") == "true":
        if done.ok:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused = HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused["HX-Redirect"] = request.path
        messages.error(request, done.message)
        return refused
    if not done.ok:
        return _consent_page(request, row, done.message)
    messages.success(request, done.message)
    return HttpResponseRedirect(request.path)


def _consent_page(request: HttpRequest, row: ConsentRequest, problem: str = "") -> HttpResponse:
    chat = row.turn.conversation
    before, after = consent_requests.before_of(row), consent_requests.after_of(row)
    text = diffs.bounded(diffs.unified(row.path, before, after), _SHOWN)
    context = {
        "conversation": chat,
        "row": row,
        "html": markdown(diffs.fenced(text)),
        "counts": diffs.counts(before, after),
        "problem": problem,
        "is_for_prompts": consents.may_be_given(row.path),
        "is_given": row.path in consents.given(chat.workspace.root),
        "answer": row.block.message if row.block else None,
        "rail": conversation_list.rail_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "chat/consent.html", context, status=status)


# Shows and undoes a turn's changes of memory files.


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def changes(request: HttpRequest, conversation_id: UUID, turn_id: int) -> HttpResponse:
    """Show the diff of a turn; on POST undo it, file by file.

    Where a file was changed since, the page says so first, and a second press (``confirm=yes``)
    undoes it.
    """
    chat = access.conversation(request, conversation_id)
    turn = chat.turns.filter(pk=turn_id).first()
    rows = memory_links.changes_of(turn) if turn is not None else []
    if turn is None or not rows:
        raise Http404
    if request.method == "POST" and (done := _undo(request, chat, turn, rows)) is not None:
        return done
    return _page(request, chat, turn, rows)


def _undo(
    request: HttpRequest, chat: Conversation, turn: Turn, rows: list[TurnChange]
) -> HttpResponse | None:
    """Undo the changes; ``None``: the page must ask first, or shows why not."""
    is_script = request.headers.get("HX-Request") == "true"
    page = reverse("chat:changes", args=[chat.pk, turn.pk])
    root, run = chat.workspace.root, f"{TURN}{turn.pk}"
    values = memory_links.values(rows)
    try:
        steps = undo_turn.plan(root, run, values)
        asks = any(step.label in {"moved on", "conflict"} or step.left_out for step in steps)
        if asks and request.POST.get("confirm") != "yes":
            return _sent_to(page) if is_script else None
        steps = undo_turn.undo_turn(root, run, values, account=chat.workspace.owner_id)
    except (OSError, WorkspaceError) as error:
        message = getattr(error, "message", "The files cannot be read now.")
        if is_script:
            return HttpResponse(message, status=HTTPStatus.CONFLICT, content_type="text/plain")
        return _page(request, chat, turn, rows, problem=message)
    if all(step.label == "conflict" for step in steps):
        return _page(request, chat, turn, rows)
    done = {step.path for step in steps if step.label != "conflict"}
    answer = memory_links.mark_undone(turn, [row for row in rows if row.path in done])
    if answer is not None:
        Publisher(chat).message(answer)
    if is_script:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return HttpResponseRedirect(page)


def _page(
    request: HttpRequest,
    chat: Conversation,
    turn: Turn,
    rows: list[TurnChange],
    *,
    problem: str = "",
) -> HttpResponse:
    values = memory_links.values(rows)
    steps = undo_turn.plan(chat.workspace.root, f"{TURN}{turn.pk}", values)
    files = [
        {
            "step": step,
            "difference": difference(row.before, row.after),
            "left_out": step.left_out,
        }
        for row, step in zip(values, steps, strict=True)
    ]
    answer = turn.messages.filter(kind="answer").order_by("-pk").first()
    context = {
        "conversation": chat,
        "turn": turn,
        "answer": answer,
        "files": files,
        "problem": problem,
        "undone": all(row.undone_at is not None for row in rows),
        "can_undo": any(step.label in {"clean", "moved on"} for step in steps),
        "conflicts": any(step.label == "conflict" for step in steps),
        "asks": any(step.label in {"moved on", "conflict"} or step.left_out for step in steps),
        "rail": conversation_list.rail_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "chat/changes.html", context, status=status)


def _sent_to(page: str) -> HttpResponse:
    answer = HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer["HX-Redirect"] = page
    return answer


# Actions on memory in the thread: remember a message, restore what was forgotten or archived.
#
# Each is a form that works without script.


_IDS = re.compile(r"[0-9a-f]{4,64}(?:,[0-9a-f]{4,64}){0,19}")
_WORDS = {
    Message.Kind.USER: "The user said, and asked to remember: ",
    Message.Kind.ANSWER: "Jenny said, and the user asked to remember: ",
}


@require_POST
@access.deleted_is_not_found
def remember(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Make a note of a message, or with ``undo`` remove it while Dream has not read it.

    A second click, or another tab's, changes nothing.
    """
    chat = access.conversation(request, conversation_id)
    row = _message(request, chat)
    try:
        problem = _take_back(row) if "undo" in request.POST else _remember(chat, row)
    except WorkspaceError as error:
        problem = error.message
    if not problem:
        Publisher(chat).message(row)
    if request.headers.get("HX-Request") == "true":
        if problem:
            return HttpResponse(problem, status=HTTPStatus.CONFLICT, content_type="text/plain")
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if problem:
        return conversation_pages.show(request, chat.workspace, chat, problem=problem)
    return HttpResponseRedirect(reverse("chat:at", args=[chat.pk, row.pk]))


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def back(request: HttpRequest, conversation_id: UUID, ids: str) -> HttpResponse:
    """Show what was forgotten or archived, and on POST restore it."""
    chat = access.conversation(request, conversation_id)
    if not _IDS.fullmatch(ids):
        raise Http404
    root = chat.workspace.root
    dead = {row.id: row.text for row in suppression.list_tombstones(root)}
    wanted = ids.split(",")
    messages_shown: list[str] = []
    if request.method == "POST":
        actor = Actor("browser", account=chat.workspace.owner_id, reason="brought back")
        messages_shown = [_brought_back(chat, one, actor, is_dead=one in dead) for one in wanted]
    kept = {one: found[0].text for one in wanted if (found := archive.find(root, one))}
    rows = [text for one in wanted if (text := kept.get(one) or dead.get(one))]
    if not rows and not messages_shown:
        raise Http404
    context = {
        "conversation": chat,
        "rows": rows,
        "messages_shown": messages_shown,
        "was_forgotten": any(one in dead for one in wanted),
        "rail": conversation_list.rail_of(accounts.account(request), chat.workspace),
    }
    return render(request, "chat/restore_forgotten.html", context)


def _message(request: HttpRequest, chat: Conversation) -> Message:
    number = request.POST.get("message", "")
    wanted = int(number[:18]) if number.isascii() and number.isdecimal() else 0
    rows = chat.messages.filter(kind__in=_WORDS, is_current=True).prefetch_related("blocks")
    row = rows.filter(pk=wanted).first()
    if row is None:
        raise Http404
    return row


def _remember(chat: Conversation, row: Message) -> str:
    if chat.project:
        return "Nothing of a project reaches the memory. Ask Jenny to note it in the project's log."
    if not chat.feeds_history:
        return "This is a temporary chat, which leaves no memory. Keep it first."
    if row.remembered is not None:
        return ""
    text = row.text or "\n".join(b.text for b in row.blocks.all() if b.kind == "text")
    if not text.strip():
        return "There are no words in it to remember."
    done = notes.remember(
        chat.workspace.root,
        f"{_WORDS[Message.Kind(row.kind)]}{text}",
        About(str(chat.pk), (row.pk, row.pk), is_once=True),
        zone=chat.workspace.owner.time_zone,
        by_person=row.kind == Message.Kind.USER,
        most=MOST_OF_A_MESSAGE,
    )
    row.remembered = done.entry.cursor
    row.save(update_fields=["remembered"])
    return ""


def _take_back(row: Message) -> str:
    """Remove the note. Return why not, if it failed."""
    if row.remembered is None:
        return ""
    root = row.conversation.workspace.root
    if not notes.take_back(root, row.remembered) and not _is_gone(row):
        return "It stands in the memory files already. `/forget` takes it out of them."
    row.remembered = None
    row.save(update_fields=["remembered"])
    return ""


def _is_gone(row: Message) -> bool:
    """True when its note was removed elsewhere."""
    return row.remembered is not None and notes.waits(
        row.conversation.workspace.root, row.remembered
    )


def _brought_back(chat: Conversation, one: str, actor: Actor, *, is_dead: bool) -> str:
    root = chat.workspace.root
    try:
        if archive.find(root, one):
            return archive.bring_back(root, one, actor).message
        if is_dead:
            lifted = forgotten_facts.lift(chat.workspace, one, actor)
            return f"It may be known again: “{lifted.tombstone.text}”.{lifted.more}"
    except WorkspaceError as error:
        return error.message
    return f"{one} is not there any more."


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
        "zone_name": zone_name(workspace.root, account.time_zone),
        "source": chat,
        "has_messages": found.messages is not None,
        "is_gone": chat is None and bool(found.conversation),
        "rail": rail_of(account, workspace),
        **_said(chat, found),
    }
    return render(request, "chat/entry.html", context)


@require_safe
def at(request: HttpRequest, conversation_id: UUID, message_id: int) -> HttpResponse:
    """Redirect to the part of a conversation's page that contains a message, or show a message
    that stands in another version."""
    chat = access.conversation(request, conversation_id)
    message = get_object_or_404(chat.messages, pk=message_id)
    if not message.is_current:
        return _in_other_version(request, chat, message)
    rows = Message.objects.filter(conversation=chat, is_current=True)
    page = reverse("chat:conversation", args=[chat.pk])
    later = list(
        rows.filter(pk__gt=message_id).order_by("pk").values_list("pk", flat=True)[:WINDOW]
    )
    if len(later) == WINDOW:
        page += f"?before={later[_FOLLOWING]}"
    return HttpResponseRedirect(f"{page}#m{message_id}")


def _in_other_version(request: HttpRequest, chat: Conversation, message: Message) -> HttpResponse:
    said = Message.objects.filter(pk=message.pk)
    if message.turn_id:
        # With its question, or its answer.
        said = chat.messages.filter(turn=message.turn_id)
    context = {
        "conversation": chat,
        "message": message,
        "said": said.prefetch_related("blocks", "attachments").order_by("pk"),
        "rail": rail_of(accounts.account(request), chat.workspace),
    }
    return render(request, "chat/other_version.html", context)


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
    return "passed" if message_sources.edited_cursors(root, [found]) else "waits"


def _said(chat: Conversation | None, found: HistoryEntry) -> dict[str, Any]:
    if chat is None or found.messages is None:
        return {"said": [], "more": 0}
    kinds = (Message.Kind.USER, Message.Kind.ANSWER)
    rows = chat.messages.filter(
        pk__gte=found.messages[0], pk__lte=found.messages[1], kind__in=kinds, is_current=True
    )
    if end := message_sources.written_at(found):
        rows = rows.filter(created_at__lt=end)
    first = rows.prefetch_related("blocks").order_by("pk")[:LISTED]
    said = [Said(row, _excerpt(row)) for row in first]
    return {"said": said, "more": rows.count() - len(said)}


def _excerpt(row: Message) -> str:
    text = row.text or " ".join(block.text for block in row.blocks.all() if block.kind == "text")
    line = " ".join(redact(text[: _EXCERPT * 4]).text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
