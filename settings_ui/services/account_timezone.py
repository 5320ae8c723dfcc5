"""One time zone for an account: all its pages and workspaces use it."""

from jenny.accounts.models import Account, Workspace
from jenny.workspace import config

KEY = "agents.defaults.timezone"


def follow(person: Account, zone: str) -> None:
    """Set the zone of the account and of its workspaces that name one.

    Raises:
        WorkspaceError: a workspace cannot be written; the others may be changed already.
    """
    Account.objects.filter(pk=person.pk).update(time_zone=zone)
    for row in Workspace.objects.filter(owner=person).exclude(folder_made_at=None):
        _follow(row, zone)


def _follow(row: Workspace, zone: str) -> None:
    named = config.load_config(row.root).get(KEY)
    if not named or named == zone:
        return

    def mutate(data: config.Raw) -> None:
        data["agents"]["defaults"]["timezone"] = zone

    config.change_config(row.root, mutate)
