"""``reset_password``: a new password for somebody who forgot theirs."""

from typing import Any

from axes.utils import reset
from django.core.management.base import CommandParser

from jenny.accounts.management.answering import (
    AnsweringCommand,
    account_called,
    read_password,
)


class Command(AnsweringCommand):
    """Set a new password and end the account's sessions."""

    help = (
        "Set a new password for an account and end all its sessions. "
        "The password is asked for (read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The name."""
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Set it."""
        account = account_called(options["username"])
        account.set_password(read_password(account))
        account.save(update_fields=["password"])
        ended = account.end_sessions()
        reset(username=account.username.casefold())
        return {
            "sentence": f"{account.username} has a new password. Sessions ended: {ended}.",
            "username": account.username,
            "sessions_ended": ended,
        }
