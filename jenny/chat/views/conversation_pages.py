"""The chat's pages: a new conversation, one with its thread, older parts of the thread."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from jenny.accounts import access as accounts
from jenny.accounts.access import take_kept_text
from jenny.accounts.models import Account, Workspace
from jenny.agent.clock import zone_of
from jenny.chat import access
from jenny.chat import thread as threads
from jenny.chat.models import Block, Conversation, Draft, Message, Turn
from jenny.chat.prompt import build, fixed_cost
from jenny.chat.services import attachments, commands
from jenny.chat.services.context_window import meter, meter_of
from jenny.chat.services.conversation_list import mark_seen
from jenny.chat.services.model_menu import presets_of
from jenny.chat.services.send_message import LONGEST
from jenny.chat.stream import Position
from jenny.chat.thread import frame_content
from jenny.chat.tools import tools_of
from jenny.chat.views.conversation_list import rail_of
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from wikis import pages as wikis
from wikis.errors import WikiError
from wikis.views import detail
from wikis.views.base_context import WITH_FRAMES

# Messages of one window; older ones are loaded by scrolling.
WINDOW = 60
TOUR_FACT = "I drink green tea"


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    workspace = accounts.workspace(request)
    if name := request.GET.get("project", ""):
        try:
            wikis.open_wiki(workspace.root, name)
        except WorkspaceError as error:
            raise Http404(error.message) from error
    return show(request, workspace, None)


@require_safe
@csp_override(WITH_FRAMES)
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Show a conversation with its newest messages, or those before ``?before=``."""
    try:
        chat = access.conversation(request, conversation_id)
    except Http404:
        if (gone := access.conversation_in_trash(request, conversation_id)) is None:
            raise
        context = {"gone": gone, "rail": rail_of(accounts.account(request), gone.workspace)}
        return render(request, "chat/in_trash.html", context, status=HTTPStatus.NOT_FOUND)
    current = accounts.workspace(request)
    if chat.workspace_id != current.pk:
        return _elsewhere(request, chat.workspace, current)
    if chat.is_unread and request.method == "GET":
        mark_seen(chat)
    return show(request, chat.workspace, chat)


def _elsewhere(request: HttpRequest, meant: Workspace, current: Workspace) -> HttpResponse:
    """Ask which of two workspaces is meant, since one is shown at a time."""
    message = f"This conversation is in “{meant.name}”, and you work in “{current.name}” now."
    context = {"message": message, "meant": meant, "page": request.path, "stay": "/chat/"}
    return render(request, "accounts/elsewhere.html", context)


def show(
    request: HttpRequest,
    workspace: Workspace,
    chat: Conversation | None,
    *,
    problem: str = "",
    text: str = "",
) -> HttpResponse:
    """Render the page; a *problem* is shown above the composer, which gets *text* back."""
    context = _frame(request, workspace, chat)
    if chat is None:
        context |= {"items": [], "position": "0-0", "has_older": False, "turn": None}
    else:
        context |= _window(request, chat)
    if problem:
        context |= {"problem": problem, "draft": text}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "chat/conversation.html", context, status=status)


@require_safe
def thread(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Render the thread alone: whole, or with ``?before=`` the messages above it."""
    chat = access.conversation(request, conversation_id)
    context = {"conversation": chat} | _window(request, chat)
    part = "#older" if request.GET.get("before") else ""
    return render(request, f"chat/thread.html{part}", context)


@require_safe
def frame(request: HttpRequest, conversation_id: UUID, name: str) -> HttpResponseBase:
    """Show the frame of a diagram, or of the preview of a page or picture, of an answer."""
    chat = access.conversation(request, conversation_id)
    texts = Block.objects.filter(message__conversation=chat, html__contains=f"/{name}/")
    found = frame_content(texts.order_by("-pk").values_list("text", flat=True), name)
    if found is None:
        raise Http404
    return detail.frame_page(request, *found)


def _window(request: HttpRequest, chat: Conversation) -> dict[str, Any]:
    """Return a window of messages, and the stream position that they represent."""
    # Read in this order: the stream repeats what the rows have beyond these two fields.
    chat.refresh_from_db(fields=["event_number"])
    turn = chat.turns.filter(state__in=Turn.LIVE).first()
    before = request.GET.get("before", "")
    rows = Message.objects.filter(conversation=chat, is_current=True)
    if before.isdecimal():
        rows = rows.filter(pk__lt=int(before[:18]))
    newest = list(
        rows.select_related("turn", "conversation__workspace")
        .prefetch_related("blocks", "attachments", "summaries__conversation__workspace")
        .order_by("-pk")[: WINDOW + 1]
    )
    shown = newest[WINDOW - 1 :: -1] if len(newest) > WINDOW else newest[::-1]
    zone = zone_of(chat.workspace.owner.time_zone)
    return {
        "items": list(threads.items(shown, zone)),
        "has_older": len(newest) > WINDOW,
        "oldest_id": shown[0].pk if shown else None,
        "position": str(_position(chat, shown)),
        "turn": turn,
    }


def _position(chat: Conversation, rows: list[Message]) -> Position:
    """Return the position up to which *rows*, just read, contain what the stream sent.

    ``chat.event_number`` was read before them, so they contain at least that much, except for text
    being written: there the row's own position counts.
    """
    blocks = [block for row in rows for block in row.blocks.all()]
    live = [
        Position(block.event_number, block.event_count)
        for row in rows
        for block in row.blocks.all()
        if block.is_open and row.turn is not None and row.turn.is_live
    ]
    counts = [b.event_count for b in blocks if b.event_number == chat.event_number]
    return min([*live, Position(chat.event_number, max(counts, default=0))])


def _frame(request: HttpRequest, workspace: Workspace, chat: Conversation | None) -> dict[str, Any]:
    account = accounts.account(request)
    config = workspace_config.load_config(workspace.root)
    project, temporary = _project_of(request, chat), _is_temporary(request, chat)
    rail = rail_of(account, workspace)
    return {
        "conversation": chat,
        "source": _source_of(chat) if chat else None,
        "temporary": temporary,
        "project": project,
        "tour": not project and not temporary and _wants_tour(request, is_first=not rail.groups),
        "tour_fact": TOUR_FACT,
        "says_tour_fact": chat is not None
        and chat.messages.filter(text__contains=TOUR_FACT).exists(),
        "rail": rail,
        "commands": commands.COMMANDS,
        "longest_message": LONGEST,
        "presets": presets_of(workspace, chat),
        "draft": _draft(request, account, chat),
        "waiting_files": attachments.waiting_for(account, workspace, chat),
        "file_limits": attachments.limits_of(workspace),
        "most_files": attachments.MOST_FILES,
        "voice": config.voice,
        "meter": meter_of(chat, config) if chat else None,
        "zone": account.time_zone,
        "prompt_notices": _prompt_notices(workspace, config, project),
    }


def _source_of(chat: Conversation) -> dict[str, str] | None:
    """Return where the conversation was branched from: a title, and an address if it is there."""
    if not chat.source_message:
        return None
    source = Conversation.objects.filter(copies=chat).first()
    if source is None:
        return {"title": "a conversation that was deleted", "url": ""}
    page = reverse("chat:conversation", args=[source.pk])
    is_shown = source.messages.filter(pk=chat.source_message, is_current=True).exists()
    url = reverse("chat:at", args=[source.pk, chat.source_message]) if is_shown else page
    return {"title": source.title or "Untitled", "url": url}


def _wants_tour(request: HttpRequest, *, is_first: bool) -> bool:
    """True when the tour is asked for, or nothing was said in this workspace yet."""
    asked = request.POST.get("tour") or request.GET.get("tour")
    return asked == "1" or (is_first and asked != "0")


def _is_temporary(request: HttpRequest, chat: Conversation | None) -> bool:
    if chat is None:
        return "1" in {request.GET.get("temporary"), request.POST.get("temporary")}
    return chat.kind == Conversation.Kind.TEMPORARY


def _project_of(request: HttpRequest, chat: Conversation | None) -> str:
    """Return the project of the chat or of the new one; empty: none."""
    if chat is None:
        return request.GET.get("project", "") or request.POST.get("project", "")
    return chat.project


def _prompt_notices(
    workspace: Workspace, config: workspace_config.Config, project: str
) -> list[str]:
    """Return warnings about prompt files that are unreadable or too large for a conversation."""
    kind = "project" if project else "personal"
    tools = tools_of(kind)
    schemas = [tool.schema for tool in tools]
    names = [tool.name for tool in tools]
    try:
        prompt = build(
            kind,
            workspace.root,
            tool_names=names,
            project=project,
            zone=workspace.owner.time_zone,
        )
    except WikiError as error:
        return [f"{error.message} What was said here can be read; nothing can be answered."]
    room = meter(
        0,
        window=config.agents.defaults.context_window_tokens,
        max_tokens=config.agents.defaults.max_tokens,
    ).total
    cost = fixed_cost(prompt, schemas, room=room)
    return [message for message in (*prompt.problems, cost.message) if message]


def _draft(request: HttpRequest, account: Account, chat: Conversation | None) -> str:
    """Return the text typed here and not sent; text saved when a session ended comes first."""
    kept = take_kept_text(request, f"/chat/{chat.pk}/" if chat else "/chat/")
    row = Draft.objects.filter(account_id=account.pk, conversation=chat).first()
    return kept or (row.text if row else "")
