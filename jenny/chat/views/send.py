"""Receives what a person sends to a conversation: text, Stop, Retry, a draft, and versions of
messages (edit and send again, answer again, show another version, branch off).

A form without script gets a redirect; a script gets JSON, with the sentence to show when the text
was refused (the page keeps the text).
"""

import contextlib
from collections.abc import Sequence
from http import HTTPStatus
from uuid import UUID, uuid4, uuid5

from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from jenny.accounts import access as accounts
from jenny.accounts.models import Account, Workspace
from jenny.chat import access
from jenny.chat.models import Attachment, Conversation, Draft, Message
from jenny.chat.services import attachments, branches, commands, send_message
from jenny.chat.services.model_menu import chosen_preset
from jenny.chat.services.send_message import MessageRefused
from jenny.chat.thread import item
from jenny.chat.views import conversation_list, conversation_pages
from jenny.workspace.errors import WorkspaceError
from wikis import pages as pages_of_wikis

_FIRST = UUID("5b6f0f6e-2d5c-4a39-9d6e-0a3f5f1f7c11")
_IN_TRASH = (
    "The conversation that this message began is in the trash. Bring it back from there, or load "
    "the page again to begin another one."
)
# Characters of a draft kept on the server; the browser keeps it whole.
LONGEST_DRAFT = 200_000


@require_POST
def begin_conversation(request: HttpRequest) -> HttpResponse:
    workspace = accounts.workspace(request)
    key = _client_key(request)
    there = Conversation.all_objects.filter(
        pk=_first_id(workspace, key), workspace=workspace
    ).first()
    if there is not None and there.deleted_at is not None:
        return _refused(request, workspace, None, _IN_TRASH)
    if there is not None and key and there.has_taken(key):
        return _was_taken(request, there, None)
    project = request.POST.get("project", "")
    # It is stored with its first message, so that one that is refused leaves nothing.
    chat = there or Conversation(
        pk=_first_id(workspace, key),
        workspace=workspace,
        preset=chosen_preset(workspace, request.POST.get("preset", "")),
        kind=Conversation.Kind.PROJECT if project else _kind(request),
        project=project,
    )
    try:
        files = _files(request, workspace, None)
        text = send_message.check_text(request.POST.get("text", ""), has_files=bool(files))
        if project:
            pages_of_wikis.open_wiki(workspace.root, project)
        keeps_files = _accept(chat, text, key, files)
    except send_message.MessageRefused as refused:
        return _refused(request, workspace, None, str(refused))
    except WorkspaceError as error:
        if key and chat.has_taken(key):
            # By the same form, sent twice at once.
            return _was_taken(request, chat, None)
        return _refused(request, workspace, None, f"{error.message} Nothing was sent.")
    Draft.objects.filter(account_id=accounts.account(request).pk, conversation=None).delete()
    return _went_to(request, chat, keeps_files=keeps_files)


@require_POST
@access.deleted_is_not_found
def send(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    key = _client_key(request)
    if key and chat.has_taken(key):
        return _was_taken(request, chat, chat.pk)
    try:
        files = _files(request, chat.workspace, chat)
        text = send_message.check_text(request.POST.get("text", ""), has_files=bool(files))
        keeps_files = _accept(chat, text, key, files)
    except send_message.MessageRefused as refused:
        return _refused(request, chat.workspace, chat, str(refused))
    except WorkspaceError as error:
        if key and chat.has_taken(key):
            # By the same form, sent twice at once.
            return _was_taken(request, chat, chat.pk)
        return _refused(request, chat.workspace, chat, f"{error.message} Nothing was sent.")
    Draft.forget(accounts.account(request).pk, chat.pk)
    return _went_to(request, chat, keeps_files=keeps_files)


def _was_taken(request: HttpRequest, chat: Conversation, draft_of: UUID | None) -> HttpResponse:
    """Answer a form that is sent again after a lost answer: nothing of it is done again."""
    Draft.objects.filter(account_id=accounts.account(request).pk, conversation=draft_of).delete()
    return _went_to(request, chat)


def _files(
    request: HttpRequest, workspace: Workspace, chat: Conversation | None
) -> list[Attachment]:
    """Return the files that the form names; without script, those that came with it, too.

    :raises WorkspaceError: one that came with the form is not accepted.
    """
    account = accounts.account(request)
    wanted = request.POST.get("attachments", "").split()
    for file in request.FILES.getlist("files"):
        row = attachments.receive_file(account, workspace, chat, file, uuid4().hex)
        wanted.append(str(row.pk))
    if not wanted:
        return []
    there = {str(row.pk): row for row in attachments.waiting_for(account, workspace, chat)}
    if not there.keys() >= set(wanted):
        raise attachments.AttachmentRefused(
            "A file of this message was removed, or sent with another message. Load the page again "
            "to see what is attached."
        )
    return [there[key] for key in dict.fromkeys(wanted)]


def _client_key(request: HttpRequest) -> str:
    return request.POST.get("client_key", "")[:64].replace("\0", "")


def _kind(request: HttpRequest) -> str:
    is_temporary = request.POST.get("temporary") == "1"
    return Conversation.Kind.TEMPORARY if is_temporary else Conversation.Kind.PERSONAL


def _first_id(workspace: Workspace, client_key: str) -> UUID:
    """Derive the new conversation's id from *client_key*.

    A form sent twice, even at once, then begins one conversation.
    """
    return uuid5(_FIRST, f"{workspace.pk}/{client_key}") if client_key else uuid4()


def _accept(
    chat: Conversation, text: str, client_key: str, files: Sequence[Attachment] = ()
) -> bool:
    """Execute a command at once; everything else is for the model.

    True: *files* still wait, since a command takes none.

    :raises WorkspaceError: a file cannot be stored; nothing was sent.
    """
    call = commands.parse(text)
    if call is None:
        send_message.accept_message(chat, text, client_key, files=files)
        return False
    chat.insert_if_new()
    commands.run_command(chat, call, client_key)
    for row in files:
        attachments.move_to(row, chat)
    return bool(files)


@require_POST
@access.deleted_is_not_found
def stop(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """End the live turn; its partial text is kept."""
    chat = access.conversation(request, conversation_id)
    send_message.stop_turn(chat)
    return _went_to(request, chat)


@require_POST
@access.deleted_is_not_found
def retry(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    turn = request.POST.get("turn", "")
    if turn.isdecimal():
        send_message.retry_turn(chat, int(turn[:18]))
    return _went_to(request, chat)


@require_POST
def first_draft(request: HttpRequest) -> HttpResponse:
    """Save the text typed for a new conversation."""
    return _keep_draft(request, accounts.account(request), None)


@require_POST
@access.deleted_is_not_found
def draft(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Save the text typed for this conversation."""
    chat = access.conversation(request, conversation_id)
    return _keep_draft(request, accounts.account(request), chat)


def _keep_draft(request: HttpRequest, account: Account, chat: Conversation | None) -> HttpResponse:
    text = request.POST.get("text", "")[:LONGEST_DRAFT].replace("\0", "")
    rows = Draft.objects.filter(account_id=account.pk, conversation=chat)
    if not text:
        rows.delete()
    elif not rows.update(text=text):
        with contextlib.suppress(IntegrityError), transaction.atomic():
            # Two tabs may create the first draft at once; then the other tab's row exists.
            Draft.objects.create(account_id=account.pk, conversation=chat, text=text)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


def _went_to(
    request: HttpRequest, chat: Conversation, *, keeps_files: bool = False
) -> HttpResponse:
    url = reverse("chat:conversation", args=[chat.pk])
    if request.POST.get("tour") == "1":
        url += "?tour=1"
    if _wants_json(request):
        return JsonResponse({"conversation": str(chat.pk), "url": url, "keeps_files": keeps_files})
    return HttpResponseRedirect(url)


def _refused(
    request: HttpRequest, workspace: Workspace, chat: Conversation | None, message: str
) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"message": message}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    text = request.POST.get("text", "")
    return conversation_pages.show(request, workspace, chat, problem=message, text=text)


def _wants_json(request: HttpRequest) -> bool:
    """True when a script sent the form and shows the answer itself."""
    return request.headers.get("HX-Request") == "true" or request.headers.get(
        "Accept", ""
    ).startswith("application/json")


_STEPS = {"-1": -1, "1": 1}


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
            return _edit_form(request, chat, message_id, text, str(refused))
        return _answer_done(request, chat)
    row = chat.messages.filter(pk=message_id, kind=Message.Kind.USER, is_current=True).first()
    if row is None:
        raise Http404
    if _is_script(request) and "cancel" in request.GET:
        return render(request, "chat/thread.html#said", {"item": item(row)})
    return _edit_form(request, chat, message_id, row.text, "")


@require_POST
@access.deleted_is_not_found
def regenerate(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    try:
        branches.regenerate_answer(chat, _number(request, "turn"))
    except MessageRefused as refused:
        return _refuse_version(request, chat, str(refused))
    return _answer_done(request, chat)


@require_POST
@access.deleted_is_not_found
def version(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Show the version before or after a message's, or without ``step`` the one with it."""
    chat = access.conversation(request, conversation_id)
    message, step = _number(request, "message"), _STEPS.get(request.POST.get("step", ""))
    try:
        if step is None:
            branches.show_message(chat, message)
        else:
            branches.show_version(chat, message, step)
    except MessageRefused as refused:
        return _refuse_version(request, chat, str(refused))
    return redirect("chat:at", chat.pk, message) if step is None else _answer_done(request, chat)


@require_POST
@access.deleted_is_not_found
def branch(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Begin a new conversation with what was said up to a message, and go there."""
    chat = access.conversation(request, conversation_id)
    try:
        new = branches.branch_off(chat, _number(request, "message"))
    except MessageRefused as refused:
        return _refuse_version(request, chat, str(refused))
    page = reverse("chat:conversation", args=[new.pk])
    return HttpResponseClientRedirect(page) if _is_script(request) else HttpResponseRedirect(page)


def _edit_form(
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


def _answer_done(request: HttpRequest, chat: Conversation) -> HttpResponse:
    if _is_script(request):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return HttpResponseRedirect(reverse("chat:conversation", args=[chat.pk]))


def _refuse_version(request: HttpRequest, chat: Conversation, message: str) -> HttpResponse:
    if _is_script(request):
        return HttpResponse(message, status=HTTPStatus.CONFLICT, content_type="text/plain")
    return conversation_pages.show(request, chat.workspace, chat, problem=message)


def _number(request: HttpRequest, name: str) -> int:
    """Return a number of the form; 0 when it is none."""
    value = request.POST.get(name, "")
    return int(value[:18]) if value.isascii() and value.isdecimal() else 0


def _is_script(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"
