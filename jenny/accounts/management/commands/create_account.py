"""``create_account``: create a further account with a workspace of its own."""

from typing import Any

from django.core.management.base import CommandParser

from jenny.accounts import access
from jenny.accounts.errors import AccountExists, OwnerMissing
from jenny.accounts.models import Account
from jenny.accounts.services import first_run
from jenny.accounts.services.json_command import (
    JSONCommand,
    add_folder_arguments,
    read_password,
    username_of,
    wants_attached,
    zone_name_of,
)


class Command(JSONCommand):
    help = (
        "Make a further account with a workspace of its own; accounts do not see each other. "
        "The password is asked for (read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")
        parser.add_argument(
            "--zone",
            default="",
            help="time zone, such as Europe/Berlin (JENNY_TIME_ZONE, or UTC)",
        )
        add_folder_arguments(parser)

    def answer(self, **options: Any) -> dict[str, Any]:
        if not Account.objects.exists():
            raise OwnerMissing
        zone = zone_name_of(options["zone"])
        name = username_of(options["username"])
        if Account.objects.filter(username__iexact=name).exists():
            raise AccountExists(name)
        attach = wants_attached(name, attach=options["attach"], new_folder=options["new_folder"])
        password = read_password(Account(username=name))
        account = Account.objects.make_account(name, password, zone, attach=attach)
        workspace = access.made_workspace(account)
        message = f"{account.username} can log in. The workspace is {workspace.root}."
        return {
            "message": f"{message} {first_run.describe_beside(workspace)}".rstrip(),
            "username": account.username,
            "workspace": workspace.slug,
        }
