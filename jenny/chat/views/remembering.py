"""What a person does about memory in the thread: have a message remembered, bring back what was
forgotten or archived. Each is a form that works without script."""

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
from jenny.chat.tasks.publish import Publisher
from jenny.chat.views import pages
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory import archive, forgotten, remembering
from memory.remembering import MOST_OF_A_MESSAGE, About

_IDS = re.compile(r"[0-9a-f]{4,64}(?:,[0-9a-f]{4,64}){0,19}")
_WORDS = {
    Message.Kind.USER: "The user said, and asked to remember: ",
    Message.Kind.ANSWER: "Jenny said, and the user asked to remember: ",
}


@require_POST
@access.deleted_is_not_found
def remember(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Have a message remembered, or with ``undo`` not any more, as long as Dream has not read it.

    A second click, or another tab's, changes nothing."""
    chat = access.conversation(request, conversation_id)
    row = _message(request, chat)
    try:
        problem = _take_back(row) if "undo" in request.POST else _remember(chat, row)
    except WorkspaceError as error:
        problem = error.sentence
    if not problem:
        Publisher(chat).message(row)
    if request.headers.get("HX-Request") == "true":
        if problem:
            return HttpResponse(problem, status=HTTPStatus.CONFLICT, content_type="text/plain")
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if problem:
        return pages.show(request, chat.workspace, chat, problem=problem)
    return HttpResponseRedirect(reverse("chat:at", args=[chat.pk, row.pk]))


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def back(request: HttpRequest, conversation_id: UUID, ids: str) -> HttpResponse:
    """What was forgotten or archived, and on POST bring it back."""
    chat = access.conversation(request, conversation_id)
    if not _IDS.fullmatch(ids):
        raise Http404
    root = chat.workspace.root
    dead = {row.id: row.text for row in forgotten.tombstones(root)}
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
        "groups": pages.groups_of(accounts.account(request), chat.workspace),
    }
    return render(request, "chat/back.html", context)


def _message(request: HttpRequest, chat: Conversation) -> Message:
    number = request.POST.get("message", "")
    wanted = int(number[:18]) if number.isascii() and number.isdecimal() else 0
    rows = chat.messages.filter(kind__in=_WORDS, is_current=True).prefetch_related("blocks")
    row = rows.filter(pk=wanted).first()
    if row is None:
        raise Http404
    return row


def _remember(chat: Conversation, row: Message) -> str:
    """Note the message once. Why not, if not."""
    if chat.project:
        return "Nothing of a project reaches the memory. Ask Jenny to note it in the project's log."
    if not chat.feeds_history:
        return "This is a temporary chat, which leaves no memory. Keep it first."
    if row.remembered is not None:
        return ""
    text = row.text or "\n".join(b.text for b in row.blocks.all() if b.kind == "text")
    if not text.strip():
        return "There are no words in it to remember."
    done = remembering.remember(
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
    """Take the note out again. Why not, if not."""
    if row.remembered is None:
        return ""
    root = row.conversation.workspace.root
    if not remembering.take_back(root, row.remembered) and not _is_gone(row):
        return (
            "Dream has read it already and put it where it belongs. `/forget` takes it out of the "
            "memory."
        )
    row.remembered = None
    row.save(update_fields=["remembered"])
    return ""


def _is_gone(row: Message) -> bool:
    """Whether its note waits for nobody: it was taken out elsewhere."""
    return row.remembered is not None and remembering.waits(
        row.conversation.workspace.root, row.remembered
    )


def _brought_back(chat: Conversation, one: str, actor: Actor, *, is_dead: bool) -> str:
    root = chat.workspace.root
    try:
        if archive.find(root, one):
            return archive.bring_back(root, one, actor).sentence
        if is_dead:
            row = forgotten.lift(root, one, actor)
            return f"It may be known again: “{row.text}”."
    except WorkspaceError as error:
        return error.sentence
    return f"{one} is not there any more."
