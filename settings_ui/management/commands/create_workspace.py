"""Makes another workspace."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.management.answering import AnsweringCommand, account_called
from jenny.accounts.models import Account
from jenny.workspace.errors import WorkspaceError
from settings_ui.errors import WorkspaceRefused
from settings_ui.management import workspaces


class Command(AnsweringCommand):
    """Make a workspace for an account."""

    help = (
        "Make another workspace, with its own files, memory, conversations and settings. "
        "Nobody's pages switch to it by themselves."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What it is called, and whose it is."""
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="what it is called")
        parser.add_argument(
            "--username", default="", metavar="U", help="whose it is (the only account's)"
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Do it. :raises CommandError: it was not made, and why."""
        owner = _owner(options["username"])
        try:
            row = workspaces.create(owner, options["name"])
        except (WorkspaceRefused, WorkspaceError) as error:
            raise CommandError(error.sentence) from error
        return {
            "sentence": f"“{row.name}” is made. Its folder is {row.root}.",
            "workspace": row.slug,
            "name": row.name,
            "folder": str(row.root),
            "username": owner.username,
        }


def _owner(username: str) -> Account:
    if username:
        return account_called(username)
    rows = list(Account.objects.order_by("pk")[:2])
    if len(rows) == 1:
        return rows[0]
    message = (
        "There are several accounts; say whose it is with --username U."
        if rows
        else "There is no account yet. Run: python manage.py create_owner --username NAME"
    )
    raise CommandError(message)
