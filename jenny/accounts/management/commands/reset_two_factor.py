"""``reset_two_factor``: turn off the second factor when app and recovery codes are lost."""

from typing import Any

from django.core.management.base import CommandParser

from jenny.accounts.models import RecoveryCode, TwoFactor
from jenny.accounts.services.json_command import JSONCommand, account_called


class Command(JSONCommand):
    """Turns an account's second factor off and ends its sessions."""

    help = (
        "Turn the second factor of an account off, for somebody who lost both the app and the "
        "recovery codes, and end all its sessions. The password stays."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")

    def answer(self, **options: Any) -> dict[str, Any]:
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
            "message": said,
            "username": account.username,
            "was_on": was_on,
            "sessions_ended": ended,
        }
