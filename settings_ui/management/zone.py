"""One time zone for an account: all pages show their dates in it, and its workspaces follow."""

from jenny.accounts.models import Account, Workspace
from jenny.workspace import config

KEY = "agents.defaults.timezone"


def follow(person: Account, zone: str) -> None:
    """Let the account, and those of its workspaces that name a zone, have this one.

    :raises WorkspaceError: one of the workspaces cannot be written; the others may have followed.
    """
    Account.objects.filter(pk=person.pk).update(time_zone=zone)
    for row in Workspace.objects.filter(owner=person).exclude(folder_made_at=None):
        _follow(row, zone)


def _follow(row: Workspace, zone: str) -> None:
    named = config.load(row.root).get(KEY)
    if not named or named == zone:
        return

    def mutate(data: config.Raw) -> None:
        data["agents"]["defaults"]["timezone"] = zone

    config.change(row.root, mutate)
