"""Actions on a whole conversation: rename, delete, choose its model."""

from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation
from jenny.chat.services import conversation_documents as documents
from jenny.chat.services import conversation_list as lists
from jenny.chat.services import deletion, shared_messages
from jenny.chat.services.attachment_files import paths_of
from jenny.chat.services.model_menu import chosen_preset
from jenny.chat.services.publish import Publisher
from jenny.chat.views.conversation_list import as_file, deleted, rail_of
from jenny.workspace import retention
from jenny.workspace.errors import WorkspaceError

LONGEST_TITLE = 120


@require_POST
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Set a person's title; the model makes none from then on."""
    chat = access.conversation(request, conversation_id)
    _rename(chat, request.POST.get("title", ""))
    return _back(request, chat)


def _rename(chat: Conversation, given: str) -> None:
    title = " ".join(given.replace("\0", "").split())[:LONGEST_TITLE]
    if title and title != chat.title:
        chat.title, chat.titled_by_hand = title, True
        Conversation.objects.filter(pk=chat.pk).update(title=title, titled_by_hand=True)
        Publisher(chat).conversation_title()


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def about(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Show the name and the tags of a conversation in one form; on POST save them."""
    chat = access.conversation(request, conversation_id)
    if request.method == "POST":
        _rename(chat, request.POST.get("title", ""))
        lists.set_tags(chat, request.POST.get("tags", "").split(","))
        return HttpResponseRedirect(f"/chat/{chat.pk}/")
    context = {
        "conversation": chat,
        "names": ", ".join(tag.name for tag in chat.tags.order_by("key")),
        "tags": lists.tags_of(chat.workspace),
        "rail": rail_of(accounts.account(request), chat.workspace),
    }
    return render(request, "chat/about.html", context)


@require_safe
def export(request: HttpRequest, conversation_id: UUID, ending: str) -> HttpResponse:
    """Send a conversation as a file."""
    chat = access.conversation(request, conversation_id)
    if ending not in documents.FORMATS:
        raise Http404
    answer = HttpResponse(
        documents.document(chat, ending), content_type=f"{documents.FORMATS[ending]}; charset=utf-8"
    )
    return as_file(answer, documents.file_name(chat, ending))


@require_POST
def seen(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Note that the newest answer was looked at: its page was in sight when it ended."""
    lists.mark_seen(access.conversation(request, conversation_id))
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def choose_model(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    preset = chosen_preset(chat.workspace, request.POST.get("preset", ""))
    Conversation.objects.filter(pk=chat.pk).update(preset=preset)
    return _back(request, chat)


@require_POST
@access.deleted_is_not_found
def keep_temporary_chat(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Make a temporary chat permanent, from its start."""
    chat = access.conversation(request, conversation_id)
    shared_messages.keep_chat(chat)
    return _back(request, chat)


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    chat = access.conversation(request, conversation_id)
    problem = ""
    if request.method == "POST":
        choice = request.POST.get("memory", "")
        now = timezone.now()
        try:
            deletion.delete_conversation(
                chat,
                choice if choice in deletion.CHOICES else deletion.KEEP,
                deleted_at=now,
                with_files=request.POST.get("files") == "1",
            )
        except WorkspaceError as error:
            problem = f"{error.message} The conversation was not deleted."
        else:
            deleted(request, now, [chat])
            return redirect("chat:start")
    context = {
        "conversation": chat,
        "rail": rail_of(accounts.account(request), chat.workspace),
        "holds": deletion.memory_of_conversations([chat]),
        "files": paths_of(chat),
        "kept_days": retention.TRASH.days,
        "problem": problem,
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "chat/delete.html", context, status=status)


def _back(request: HttpRequest, chat: Conversation) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRefresh()
    return HttpResponseRedirect(f"/chat/{chat.pk}/")
