"""``check_workspace``: list broken, oversized, skipped or stale things, each with its cure."""

import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Workspace
from jenny.accounts.services.json_command import JSONCommand
from jenny.workspace.check import Finding, check_workspace
from memory.services.notices import row_findings


class Command(JSONCommand):
    help = (
        "Say what is broken, oversized, skipped or stale in the workspaces, with the cure. "
        "Succeeds only when nothing is wrong; notes are no fault."
    )
    is_fine = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--workspace", metavar="SLUG", help="only this one (all of them)")
        parser.add_argument(
            "--repair", action="store_true", help="put right what can be put right without loss"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the findings, and fail when something is wrong."""
        super().handle(*args, **options)
        if not self.is_fine:
            sys.exit(1)

    def answer(self, **options: Any) -> dict[str, Any]:
        repair = options["repair"]
        results = {
            row.slug: check_workspace(row.root, repair=repair) + row_findings(row, repair=repair)
            for row in _workspaces(options["workspace"])
        }
        self.is_fine = not any(found.is_open for rows in results.values() for found in rows)
        return {
            "ok": self.is_fine,
            "message": "\n".join(_told(slug, rows) for slug, rows in results.items())
            or "There is no workspace yet.",
            "workspaces": [
                {
                    "workspace": slug,
                    "fine": not any(found.is_open for found in rows),
                    "findings": [asdict(found) for found in rows],
                }
                for slug, rows in results.items()
            ],
        }


def _workspaces(wanted: str | None) -> list[Workspace]:
    """Return the workspaces to check.

    :raises CommandError: there is none of that name.
    """
    rows = list(Workspace.objects.select_related("owner").order_by("slug"))
    if not wanted:
        return rows
    found = [row for row in rows if row.slug == wanted]
    if not found:
        message = f"There is no workspace {wanted}."
        raise CommandError(message)
    return found


def _told(slug: str, findings: list[Finding]) -> str:
    still_open = sum(found.is_open for found in findings)
    head = f"{slug}: {f'{still_open} to put right' if still_open else 'fine'}"
    rows = [
        f"  {_MARKS[found.level, found.repaired]} {found.path}\n    {found.message} {found.cure}"
        for found in findings
    ]
    return "\n".join([head, *rows])


_MARKS = {
    ("problem", False): "!",
    ("problem", True): "✓",
    ("note", False): "·",
    ("note", True): "✓",
}
