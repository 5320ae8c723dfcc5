"""What waits for a person, and runs that took much out of a file: for every page, and for
``check_workspace``."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from jenny.workspace import acts, paths
from jenny.workspace.check import Finding
from memory.approval.values import Prune
from memory.management import hunks, pruning
from memory.management.staging import keep_marks

APPROVALS = "/memory/approvals/"


def of(workspace: Workspace) -> Iterator[Notice]:
    """What of a workspace waits for its person. A source (``jenny.accounts.management.notices``);
    two queries by an index."""
    for run_id, rows in _by_run(workspace).items():
        told = " ".join(row.sentence for row in rows)
        yield Notice(
            key=f"prune:{run_id}",
            kind="warning",
            text=f"{told} A copy of each is kept; one click brings all of them back.",
            href=f"/memory/runs/{run_id}/",
            link="See them",
            dismiss=f"/memory/runs/{run_id}/prune",
        )
    if count := hunks.count(workspace):
        text = (
            "1 change of Dream's waits for your approval."
            if count == 1
            else f"{count:,} changes of Dream's wait for your approval."
        )
        yield Notice(key="approvals", kind="info", text=text, href=APPROVALS, link="Decide")


def _by_run(workspace: Workspace) -> dict[int, list[Prune]]:
    found: dict[int, list[Prune]] = {}
    for row in pruning.large_prunes(workspace):
        found.setdefault(row.run_id, []).append(row)
    return found


def check(workspace: Workspace, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (a person decides)
    """What waits for a person, for ``check_workspace``; and what the marks in the folder say of
    that, put right."""
    rows = hunks.waiting(workspace)
    with acts.locked(paths.real_root(workspace.root)):
        keep_marks(workspace)
    cure = "Decide under Memory → Approvals, or with: python manage.py approvals list"
    for path in dict.fromkeys(row.path for row in rows):
        own = [row for row in rows if row.path == path]
        stuck = sum(row.state == "conflict" for row in own)
        since = min(row.staged_at for row in own if row.staged_at)
        what = (
            "1 change of Dream's waits" if len(own) == 1 else f"{len(own)} of Dream's changes wait"
        )
        places = f" {stuck} of them found no place in the file as it is now." if stuck else ""
        sentence = f"{what} for approval, since {since:%Y-%m-%d %H:%M} UTC.{places}"
        yield Finding(path, sentence, cure, "note")
    for prune in pruning.large_prunes(workspace):
        back = f"Bring it back with: python manage.py approvals prunes --bring-back {prune.run_id}"
        yield Finding(prune.path, prune.sentence, back, "note")
