"""``create_owner``: the first account, without the browser."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from jenny import env
from jenny.accounts import access, setup_token, zones
from jenny.accounts.errors import OwnerExists
from jenny.accounts.management.answering import (
    AnsweringCommand,
    read_password,
    username_of,
)
from jenny.accounts.models import Account


class Command(AnsweringCommand):
    """Make the first account and its workspace."""

    help = (
        "Make the owner: the first account, with its workspace. "
        "The password comes from JENNY_OWNER_PASSWORD, or is asked for "
        "(read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The name and the time zone."""
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the owner's user name")
        parser.add_argument(
            "--zone",
            default="",
            help="time zone, such as Europe/Berlin (JENNY_TIME_ZONE, or UTC)",
        )

    def answer(self, **options: Any) -> dict[str, Any]:
        """Make it."""
        if Account.objects.exists():
            raise OwnerExists
        zone = zones.known(options["zone"] or settings.JENNY_TIME_ZONE or "UTC")
        name = username_of(options["username"])
        password = read_password(Account(username=name), env.secret("JENNY_OWNER_PASSWORD"))
        owner = Account.objects.make_owner(name, password, zone)
        setup_token.forget(settings.JENNY_DATA)
        workspace = access.made_workspace(owner)
        return {
            "sentence": f"{owner.username} is the owner. The workspace is {workspace.root}.",
            "username": owner.username,
            "workspace": workspace.slug,
        }
