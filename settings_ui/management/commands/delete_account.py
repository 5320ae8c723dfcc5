from typing import Any

from django.core.management.base import CommandError, CommandParser

from jenny.accounts.models import Account
from jenny.accounts.services.json_command import JSONCommand, account_called
from settings_ui.errors import AccountRefused
from settings_ui.services import accounts


class Command(JSONCommand):
    help = (
        "Delete an account with its workspaces, conversations, snapshots, keys and sessions, for "
        "good. Without --yes it only says what would go. An owner beside whom there are other "
        "accounts needs --new-owner NAME."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--username", required=True, help="the account's user name")
        parser.add_argument("--new-owner", default="", metavar="NAME", help="the owner's successor")
        parser.add_argument("--yes", action="store_true", help="really delete it")

    def answer(self, **options: Any) -> dict[str, Any]:
        """Delete the account, or say what would be deleted.

        Raises:
        CommandError: nothing was deleted."""
        account = account_called(options["username"])
        found = accounts.deletion_summary(account)
        facts = {"username": account.username, "goes": found.as_json()}
        if not options["yes"]:
            return {**facts, "deleted": False, "message": _would(account, found)}
        successor = account_called(options["new_owner"]) if options["new_owner"] else None
        try:
            accounts.delete_account(account, successor)
        except AccountRefused as error:
            message = f"{error.message} Name them with --new-owner."
            raise CommandError(message) from error
        said = f"{facts['username']} is deleted, with {len(found.workspaces)} workspaces."
        if successor is not None:
            said += f" {successor.username} is the owner now."
        elif not Account.objects.exists():
            said += " There is no account any more: the next visitor needs the setup token."
        return {**facts, "deleted": True, "message": said}


def _would(account: Account, found: accounts.DeletionSummary) -> str:
    lines = [f"Nothing was deleted. With --yes, {account.username} goes, and:"]
    lines += [f"- “{name}”: {inside}" for name, inside in found.workspaces]
    lines.append(f"- keys: {found.keys}, sessions: {found.sessions}")
    return "\n".join(lines)
