"""What is done to a conversation as a whole: rename, delete, choose its model."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation
from jenny.chat.tasks import deleting, keeping
from jenny.chat.tasks.publish import Publisher
from jenny.chat.views.models_menu import chosen_preset
from jenny.chat.views.pages import groups_of
from jenny.workspace.errors import WorkspaceError

LONGEST_TITLE = 120


@require_POST
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Give a conversation a title by hand; the model makes none from then on."""
    chat = access.conversation(request, conversation_id)
    title = " ".join(request.POST.get("title", "").replace("\0", "").split())[:LONGEST_TITLE]
    if title:
        chat.title, chat.titled_by_hand = title, True
        Conversation.objects.filter(pk=chat.pk).update(title=title, titled_by_hand=True)
        Publisher(chat).conversation_title()
    return _back(request, chat)


@require_POST
def choose_model(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Choose the preset that answers in this conversation."""
    chat = access.conversation(request, conversation_id)
    preset = chosen_preset(chat.workspace, request.POST.get("preset", ""))
    Conversation.objects.filter(pk=chat.pk).update(preset=preset)
    return _back(request, chat)


@require_POST
@access.deleted_is_not_found
def keep(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Make a temporary chat one that is remembered, from its start."""
    chat = access.conversation(request, conversation_id)
    keeping.keep(chat)
    return _back(request, chat)


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Ask, and on POST delete the conversation with its messages."""
    chat = access.conversation(request, conversation_id)
    problem = ""
    if request.method == "POST":
        choice = request.POST.get("memory", "")
        try:
            deleting.delete(chat, choice if choice in deleting.CHOICES else deleting.KEEP)
        except WorkspaceError as error:
            problem = f"{error.sentence} The conversation was not deleted."
        else:
            return redirect("chat:start")
    context = {
        "conversation": chat,
        "groups": groups_of(accounts.account(request), chat.workspace),
        "holds": deleting.holds(chat),
        "problem": problem,
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "chat/delete.html", context, status=status)


def _back(request: HttpRequest, chat: Conversation) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRefresh()
    return HttpResponseRedirect(f"/chat/{chat.pk}/")
