"""Retention of snapshots. A shorter one is confirmed after its effect is shown."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jenny.workspace import config
from jenny.workspace import retention as periods
from jenny.workspace.snapshots.values import Plan
from memory.models import SnapshotState
from memory.services import snapshots
from settings_ui.values import write_into
from settings_ui.views.snapshots import base_context
from settings_ui.views.snapshots.base_context import SnapshotContext, workspace_error_page

KEY = "snapshots.keepFor"


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def retention_page(request: HttpRequest) -> HttpResponseBase:
    """Show and save the retention. One that deletes snapshots needs ``confirm=yes``."""
    ctx = base_context.get_snapshot_context(request)
    found = config.load_config(ctx.row.root)
    current = str(found.get(KEY))
    wanted = request.POST.get(KEY, request.GET.get(KEY, current))
    if wanted not in periods.SNAPSHOT_HORIZONS:
        return _page(request, ctx, current, current, problem="Choose one of these.")
    if request.method != "POST":
        return _page(request, ctx, current, wanted, asks=_waiting(ctx))
    plan = snapshots.plan(ctx.row, keep_for=wanted)
    is_agreed = request.POST.get("confirm") == "yes"
    if plan.expired and not is_agreed:
        return _page(request, ctx, current, wanted, asks=plan)
    config.change_config(ctx.row.root, lambda data: write_into(data, found, {KEY: wanted}))
    said = f"Snapshots are kept {_label(wanted).lower()}."
    if plan.goes and is_agreed:
        said += f" {snapshots.prune(ctx.row, plan).message}"
    else:
        snapshots.agree_retention(ctx.row, wanted)
    messages.success(request, said)
    return redirect("snapshots")


def _waiting(ctx: SnapshotContext) -> Plan | None:
    """Preview the deletion by a retention that was shortened in the settings file and is not
    confirmed."""
    state = SnapshotState.objects.filter(workspace=ctx.row).first()
    if state is None:
        return None
    plan = snapshots.plan(ctx.row)
    return plan if snapshots.waiting(state, plan) else None


def _label(wanted: str) -> str:
    return dict(config.BY_KEY[KEY].choices)[wanted]


def _page(
    request: HttpRequest,
    ctx: SnapshotContext,
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
        "total": len(ctx.every()),
        "retention": periods,
    }
    is_refused = problem or (asks and request.method == "POST")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    return render(request, "snapshots/keep.html", context, status=status)
