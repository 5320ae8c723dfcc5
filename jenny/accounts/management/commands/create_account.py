"""``create_account``: a further account with a workspace of its own."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from jenny.accounts import access, zones
from jenny.accounts.errors import AccountExists, OwnerMissing
from jenny.accounts.management.answering import (
    AnsweringCommand,
    read_password,
    username_of,
)
from jenny.accounts.models import Account


class Command(AnsweringCommand):
    """Make a further account."""

    help = (
        "Make a further account with a workspace of its own; accounts do not see each other. "
        "The password is asked for (read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The name and the time zone."""
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")
        parser.add_argument(
            "--zone",
            default="",
            help="time zone, such as Europe/Berlin (JENNY_TIME_ZONE, or UTC)",
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Make it."""
        if not Account.objects.exists():
            raise OwnerMissing
        zone = zones.known(options["zone"] or settings.JENNY_TIME_ZONE or "UTC")
        name = username_of(options["username"])
        if Account.objects.filter(username__iexact=name).exists():
            raise AccountExists(name)
        password = read_password(Account(username=name))
        account = Account.objects.make_account(name, password, zone)
        workspace = access.made_workspace(account)
        return {
            "sentence": f"{account.username} can log in. The workspace is {workspace.root}.",
            "username": account.username,
            "workspace": workspace.slug,
        }
