"""The checks of a workspace that need its database rows, for ``check_workspace``.

Checks of the folder alone are in ``jenny.workspace.check``.
"""

from jenny.accounts.models import Workspace
from jenny.workspace.check import Finding
from jenny.workspace.errors import WorkspaceError
from memory.services import notices, snapshots

CHECKS = (snapshots.check_snapshots, notices.check_approvals, notices.check_dream)


def row_findings(workspace: Workspace, *, repair: bool) -> list[Finding]:
    """Return what is wrong; with *repair*, what can be is put right."""
    findings: list[Finding] = []
    for check in CHECKS:
        try:
            findings += check(workspace, repair=repair)
        except WorkspaceError as error:
            message = f"A part of the check could not be made: {error.message}"
            findings.append(Finding(".", message, "Look into it, then check again."))
    return findings
