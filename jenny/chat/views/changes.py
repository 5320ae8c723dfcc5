"""What a turn changed in the memory files: looked at, and taken back."""

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import Conversation, Turn
from jenny.chat.tasks import changed
from jenny.chat.tasks.publish import Publisher
from jenny.chat.views import pages
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs
from jenny.workspace.errors import WorkspaceError
from memory import undoing
from memory.models import TurnChange
from memory.provenance.record import TURN
from memory.undoing import Step

# Characters of one file's difference.
_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class File:
    """A file's part in the page."""

    path: str
    counts: diffs.Counts
    html: str
    step: Step


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def changes(request: HttpRequest, conversation_id: UUID, turn_id: int) -> HttpResponse:
    """The difference that a turn made; on POST it is taken back, file by file. Where somebody went
    on in a file since, that is said first, and a second press (``confirm=yes``) does it."""
    chat = access.conversation(request, conversation_id)
    turn = chat.turns.filter(pk=turn_id).first()
    rows = changed.changes_of(turn) if turn is not None else []
    if turn is None or not rows:
        raise Http404
    if request.method == "POST" and (done := _undo(request, chat, turn, rows)) is not None:
        return done
    return _page(request, chat, turn, rows)


def _undo(
    request: HttpRequest, chat: Conversation, turn: Turn, rows: list[TurnChange]
) -> HttpResponse | None:
    """Take it back; ``None``: the page must ask first, or shows why not."""
    is_script = request.headers.get("HX-Request") == "true"
    page = reverse("chat:changes", args=[chat.pk, turn.pk])
    root, run = chat.workspace.root, f"{TURN}{turn.pk}"
    values = changed.values(rows)
    try:
        steps = undoing.plan(root, run, values)
        asks = any(step.label in {"moved on", "conflict"} or step.left_out for step in steps)
        if asks and request.POST.get("confirm") != "yes":
            return _sent_to(page) if is_script else None
        steps = undoing.undo(root, run, values, account=chat.workspace.owner_id)
    except (OSError, WorkspaceError) as error:
        sentence = getattr(error, "sentence", "The files cannot be read now.")
        if is_script:
            return HttpResponse(sentence, status=HTTPStatus.CONFLICT, content_type="text/plain")
        return _page(request, chat, turn, rows, problem=sentence)
    if all(step.label == "conflict" for step in steps):
        return _page(request, chat, turn, rows)
    answer = changed.mark_undone(turn, rows)
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
    values = changed.values(rows)
    steps = undoing.plan(chat.workspace.root, f"{TURN}{turn.pk}", values)
    files = [
        File(
            row.path,
            diffs.counts(row.before, row.after),
            _html(row.path, row.before, row.after),
            step,
        )
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
        "groups": pages.groups_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "chat/changes.html", context, status=status)


def _html(path: str, before: bytes | None, after: bytes | None) -> str:
    text = diffs.bounded(diffs.unified(path, before, after), _SHOWN)
    return markdown(diffs.fenced(text))


def _sent_to(page: str) -> HttpResponse:
    """Lead a script's page there."""
    answer = HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer["HX-Redirect"] = page
    return answer
