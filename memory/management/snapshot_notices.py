"""What stands on every page about snapshots, until its cause is gone."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from jenny.workspace import config
from jenny.workspace.snapshots import retention
from memory.models import SnapshotState


def of(workspace: Workspace) -> Iterator[Notice]:
    """That the last snapshot failed, and that a horizon shortened in the settings file waits for a
    yes. A source (``jenny.accounts.management.notices``)."""
    row = SnapshotState.objects.filter(workspace=workspace).first()
    if row is None:
        return
    if row.failure:
        text = f"There is no new snapshot of this workspace. {row.failure}"
        yield Notice(key="snapshots:failed", kind="warning", text=text, href="/snapshots/")
    keep_for = str(config.load(workspace.root).get("snapshots.keepFor"))
    if retention.is_shorter(keep_for, row.agreed_keep_for or "forever"):
        text = "The time for which snapshots are kept was shortened; none goes before you say so."
        yield Notice(
            key="snapshots:horizon", kind="info", text=text, href="/snapshots/keep/", link="Look"
        )
