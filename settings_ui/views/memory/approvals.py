"""What waits for a person's yes, hunk by hunk; and runs that took much out of a file."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.workspace import config
from memory.approval.values import SETTING, Hunk, Outcome
from memory.management import approving
from settings_ui.views.memory.frame import Desk, desk, frame, is_fragment, told
from settings_ui.views.memory.runs import decided, run_of

# So many are shown at once; the others come up as these are decided.
A_PAGE = 50
DECIDED = 20
TEXT_CHARS = 100_000
_LARGEST = 2**62
_MODES = {
    "off": "Dream writes at once, as things are set now.",
    "removals": "What Dream would take out or replace waits for you. What it adds is written.",
    "all": "All that Dream would write waits for you.",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A hunk as the page shows it. *proposed*: what the field for other words begins with."""

    hunk: Hunk
    proposed: str
    what: str
    position: int
    count: int


@require_safe
@told
def page(request: HttpRequest) -> HttpResponseBase:
    """All that waits, file by file; and what was decided last."""
    mine = desk(request)
    return render(request, "memory/approvals.html", _context(mine))


@require_POST
@told
def decide(request: HttpRequest, hunk_id: int) -> HttpResponseBase:
    """Give a verdict. One that was given already, in another tab, is said and given no second
    time."""
    mine = desk(request)
    if approving.find(mine.row, min(hunk_id, _LARGEST)) is None:
        raise Http404
    verdict = request.POST.get("verdict", "")
    if verdict not in {"accept", "edit", "reject", "never"}:
        return _answer(request, mine, "Nothing was decided: the form named no verdict.", status=422)
    outcome = _decided(request, mine, hunk_id, verdict)
    if outcome.ok:
        messages.success(request, outcome.sentence)
        return _answer(request, mine)
    return _answer(request, mine, outcome.sentence, status=422, failed=hunk_id)


@require_POST
@told
def accept_all(request: HttpRequest) -> HttpResponseBase:
    """Accept all that waits; what cannot be accepted goes on waiting, and it is said why."""
    mine = desk(request)
    outcomes = approving.accept_all(mine.row, account=mine.account)
    done = sum(row.ok for row in outcomes)
    if done:
        what = "1 change is" if done == 1 else f"{done} changes are"
        messages.success(request, f"{what} accepted, and written.")
    for sentence in dict.fromkeys(row.sentence for row in outcomes if not row.ok):
        messages.error(request, sentence)
    if not outcomes:
        messages.info(request, "Nothing was changed: nothing waits any more.")
    return redirect("memory_approvals")


@require_POST
@told
def prune(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """Bring back all that a run took out of a file, or let its notice go."""
    mine = desk(request)
    run_of(mine, run_id)
    act = approving.bring_all_back if request.POST.get("act") == "back" else approving.dismiss
    outcome = act(mine.row, run_id, account=mine.account)
    (messages.success if outcome.ok else messages.error)(request, outcome.sentence)
    return redirect("memory_run", run_id)


@require_POST
@told
def skill(request: HttpRequest) -> HttpResponseBase:
    """Agree that a skill is read in every conversation, in just the text that was shown."""
    mine = desk(request)
    path, version = request.POST.get("path", ""), request.POST.get("version", "")
    if not any(row.path == path for row in approving.skills_waiting(mine.row)):
        messages.info(request, "Nothing was changed: that skill waits for no answer any more.")
        return redirect("memory_approvals")
    outcome = approving.approve_skill(mine.row, path, version, account=mine.account)
    (messages.success if outcome.ok else messages.error)(request, outcome.sentence)
    return redirect("memory_approvals")


def _decided(request: HttpRequest, mine: Desk, hunk_id: int, verdict: str) -> Outcome:
    if verdict == "reject":
        return approving.reject(mine.row, hunk_id, account=mine.account)
    if verdict == "never":
        return approving.never(mine.row, hunk_id, account=mine.account)
    text = None
    if verdict == "edit":
        text = request.POST.get("text", "")[:TEXT_CHARS].replace("\r\n", "\n")
    seen = request.POST.get("seen")
    return approving.accept(
        mine.row,
        hunk_id,
        account=mine.account,
        text=text,
        seen=None if seen is None else seen.replace("\r\n", "\n"),
    )


def _answer(
    request: HttpRequest, mine: Desk, problem: str = "", *, status: int = 200, failed: int = 0
) -> HttpResponse:
    """The page again, or, for htmx, its list; what went wrong stands at its hunk."""
    if status == HTTPStatus.OK and not is_fragment(request):
        return redirect("memory_approvals")
    context = _context(mine)
    still_waits = any(card.hunk.id == failed for card in context["cards"])
    context |= {
        "problem": problem,
        "failed": failed if still_waits else 0,
        "typed": request.POST.get("text", "")[:TEXT_CHARS],
    }
    part = "#hunks" if is_fragment(request) else ""
    return render(request, f"memory/approvals.html{part}", context, status=status)


def _context(mine: Desk) -> dict[str, Any]:
    found = approving.waiting(mine.row)
    cards = [_card(row, at, len(found)) for at, row in enumerate(found[:A_PAGE], 1)]
    mode = str(config.load(mine.row.root).get(SETTING))
    return frame(mine, "approvals") | {
        "cards": cards,
        "more": max(0, len(found) - A_PAGE),
        "mode": mode,
        "mode_told": _MODES.get(mode, ""),
        "skills": [
            {"skill": row, "href": f"/memory/files/{quote(row.path)}"}
            for row in approving.skills_waiting(mine.row)
        ],
        "decided": decided(approving.decided(mine.row, most=DECIDED)),
    }


def _card(hunk: Hunk, position: int, count: int) -> Card:
    names = {
        "add": "Adds to",
        "change": "Rewords in",
        "remove": "Takes out of",
        "skill": "Writes the skill",
    }
    return Card(hunk, hunk.text or hunk.after, names[hunk.kind], position, count)
