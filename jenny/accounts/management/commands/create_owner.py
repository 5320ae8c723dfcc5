"""``create_owner``: create the first account without the browser."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from jenny import env
from jenny.accounts import access
from jenny.accounts.errors import OwnerExists
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
        "Make the owner: the first account, with its workspace. "
        "The password comes from JENNY_OWNER_PASSWORD, or is asked for "
        "(read from standard input where there is no terminal)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the owner's user name")
        parser.add_argument(
            "--zone",
            default="",
            help="time zone, such as Europe/Berlin (JENNY_TIME_ZONE, or UTC)",
        )
        add_folder_arguments(parser)

    def answer(self, **options: Any) -> dict[str, Any]:
        if Account.objects.exists():
            raise OwnerExists
        zone = zone_name_of(options["zone"])
        name = username_of(options["username"])
        attach = wants_attached(name, attach=options["attach"], new_folder=options["new_folder"])
        password = read_password(Account(username=name), env.secret("JENNY_OWNER_PASSWORD"))
        owner = Account.objects.make_owner(name, password, zone, attach=attach)
        first_run.forget_token(settings.JENNY_DATA)
        workspace = access.made_workspace(owner)
        message = f"{owner.username} is the owner. The workspace is {workspace.root}."
        if attach:
            message += " Its files are as they were."
        if beside := first_run.describe_beside(workspace):
            message += f" {beside}"
        elif others := first_run.list_folders():
            message += (
                f" Folders of no workspace: {', '.join(others)}. To use one, run: "
                f"python manage.py create_workspace {others[0]} --attach"
            )
        return {
            "message": message,
            "attached": attach,
            "username": owner.username,
            "workspace": workspace.slug,
        }
