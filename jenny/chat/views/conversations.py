"""What is done to a conversation as a whole: rename, delete, choose its model."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from jenny.chat import access
from jenny.chat.models import Conversation
from jenny.chat.tasks import accept
from jenny.chat.tasks.publish import Publisher
from jenny.chat.views.models_menu import chosen_preset

LONGEST_TITLE = 120


@require_POST
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Give a conversation a title by hand; the model makes none from then on."""
    chat = access.conversation(request, conversation_id)
    title = " ".join(request.POST.get("title", "").replace("\0", "").split())[:LONGEST_TITLE]
    if title:
        chat.title, chat.titled_by_hand = title, True
        chat.save(update_fields=["title", "titled_by_hand"])
        Publisher(chat).conversation_title()
    return _back(request, chat)


@require_POST
def choose_model(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Choose the preset that answers in this conversation."""
    chat = access.conversation(request, conversation_id)
    chat.preset = chosen_preset(chat.workspace, request.POST.get("preset", ""))
    chat.save(update_fields=["preset"])
    return _back(request, chat)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Ask, and on POST delete the conversation with its messages."""
    chat = access.conversation(request, conversation_id)
    if request.method == "POST":
        accept.stop(chat)
        chat.delete()
        return redirect("chat:start")
    count = chat.messages.filter(kind__in=("user", "answer")).count()
    return render(request, "chat/delete.html", {"conversation": chat, "count": count})


def _back(request: HttpRequest, chat: Conversation) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRefresh()
    return HttpResponseRedirect(f"/chat/{chat.pk}/")
