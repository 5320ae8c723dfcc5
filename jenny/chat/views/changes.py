"""Shows and undoes a turn's changes of memory files."""

from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation, Turn
from jenny.chat.services import memory_changes
from jenny.chat.services.publish import Publisher
from jenny.chat.views import conversation_list
from jenny.workspace.diffs import difference
from jenny.workspace.errors import WorkspaceError
from memory import undo_turn
from memory.models import TurnChange
from memory.provenance import TURN


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def changes(request: HttpRequest, conversation_id: UUID, turn_id: int) -> HttpResponse:
    """Show the diff of a turn; on POST undo it, file by file.

    Where a file was changed since, the page says so first, and a second press (``confirm=yes``)
    undoes it.
    """
    chat = access.conversation(request, conversation_id)
    turn = chat.turns.filter(pk=turn_id).first()
    rows = memory_changes.changes_of(turn) if turn is not None else []
    if turn is None or not rows:
        raise Http404
    if request.method == "POST" and (done := _undo(request, chat, turn, rows)) is not None:
        return done
    return _page(request, chat, turn, rows)


def _undo(
    request: HttpRequest, chat: Conversation, turn: Turn, rows: list[TurnChange]
) -> HttpResponse | None:
    """Undo the changes; ``None``: the page must ask first, or shows why not."""
    is_script = request.headers.get("HX-Request") == "true"
    page = reverse("chat:changes", args=[chat.pk, turn.pk])
    root, run = chat.workspace.root, f"{TURN}{turn.pk}"
    values = memory_changes.values(rows)
    try:
        steps = undo_turn.plan(root, run, values)
        asks = any(step.label in {"moved on", "conflict"} or step.left_out for step in steps)
        if asks and request.POST.get("confirm") != "yes":
            return _sent_to(page) if is_script else None
        steps = undo_turn.undo_turn(root, run, values, account=chat.workspace.owner_id)
    except (OSError, WorkspaceError) as error:
        message = getattr(error, "message", "The files cannot be read now.")
        if is_script:
            return HttpResponse(message, status=HTTPStatus.CONFLICT, content_type="text/plain")
        return _page(request, chat, turn, rows, problem=message)
    if all(step.label == "conflict" for step in steps):
        return _page(request, chat, turn, rows)
    done = {step.path for step in steps if step.label != "conflict"}
    answer = memory_changes.mark_undone(turn, [row for row in rows if row.path in done])
    if answer is not None:
        Publisher(chat).message(answer)
    if is_script:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return HttpResponseRedirect(page)


def _page(
    request: HttpRequest,
    chat: Conversation,
    turn: Turn,
    rows: list[TurnChange],
    *,
    problem: str = "",
) -> HttpResponse:
    values = memory_changes.values(rows)
    steps = undo_turn.plan(chat.workspace.root, f"{TURN}{turn.pk}", values)
    files = [
        {
            "step": step,
            "difference": difference(row.before, row.after),
            "left_out": step.left_out,
        }
        for row, step in zip(values, steps, strict=True)
    ]
    answer = turn.messages.filter(kind="answer").order_by("-pk").first()
    context = {
        "conversation": chat,
        "turn": turn,
        "answer": answer,
        "files": files,
        "problem": problem,
        "undone": all(row.undone_at is not None for row in rows),
        "can_undo": any(step.label in {"clean", "moved on"} for step in steps),
        "conflicts": any(step.label == "conflict" for step in steps),
        "asks": any(step.label in {"moved on", "conflict"} or step.left_out for step in steps),
        "rail": conversation_list.rail_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "chat/changes.html", context, status=status)


def _sent_to(page: str) -> HttpResponse:
    answer = HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer["HX-Redirect"] = page
    return answer
