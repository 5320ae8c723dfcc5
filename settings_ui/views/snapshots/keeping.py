"""How long snapshots are kept; shortening it says first what that deletes."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.workspace import config
from jenny.workspace.snapshots import retention
from jenny.workspace.snapshots.values import Plan
from memory.management import snapshots
from memory.models import SnapshotState
from settings_ui.values import write_into
from settings_ui.views.snapshots import frame
from settings_ui.views.snapshots.frame import Desk, told

KEY = "snapshots.keepFor"


@require_http_methods(["GET", "HEAD", "POST"])
@told
def page(request: HttpRequest) -> HttpResponseBase:
    """The horizon. One that deletes something is saved only with ``confirm=yes``."""
    desk = frame.desk(request)
    found = config.load(desk.row.root)
    current = str(found.get(KEY))
    wanted = request.POST.get(KEY, request.GET.get(KEY, current))
    if wanted not in retention.HORIZONS:
        return _page(request, desk, current, current, problem="Choose one of these.")
    if request.method != "POST":
        return _page(request, desk, current, wanted, asks=_waiting(desk))
    plan = snapshots.plan(desk.row, keep_for=wanted)
    is_agreed = request.POST.get("confirm") == "yes"
    if plan.expired and not is_agreed:
        return _page(request, desk, current, wanted, asks=plan)
    config.change(desk.row.root, lambda data: write_into(data, found, {KEY: wanted}))
    said = f"Snapshots are kept {_label(wanted).lower()}."
    if plan.goes and is_agreed:
        said += f" {snapshots.prune(desk.row, plan).sentence}"
    else:
        snapshots.agree(desk.row, wanted)
    messages.success(request, said)
    return redirect("snapshots")


def _waiting(desk: Desk) -> Plan | None:
    """What a horizon that was shortened in the settings file would delete, if nobody agreed yet."""
    state = SnapshotState.objects.filter(workspace=desk.row).first()
    if state is None:
        return None
    plan = snapshots.plan(desk.row)
    return plan if snapshots.waiting(state, plan) else None


def _label(wanted: str) -> str:
    return dict(config.BY_KEY[KEY].choices)[wanted]


def _page(
    request: HttpRequest,
    desk: Desk,
    current: str,
    wanted: str,
    *,
    asks: Plan | None = None,
    problem: str = "",
) -> HttpResponse:
    context = {
        "choices": config.BY_KEY[KEY].choices,
        "current": current,
        "wanted": wanted,
        "problem": problem,
        "asks": asks,
        "oldest": asks.expired[:200] if asks else (),
        "total": len(desk.every()),
    }
    is_refused = problem or (asks and request.method == "POST")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    return render(request, "snapshots/keep.html", context, status=status)
