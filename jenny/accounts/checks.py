"""What other floors know of a workspace through its row, for ``check_workspace``.

What can be told from the folder alone is asked for in ``jenny.workspace.check``.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from jenny.workspace.check import Finding
from jenny.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace


class RowCheck(Protocol):
    """A look at a workspace; with *repair* it may put things right."""

    def __call__(self, workspace: "Workspace", *, repair: bool) -> Iterable[Finding]:
        """What it found."""


_checks: list[RowCheck] = []


def register_row_check(check: RowCheck) -> None:
    """Let ``check_workspace`` ask *check* too; registering it again changes nothing."""
    if check not in _checks:
        _checks.append(check)


def row_findings(workspace: "Workspace", *, repair: bool) -> list[Finding]:
    """What they all found."""
    findings: list[Finding] = []
    for check in _checks:
        try:
            findings += check(workspace, repair=repair)
        except WorkspaceError as error:
            sentence = f"A part of the check could not be made: {error.sentence}"
            findings.append(Finding(".", sentence, "Look into it, then check again."))
    return findings
