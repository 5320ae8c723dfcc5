"""The chat's pages: a new conversation, one with its thread, older parts of the thread."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jenny.accounts import access as accounts
from jenny.accounts.access import take_kept_text
from jenny.accounts.models import Account, Workspace
from jenny.chat import access, commands
from jenny.chat import thread as threads
from jenny.chat.meter import meter, meter_of
from jenny.chat.models import Conversation, Draft, Message, Turn
from jenny.chat.prompt import build, fixed_cost, zone_of
from jenny.chat.stream import Position
from jenny.chat.toolset import tools_of
from jenny.chat.views.models_menu import presets_of
from jenny.workspace import config as workspace_config
from jenny.workspace.errors import WorkspaceError
from wikis import pages as wikis
from wikis.errors import WikiError

# Messages of one window; older ones come on scroll.
WINDOW = 60
# Conversations in the list.
LISTED = 200


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """The page of a conversation that does not exist yet."""
    workspace = accounts.workspace(request)
    if name := request.GET.get("project", ""):
        try:
            wikis.open_wiki(workspace.root, name)
        except WorkspaceError as error:
            raise Http404(error.sentence) from error
    return show(request, workspace, None)


@require_safe
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """A conversation with its newest messages, or those before ``?before=``."""
    chat = access.conversation(request, conversation_id)
    current = accounts.workspace(request)
    if chat.workspace_id != current.pk:
        return _elsewhere(request, chat.workspace, current)
    return show(request, chat.workspace, chat)


def _elsewhere(request: HttpRequest, meant: Workspace, current: Workspace) -> HttpResponse:
    """Of two workspaces one is shown at a time: which one, is for the person to say."""
    sentence = f"This conversation is in “{meant.name}”, and you work in “{current.name}” now."
    context = {"sentence": sentence, "meant": meant, "page": request.path, "stay": "/chat/"}
    return render(request, "accounts/elsewhere.html", context)


def show(
    request: HttpRequest,
    workspace: Workspace,
    chat: Conversation | None,
    *,
    problem: str = "",
    text: str = "",
) -> HttpResponse:
    """The page; with a *problem*, that sentence above the composer, and *text* in it again."""
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
    """The thread alone: whole, or with ``?before=`` the messages above it."""
    chat = access.conversation(request, conversation_id)
    context = {"conversation": chat} | _window(request, chat)
    part = "#older" if request.GET.get("before") else ""
    return render(request, f"chat/thread.html{part}", context)


def _window(request: HttpRequest, chat: Conversation) -> dict[str, Any]:
    """A window of messages, and the position in the stream that they stand for."""
    # In this order: what the rows hold beyond these two is told by the stream once more.
    chat.refresh_from_db(fields=["event_number"])
    turn = chat.turns.filter(state__in=Turn.LIVE).first()
    before = request.GET.get("before", "")
    rows = Message.objects.filter(conversation=chat, is_current=True)
    if before.isdecimal():
        rows = rows.filter(pk__lt=int(before[:18]))
    newest = list(
        rows.select_related("turn", "conversation__workspace")
        .prefetch_related("blocks", "summaries__conversation__workspace")
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
    """Up to where *rows*, just read, hold what the stream told.

    ``chat.event_number`` was read before them, so they hold at least that much, except for
    text that is being written: there the row's own position counts.
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


def groups_of(account: Account, workspace: Workspace) -> list[tuple[str, list[Conversation]]]:
    """The newest conversations for the column beside the page, by day in the person's zone."""
    now = datetime.now(UTC).astimezone(zone_of(account.time_zone))
    live = Turn.objects.filter(conversation=OuterRef("pk"), state__in=Turn.LIVE)
    listed: list[Conversation] = list(
        Conversation.objects.filter(workspace=workspace)
        .annotate(is_live=Exists(live))
        .order_by("-active_at")[:LISTED]
    )
    apart = [row for row in listed if row.kind == Conversation.Kind.TEMPORARY]
    projects: dict[str, list[Conversation]] = {}
    for row in listed:
        if row.kind == Conversation.Kind.PROJECT:
            projects.setdefault(row.project, []).append(row)
    by_name = [(f"Project {name}", rows) for name, rows in sorted(projects.items())]
    rest = (row for row in listed if row.kind == Conversation.Kind.PERSONAL)
    days = threads.by_day(rest, lambda row: row.active_at, now)
    return [*([("Temporary", apart)] if apart else []), *by_name, *days]


def _frame(request: HttpRequest, workspace: Workspace, chat: Conversation | None) -> dict[str, Any]:
    """What stands around the thread."""
    account = accounts.account(request)
    config = workspace_config.load(workspace.root)
    project = _project_of(request, chat)
    return {
        "conversation": chat,
        "temporary": _is_temporary(request, chat),
        "project": project,
        "groups": groups_of(account, workspace),
        "commands": commands.COMMANDS,
        "presets": presets_of(workspace, chat),
        "draft": _draft(request, account, chat),
        "meter": meter_of(chat, config) if chat else None,
        "zone": account.time_zone,
        "prompt_notices": _prompt_notices(workspace, config, project),
    }


def _is_temporary(request: HttpRequest, chat: Conversation | None) -> bool:
    """Whether the chat leaves no memory, or the new one would."""
    if chat is None:
        return "1" in {request.GET.get("temporary"), request.POST.get("temporary")}
    return chat.kind == Conversation.Kind.TEMPORARY


def _project_of(request: HttpRequest, chat: Conversation | None) -> str:
    """The project that the chat takes place in, or the new one would; empty: in none."""
    if chat is None:
        return request.GET.get("project", "") or request.POST.get("project", "")
    return chat.project


def _prompt_notices(
    workspace: Workspace, config: workspace_config.Config, project: str
) -> list[str]:
    """What the person should know of the files that go out with every message: those that
    cannot be read, and those so large that a conversation has no room beside them."""
    kind = "project" if project else "personal"
    tools = tools_of(kind)
    schemas = [tool.schema for tool in tools]
    names = [tool.name for tool in tools]
    try:
        prompt = build(kind, workspace.root, tool_names=names, schemas=schemas, project=project)
    except WikiError as error:
        return [f"{error.sentence} What was said here can be read; nothing can be answered."]
    room = meter(
        0,
        window=config.get("agents.defaults.contextWindowTokens"),
        max_tokens=config.get("agents.defaults.maxTokens"),
    ).total
    cost = fixed_cost(prompt, schemas, room=room)
    return [sentence for sentence in (*prompt.problems, cost.sentence) if sentence]


def _draft(request: HttpRequest, account: Account, chat: Conversation | None) -> str:
    """What was typed here and not sent; text that an ended session left behind comes first."""
    kept = take_kept_text(request, f"/chat/{chat.pk}/" if chat else "/chat/")
    row = Draft.objects.filter(account_id=account.pk, conversation=chat).first()
    return kept or (row.text if row else "")
