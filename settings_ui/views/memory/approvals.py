"""The approvals page: pending hunks, and runs that removed much from a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from jenny.workspace import config
from memory.approvals.values import DecisionOutcome, Hunk
from memory.services import approvals
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)
from settings_ui.views.memory.runs import decided, run_of

# Hunks on one page; the next ones appear as these are decided.
A_PAGE = 50
DECIDED = 20
TEXT_CHARS = 100_000
# Acceptances that one press undoes.
MOST_UNDONE = 200
_LARGEST = 2**62
_MODES = {
    "off": "Dream writes at once, as things are set now.",
    "removals": "What Dream would take out or replace waits for you. What it adds is written.",
    "all": "All that Dream would write waits for you.",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A hunk on the page. *proposed* is the initial text of the field for other words."""

    hunk: Hunk
    proposed: str
    what: str
    position: int
    count: int


@require_safe
@workspace_error_page
def approvals_page(request: HttpRequest) -> HttpResponseBase:
    mine = get_workspace_context(request)
    return render(request, "memory/approvals.html", _context(mine))


@require_POST
@workspace_error_page
def decide(request: HttpRequest, hunk_id: int) -> HttpResponseBase:
    """Apply a decision. A hunk that was decided in another tab is reported and not decided
    again."""
    mine = get_workspace_context(request)
    if approvals.find(mine.row, min(hunk_id, _LARGEST)) is None:
        raise Http404
    decision = request.POST.get("decision", "")
    if decision not in {"accept", "edit", "reject", "never", "remember"}:
        return _answer(
            request, mine, "Nothing was decided: the form named no decision.", status=422
        )
    outcome = _decided(request, mine, hunk_id, decision)
    if outcome.ok:
        messages.success(request, outcome.message, extra_tags=_undo_address([outcome]))
        return _answer(request, mine)
    # Words of the person's own are not lost for it: they accept them once more.
    again = hunk_id if outcome.is_forgotten and decision == "accept" else 0
    return _answer(request, mine, outcome.message, status=422, failed=hunk_id, again=again)


@require_POST
@workspace_error_page
def accept_all(request: HttpRequest) -> HttpResponseBase:
    """Accept all pending hunks; those that cannot be accepted keep waiting, with a reason."""
    mine = get_workspace_context(request)
    outcomes = approvals.accept_all(mine.row, account=mine.account)
    done = sum(row.ok for row in outcomes)
    if done:
        what = "1 change is" if done == 1 else f"{done} changes are"
        undo = _undo_address(outcomes)
        messages.success(request, f"{what} accepted, and written.", extra_tags=undo)
    for message in dict.fromkeys(row.message for row in outcomes if not row.ok):
        messages.error(request, message)
    if not outcomes:
        messages.info(request, "Nothing was changed: nothing waits any more.")
    return redirect("memory_approvals")


@require_POST
@workspace_error_page
def undo(request: HttpRequest) -> HttpResponseBase:
    """Undo acceptances: the address names the changes (``changes=1,2``)."""
    mine = get_workspace_context(request)
    numbers = [number_in(text) for text in request.GET.get("changes", "").split(",")[:MOST_UNDONE]]
    # The last one first, since later changes stand on earlier ones.
    outcomes = [
        approvals.undo_acceptance(mine.row, min(number, _LARGEST), account=mine.account)
        for number in reversed(numbers)
        if number
    ]
    done = [row for row in outcomes if row.ok]
    if len(done) == 1:
        messages.success(request, done[0].message)
    elif done:
        what = f"{len(done)} changes are undone, and wait for you again."
        messages.success(request, what)
    for message in dict.fromkeys(row.message for row in outcomes if not row.ok):
        messages.error(request, message)
    if not outcomes:
        messages.info(request, "Nothing was undone: the address names no change.")
    return redirect("memory_approvals")


def _undo_address(outcomes: Sequence[DecisionOutcome]) -> str:
    """Return the address that undoes these acceptances; empty: it cannot be undone here."""
    numbers = [
        str(row.hunk.id)
        for row in outcomes
        if row.ok and row.hunk is not None and row.hunk.state == "accepted" and not row.hunk.is_wish
    ]
    if not 0 < len(numbers) <= MOST_UNDONE:
        return ""
    return f"{reverse('memory_approvals_undo')}?{urlencode({'changes': ','.join(numbers)})}"


@require_POST
@workspace_error_page
def prune(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Bring back everything that a run removed from a file, or dismiss its notice."""
    mine = get_workspace_context(request)
    run_of(mine, run_id)
    act = approvals.bring_all_back if request.POST.get("act") == "back" else approvals.dismiss
    outcome = act(mine.row, run_id, account=mine.account)
    (messages.success if outcome.ok else messages.error)(request, outcome.message)
    return redirect("memory_run", run_id)


@require_POST
@workspace_error_page
def skill(request: HttpRequest) -> HttpResponseBase:
    """Approve that a skill is read in every conversation, in the very text that was shown."""
    mine = get_workspace_context(request)
    path, version = request.POST.get("path", ""), request.POST.get("version", "")
    if not any(row.path == path for row in approvals.skills_waiting(mine.row)):
        messages.info(request, "Nothing was changed: that skill waits for no answer any more.")
        return redirect("memory_approvals")
    outcome = approvals.approve_skill(mine.row, path, version, account=mine.account)
    (messages.success if outcome.ok else messages.error)(request, outcome.message)
    return redirect("memory_approvals")


def _decided(
    request: HttpRequest, mine: WorkspaceContext, hunk_id: int, decision: str
) -> DecisionOutcome:
    if decision == "reject":
        return approvals.reject_hunk(mine.row, hunk_id, account=mine.account)
    if decision == "never":
        return approvals.suppress(mine.row, hunk_id, account=mine.account)
    if decision == "remember":
        return approvals.remember_after_all(mine.row, hunk_id, account=mine.account)
    text = None
    if decision == "edit":
        text = request.POST.get("text", "")[:TEXT_CHARS].replace("\r\n", "\n")
    seen = request.POST.get("seen")
    return approvals.accept_hunk(
        mine.row,
        hunk_id,
        account=mine.account,
        text=text,
        seen=None if seen is None else seen.replace("\r\n", "\n"),
    )


def _answer(
    request: HttpRequest,
    mine: WorkspaceContext,
    problem: str = "",
    *,
    status: int = 200,
    failed: int = 0,
    again: int = 0,
) -> HttpResponse:
    """Render the page again, or its list for htmx; a problem is shown at its hunk. *again*: the
    number of one that can be remembered after all."""
    if status == HTTPStatus.OK and not is_fragment(request):
        return redirect("memory_approvals")
    context = _context(mine)
    still_waits = any(card.hunk.id == failed for card in context["cards"])
    context |= {
        "problem": problem,
        "failed": failed if still_waits else 0,
        "again": again,
        "typed": request.POST.get("text", "")[:TEXT_CHARS],
    }
    part = "#fragment" if is_fragment(request) else ""
    return render(request, f"memory/approvals.html{part}", context, status=status)


def _context(mine: WorkspaceContext) -> dict[str, Any]:
    found = approvals.waiting(mine.row)
    cards = [_card(row, at, len(found)) for at, row in enumerate(found[:A_PAGE], 1)]
    mode = config.load_config(mine.row.root).agents.defaults.dream.approve
    return base_context(mine, "approvals") | {
        "cards": cards,
        "more": max(0, len(found) - A_PAGE),
        "mode": mode,
        "mode_told": _MODES.get(mode, ""),
        "skills": [
            {"skill": row, "href": f"/memory/files/{quote(row.path)}"}
            for row in approvals.skills_waiting(mine.row)
        ],
        "decided": decided(approvals.decided(mine.row, most=DECIDED)),
    }


def _card(hunk: Hunk, position: int, count: int) -> Card:
    names = {
        "add": "Adds to",
        "change": "Rewords in",
        "remove": "Takes out of",
        "skill": "Writes the skill",
    }
    return Card(hunk, hunk.text or hunk.after, names[hunk.kind], position, count)
