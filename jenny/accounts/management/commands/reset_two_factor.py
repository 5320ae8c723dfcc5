"""``reset_two_factor``: for somebody who lost app and recovery codes."""

from typing import Any

from django.core.management.base import CommandParser

from jenny.accounts.management.answering import AnsweringCommand, account_called
from jenny.accounts.models import RecoveryCode, TwoFactor


class Command(AnsweringCommand):
    """Turn an account's second factor off and end its sessions."""

    help = (
        "Turn the second factor of an account off, for somebody who lost both the app and the "
        "recovery codes, and end all its sessions. The password stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The name."""
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Turn it off."""
        account = account_called(options["username"])
        was_on = TwoFactor.of(account) is not None
        TwoFactor.objects.filter(account=account).delete()
        RecoveryCode.objects.filter(account=account).delete()
        ended = account.end_sessions() if was_on else 0
        said = (
            f"{account.username} logs in with the password alone now. Sessions ended: {ended}."
            if was_on
            else f"{account.username} had no second factor; nothing was changed."
        )
        return {
            "sentence": said,
            "username": account.username,
            "was_on": was_on,
            "sessions_ended": ended,
        }
