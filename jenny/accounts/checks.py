"""Checks of a workspace that need its database row, for ``check_workspace``.

Checks of the folder alone are in ``jenny.workspace.check``.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from jenny.workspace.check import Finding
from jenny.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace


class RowCheck(Protocol):
    """A check of a workspace; with *repair* it may fix what it finds."""

    def __call__(self, workspace: "Workspace", *, repair: bool) -> Iterable[Finding]: ...


_checks: list[RowCheck] = []


def register_row_check(check: RowCheck) -> None:
    """Add *check* to ``check_workspace``; registering it again changes nothing."""
    if check not in _checks:
        _checks.append(check)


def row_findings(workspace: "Workspace", *, repair: bool) -> list[Finding]:
    findings: list[Finding] = []
    for check in _checks:
        try:
            findings += check(workspace, repair=repair)
        except WorkspaceError as error:
            message = f"A part of the check could not be made: {error.message}"
            findings.append(Finding(".", message, "Look into it, then check again."))
    return findings
