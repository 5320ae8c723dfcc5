"""What a run left behind: its versions, and what it moved to the archive."""

from itertools import takewhile
from pathlib import Path

from jenny.workspace.versions import history
from memory import archive


def commits_of(root: Path, run_name: str, since: float) -> tuple[str, ...]:
    """The ids of the versions that a run made, oldest first. *since*: when it began, in seconds
    since 1970 (UTC).

    Raises:
        VersionsOff: the store cannot be read.
    """
    with history.open_history(root) as versions:
        newest = takewhile(
            # One run at a time: what another one made is older than all of this one's.
            lambda version: (
                version.when >= int(since) - 1
                and (version.kind != "dream" or run_name in version.runs)
            ),
            versions.walk(),
        )
        found = [version.sha for version in newest if run_name in version.runs]
    return tuple(found[::-1])


def archived_by(root: Path, run_name: str) -> tuple[str, ...]:
    """The ids of what a run moved to the archive."""
    return tuple(row.id for row in archive.removed_by(root, {run_name}))
