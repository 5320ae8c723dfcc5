"""Versions of messages: edit and send again, answer again, show another version, branch off.

Without script each is a form that redirects to the thread; with it, the stream makes every page
render the thread anew.
"""

from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation, Message
from jenny.chat.services import branches
from jenny.chat.services.send_message import MessageRefused
from jenny.chat.thread import item
from jenny.chat.views import conversation_list, conversation_pages

_BACK = {"-1": -1, "1": 1}


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def edit(request: HttpRequest, conversation_id: UUID, message_id: int) -> HttpResponse:
    """Show a message for editing; on POST send it again."""
    chat = access.conversation(request, conversation_id)
    if request.method == "POST":
        text = request.POST.get("text", "")
        try:
            branches.edit_message(chat, message_id, text)
        except MessageRefused as refused:
            return _form(request, chat, message_id, text, str(refused))
        return _done(request, chat)
    row = chat.messages.filter(pk=message_id, kind=Message.Kind.USER, is_current=True).first()
    if row is None:
        raise Http404
    if _is_script(request) and "cancel" in request.GET:
        return render(request, "chat/thread.html#said", {"item": item(row)})
    return _form(request, chat, message_id, row.text, "")


@require_POST
@access.deleted_is_not_found
def regenerate(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    try:
        branches.regenerate_answer(chat, _number(request, "turn"))
    except MessageRefused as refused:
        return _refused(request, chat, str(refused))
    return _done(request, chat)


@require_POST
@access.deleted_is_not_found
def version(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Show the version before or after a message's, or without ``step`` the one with it."""
    chat = access.conversation(request, conversation_id)
    message, step = _number(request, "message"), _BACK.get(request.POST.get("step", ""))
    try:
        if step is None:
            branches.show_message(chat, message)
        else:
            branches.show_version(chat, message, step)
    except MessageRefused as refused:
        return _refused(request, chat, str(refused))
    return redirect("chat:at", chat.pk, message) if step is None else _done(request, chat)


@require_POST
@access.deleted_is_not_found
def branch(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Begin a new conversation with what was said up to a message, and go there."""
    chat = access.conversation(request, conversation_id)
    try:
        new = branches.branch_off(chat, _number(request, "message"))
    except MessageRefused as refused:
        return _refused(request, chat, str(refused))
    page = reverse("chat:conversation", args=[new.pk])
    return HttpResponseClientRedirect(page) if _is_script(request) else HttpResponseRedirect(page)


def _form(
    request: HttpRequest, chat: Conversation, message_id: int, text: str, problem: str
) -> HttpResponse:
    context = {
        "conversation": chat,
        "message_id": message_id,
        "text": text,
        "rows": min(12, 1 + text.count("\n") + len(text) // 70),
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    if _is_script(request):
        return render(request, "chat/edit.html#form", context, status=status)
    context["rail"] = conversation_list.rail_of(accounts.account(request), chat.workspace)
    return render(request, "chat/edit.html", context, status=status)


def _done(request: HttpRequest, chat: Conversation) -> HttpResponse:
    if _is_script(request):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return HttpResponseRedirect(reverse("chat:conversation", args=[chat.pk]))


def _refused(request: HttpRequest, chat: Conversation, message: str) -> HttpResponse:
    if _is_script(request):
        return HttpResponse(message, status=HTTPStatus.CONFLICT, content_type="text/plain")
    return conversation_pages.show(request, chat.workspace, chat, problem=message)


def _number(request: HttpRequest, name: str) -> int:
    """Return a number of the form; 0 when it is none."""
    value = request.POST.get(name, "")
    return int(value[:18]) if value.isascii() and value.isdecimal() else 0


def _is_script(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"
