from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Account
from jenny.accounts.services import first_run
from jenny.accounts.services.json_command import (
    JSONCommand,
    account_called,
    add_folder_arguments,
    wants_attached,
)
from jenny.workspace.errors import WorkspaceError
from settings_ui.errors import WorkspaceRefused
from settings_ui.services import workspaces


class Command(JSONCommand):
    help = (
        "Make another workspace, with its own files, memory, conversations and settings. "
        "Nobody's pages switch to it by themselves."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="NAME", help="what it is called")
        parser.add_argument(
            "--username", default="", metavar="U", help="whose it is (the only account's)"
        )
        add_folder_arguments(parser)

    def answer(self, **options: Any) -> dict[str, Any]:
        """Create the workspace.

        Raises:
        CommandError: the workspace was not created."""
        owner = _owner(options["username"])
        try:
            name = workspaces.checked_name(owner, options["name"])
            attach = wants_attached(
                name, attach=options["attach"], new_folder=options["new_folder"]
            )
            row = workspaces.create(owner, name, attach=attach)
        except (WorkspaceRefused, WorkspaceError) as error:
            raise CommandError(error.message) from error
        sentence = f"“{row.name}” is made. Its folder is {row.root}."
        return {
            "message": f"{sentence} {first_run.describe_beside(row)}".rstrip(),
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
