"""Notices and findings of the memory, shown until their cause is gone."""

from collections.abc import Iterator

from jenny.accounts.models import Workspace
from jenny.accounts.services.notices import Notice
from jenny.agent import clock
from jenny.workspace import config, paths, transactions
from jenny.workspace.check import Finding
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots import retention
from memory import checks
from memory.approvals.values import LargePruneNotice
from memory.dream import report
from memory.models import DreamEntry, DreamRun, DreamState, SnapshotState
from memory.services import approvals, large_prunes, snapshots
from memory.services.proposals import keep_marks

APPROVALS = "/memory/approvals/"
_CURE = "“manage.py check_workspace --repair” sets what cannot be read aside."


def approval_notices(workspace: Workspace) -> Iterator[Notice]:
    """Return the notices of a workspace (``jenny.accounts.services.notices``) with two indexed
    queries."""
    for run_id, rows in _by_run(workspace).items():
        sentences = " ".join(row.message for row in rows)
        yield Notice(
            key=f"prune:{run_id}",
            kind="warning",
            text=f"{sentences} A copy of each is kept; one click brings all of them back.",
            href=f"/memory/runs/{run_id}/",
            link="See them",
            dismiss=f"/memory/runs/{run_id}/prune",
        )
    if count := approvals.count_waiting(workspace):
        text = (
            "1 memory change to review." if count == 1 else f"{count:,} memory changes to review."
        )
        yield Notice(key="approvals", kind="info", text=text, href=APPROVALS, link="Review")


def _by_run(workspace: Workspace) -> dict[int, list[LargePruneNotice]]:
    found: dict[int, list[LargePruneNotice]] = {}
    for row in large_prunes.large_prunes(workspace):
        found.setdefault(row.run_id, []).append(row)
    return found


def check_approvals(workspace: Workspace, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a person decides)
    """Yield pending changes for ``check_workspace``, and correct the flag files in the folder."""
    rows = approvals.list_waiting(workspace)
    with transactions.lock_workspace(paths.real_root(workspace.root)):
        keep_marks(workspace)
    cure = "Decide under Memory → To review, or with: python manage.py approvals list"
    for path in dict.fromkeys(row.path for row in rows):
        own = [row for row in rows if row.path == path]
        stuck = sum(row.state == "conflict" for row in own)
        since = min(row.staged_at for row in own if row.staged_at)
        what = (
            "1 change of Dream's waits" if len(own) == 1 else f"{len(own)} of Dream's changes wait"
        )
        places = f" {stuck} of them found no place in the file as it is now." if stuck else ""
        since = since.astimezone(clock.zone_of(workspace.owner.time_zone))
        message = f"{what} for approval, since {since:%Y-%m-%d %H:%M}.{places}"
        yield Finding(path, message, cure, "note")
    for prune in large_prunes.large_prunes(workspace):
        back = f"Bring it back with: python manage.py approvals prunes --bring-back {prune.run_id}"
        yield Finding(prune.path, prune.message, back, "note")


def dream_notices(workspace: Workspace) -> Iterator[Notice]:
    """Yield alarms, notes that could not be processed, and a run that seems dead
    (``jenny.accounts.services.notices``)."""
    rows = DreamState.objects.filter(workspace=workspace).values_list("alarms", flat=True)
    for alarm in [alarm for alarms in rows for alarm in alarms]:
        yield Notice(
            key=f"dream:{alarm['kind']}",
            kind="error",
            text=alarm["message"],
            href="/memory/overview/",
            link="See the updates",
        )
    cursors = _set_aside(workspace)
    if message := report.set_aside_notice(cursors):
        yield Notice(
            key="dream:set_aside",
            kind="warning",
            text=message,
            href="/memory/overview/#aside",
            link="Look at it" if len(cursors) == 1 else "Look at them",
        )
    if DreamRun.dead().filter(workspace=workspace).exists():
        yield Notice(
            key="dream:dead", kind="warning", text=report.SEEMS_DEAD, href="/memory/overview/"
        )


def ledger_notices(workspace: Workspace) -> Iterator[Notice]:
    """Say what counts while such a file is damaged (``jenny.accounts.services.notices``)."""
    for number, message in enumerate(checks.sentences(workspace.root)):
        yield Notice(key=f"ledgers:{number}", kind="warning", text=f"{message} {_CURE}")


def snapshot_notices(workspace: Workspace) -> Iterator[Notice]:
    """Report a failed snapshot, and a retention shortened in the settings file that is not
    confirmed (``jenny.accounts.services.notices``)."""
    row = SnapshotState.objects.filter(workspace=workspace).first()
    if row is None:
        return
    if row.failure:
        text = f"There is no new snapshot of this workspace. {row.failure}"
        yield Notice(key="snapshots:failed", kind="warning", text=text, href="/snapshots/")
    keep_for = str(config.load_config(workspace.root).snapshots.keep_for)
    if retention.keeps_shorter(keep_for, row.agreed_keep_for or "forever"):
        text = "The time for which snapshots are kept was shortened; none goes before you say so."
        yield Notice(
            key="snapshots:horizon", kind="info", text=text, href="/snapshots/keep/", link="Look"
        )


def check_dream(workspace: Workspace, *, repair: bool) -> Iterator[Finding]:
    """Notes that could not be processed, for ``check_workspace``; a person decides what becomes
    of them."""
    del repair
    if message := report.set_aside_notice(_set_aside(workspace)):
        what_to_do = "Memory → Overview lists them and can try them again."
        yield Finding("memory/history.jsonl", message, what_to_do)


def _set_aside(workspace: Workspace) -> list[int]:
    aside = DreamEntry.objects.filter(workspace=workspace, place=DreamEntry.Place.SET_ASIDE)
    return list(aside.order_by("cursor").values_list("cursor", flat=True)[:1000])


# The checks of ``check_workspace`` that need database rows; those of the folder alone are in
# ``jenny.workspace.check``.
ROW_CHECKS = (snapshots.check_snapshots, check_approvals, check_dream)


def row_findings(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """Return what is wrong; with *repair*, what can be is put right."""
    findings: list[Finding] = []
    for check in ROW_CHECKS:
        try:
            findings += check(workspace, repair=repair)
        except WorkspaceError as error:
            message = f"A part of the check could not be made: {error.message}"
            findings.append(Finding(".", message, "Look into it, then check again."))
    return findings
