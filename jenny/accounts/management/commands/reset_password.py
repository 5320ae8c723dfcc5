"""``reset_password``: set a new password for an account."""

from typing import Any

from axes.utils import reset
from django.core.management.base import CommandParser

from jenny.accounts.services.json_command import JSONCommand, account_called, read_password


class Command(JSONCommand):
    """Sets a new password and ends the account's sessions."""

    help = (
        "Set a new password for an account and end all its sessions. "
        "The password is asked for (read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")

    def answer(self, **options: Any) -> dict[str, Any]:
        account = account_called(options["username"])
        account.set_password(read_password(account))
        account.save(update_fields=["password"])
        ended = account.end_sessions()
        reset(username=account.username.casefold())
        return {
            "message": f"{account.username} has a new password. Sessions ended: {ended}.",
            "username": account.username,
            "sessions_ended": ended,
        }
