"""Actions on memory in the thread: remember a message, restore what was forgotten or archived.

Each is a form that works without script.
"""

import re
from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation, Message
from jenny.chat.services.publish import Publisher
from jenny.chat.views import conversation_list, conversation_pages
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory import archive, notes, suppression
from memory.notes import MOST_OF_A_MESSAGE, About
from memory.services import lifted_facts

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
    told: list[str] = []
    if request.method == "POST":
        actor = Actor("browser", account=chat.workspace.owner_id, reason="brought back")
        told = [_brought_back(chat, one, actor, is_dead=one in dead) for one in wanted]
    kept = {one: found[0].text for one in wanted if (found := archive.find(root, one))}
    rows = [text for one in wanted if (text := kept.get(one) or dead.get(one))]
    if not rows and not told:
        raise Http404
    context = {
        "conversation": chat,
        "rows": rows,
        "told": told,
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
            lifted = lifted_facts.lift(chat.workspace, one, actor)
            return f"It may be known again: “{lifted.stone.text}”.{lifted.more}"
    except WorkspaceError as error:
        return error.message
    return f"{one} is not there any more."
