"""``lint_wiki``: list the problems of a wiki."""

import sys
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from jenny.accounts.services.json_command import JSONCommand, workspace_called
from jenny.workspace.errors import WorkspaceError
from wikis import lint
from wikis.page_index import index_of


class Command(JSONCommand):
    help = (
        "Say what is wrong with a wiki: dead links, orphans, pages that are not in the index, "
        "wanted pages, duplicates, a missing scope, unreadable files. Succeeds only when there is "
        "nothing."
    )
    is_fine = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="the wiki's name")
        parser.add_argument("--workspace", default="", metavar="SLUG", help="which workspace")

    def handle(self, *args: Any, **options: Any) -> None:
        """List the problems, and fail when there are any."""
        super().handle(*args, **options)
        if not self.is_fine:
            sys.exit(1)

    def answer(self, **options: Any) -> dict[str, Any]:
        row = workspace_called(options["workspace"])
        index = index_of(row.root, settings.JENNY_DATA.cache / "wikis" / f"{row.pk}.sqlite3")
        try:
            report = lint.lint(index, index.known(options["name"]))
        except WorkspaceError as error:
            raise CommandError(error.message) from error
        self.is_fine = not report.findings
        lines = [f"{report.name}: {report.looked_at:,} pages, {_counted(len(report.findings))}"]
        for _, label, rows in report.by_kind():
            lines += [f"  {label}", *(f"    {row.path or '-'}: {row.message}" for row in rows)]
        return {
            "ok": self.is_fine,
            "message": "\n".join(lines),
            "workspace": row.slug,
            "wiki": report.name,
            "pages": report.looked_at,
            "findings": [asdict(row) for row in report.findings],
        }


def _counted(number: int) -> str:
    return f"{number:,} to put right" if number else "nothing to put right"
