"""What a person sends to a conversation: text, Stop, Retry, a draft.

A form without script is answered with a redirect; a script gets JSON, with the sentence to
show when something could not be taken (the page keeps the text).
"""

import contextlib
from http import HTTPStatus
from uuid import UUID, uuid4, uuid5

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from jenny.accounts import access as accounts
from jenny.accounts.models import Account, Workspace
from jenny.chat import access, commands
from jenny.chat.meter import meter_of
from jenny.chat.models import Conversation, Draft
from jenny.chat.tasks import accept, consolidation, dreaming, tidying
from jenny.chat.tasks.publish import Publisher
from jenny.chat.views import pages
from jenny.chat.views.models_menu import chosen_preset
from jenny.chat.views.replies import reply_to
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from wikis import pages as pages_of_wikis

_FIRST = UUID("5b6f0f6e-2d5c-4a39-9d6e-0a3f5f1f7c11")
# Characters of a draft that are kept on the server; the browser keeps it whole.
LONGEST_DRAFT = 200_000


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """The first message of a new conversation."""
    workspace = accounts.workspace(request)
    try:
        text = accept.check_text(request.POST.get("text", ""))
    except accept.Refused as refused:
        return _refused(request, workspace, None, str(refused))
    project = request.POST.get("project", "")
    try:
        if project:
            pages_of_wikis.open_wiki(workspace.root, project)
    except WorkspaceError as error:
        return _refused(request, workspace, None, f"{error.sentence} Nothing was sent.")
    key = request.POST.get("client_key", "")[:64].replace("\0", "")
    chat, _ = Conversation.objects.get_or_create(
        pk=_first_id(workspace, key),
        workspace=workspace,
        defaults={
            "preset": chosen_preset(workspace, request.POST.get("preset", "")),
            "kind": Conversation.Kind.PROJECT if project else _kind(request),
            "project": project,
        },
    )
    _take_in(chat, text, key)
    Draft.objects.filter(account_id=accounts.account(request).pk, conversation=None).delete()
    return _went_to(request, chat)


@require_POST
@access.deleted_is_not_found
def send(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """A message or a command."""
    chat = access.conversation(request, conversation_id)
    try:
        text = accept.check_text(request.POST.get("text", ""))
    except accept.Refused as refused:
        return _refused(request, chat.workspace, chat, str(refused))
    _take_in(chat, text, request.POST.get("client_key", "")[:64].replace("\0", ""))
    Draft.forget(accounts.account(request).pk, chat.pk)
    return _went_to(request, chat)


def _kind(request: HttpRequest) -> str:
    """What kind of conversation the first message begins."""
    is_temporary = request.POST.get("temporary") == "1"
    return Conversation.Kind.TEMPORARY if is_temporary else Conversation.Kind.PERSONAL


def _first_id(workspace: Workspace, client_key: str) -> UUID:
    """The id of the conversation that a first message begins: with the same *client_key* the
    same one, so that a form sent twice, even at once, begins one conversation."""
    return uuid5(_FIRST, f"{workspace.pk}/{client_key}") if client_key else uuid4()


def _take_in(chat: Conversation, text: str, client_key: str) -> None:
    """A command is answered here and now, everything else is for the model."""
    if client_key and chat.has_taken(client_key):
        # Sent again after a lost answer. What a command does (Stop) must not be done again.
        return
    call = commands.parse(text)
    if call is None:
        accept.accept(chat, text, client_key)
    elif refusal := commands.refusal(call.command, in_project=bool(chat.project)):
        accept.accept_command(chat, call, refusal, client_key)
    elif call.command.name == "/new":
        accept.start_anew(chat, client_key)
        chat.refresh_from_db(fields=["context_from", "tokens_gone"])
        gauge = meter_of(chat, workspace_config.load(chat.workspace.root))
        Publisher(chat).meter(gauge.sentence, gauge.percent)
    elif call.command.name == "/dream":
        dreaming.ask_for(chat, call, client_key)
    elif call.command.name == "/tidy":
        tidying.ask_for(chat, call, client_key)
    else:
        reply = accept.accept_command(chat, call, reply_to(chat, call), client_key)
        if call.command.name == "/compact":
            consolidation.ask_for(chat, reply)


@require_POST
@access.deleted_is_not_found
def stop(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """End the live turn; its partial text is kept."""
    chat = access.conversation(request, conversation_id)
    accept.stop(chat)
    return _went_to(request, chat)


@require_POST
@access.deleted_is_not_found
def retry(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Run a failed or interrupted turn again."""
    chat = access.conversation(request, conversation_id)
    turn = request.POST.get("turn", "")
    if turn.isdecimal():
        accept.retry(chat, int(turn[:18]))
    return _went_to(request, chat)


@require_POST
def first_draft(request: HttpRequest) -> HttpResponse:
    """Keep what is typed for a new conversation."""
    return _keep_draft(request, accounts.account(request), None)


@require_POST
@access.deleted_is_not_found
def draft(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Keep what is typed for this conversation."""
    chat = access.conversation(request, conversation_id)
    return _keep_draft(request, accounts.account(request), chat)


def _keep_draft(request: HttpRequest, account: Account, chat: Conversation | None) -> HttpResponse:
    text = request.POST.get("text", "")[:LONGEST_DRAFT].replace("\0", "")
    rows = Draft.objects.filter(account_id=account.pk, conversation=chat)
    if not text:
        rows.delete()
    elif not rows.update(text=text):
        with contextlib.suppress(IntegrityError), transaction.atomic():
            # Two tabs may make the first draft at once; then the other one's is there.
            Draft.objects.create(account_id=account.pk, conversation=chat, text=text)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


def _went_to(request: HttpRequest, chat: Conversation) -> HttpResponse:
    url = reverse("chat:conversation", args=[chat.pk])
    if _wants_json(request):
        return JsonResponse({"conversation": str(chat.pk), "url": url})
    return HttpResponseRedirect(url)


def _refused(
    request: HttpRequest, workspace: Workspace, chat: Conversation | None, sentence: str
) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"sentence": sentence}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    text = request.POST.get("text", "")
    return pages.show(request, workspace, chat, problem=sentence, text=text)


def _wants_json(request: HttpRequest) -> bool:
    """Whether a script sent the form and shows the answer itself."""
    return request.headers.get("HX-Request") == "true" or request.headers.get(
        "Accept", ""
    ).startswith("application/json")
