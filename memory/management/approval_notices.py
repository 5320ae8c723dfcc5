"""Notices about what waits for a person, and about runs that took much out of a file."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from memory.approval.values import Prune
from memory.management import hunks, pruning

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
