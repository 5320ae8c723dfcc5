"""What is wrong with a workspace's own files: its settings, and where its versions are kept."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from jenny.workspace.config import load
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions import record


def settings(workspace: Workspace) -> Iterator[Notice]:
    """Settings that cannot be read, or say what cannot be; a source of notices."""
    try:
        config = load(workspace.root)
    except WorkspaceError as error:
        yield Notice(key="settings", kind="error", text=error.sentence)
        return
    for number, text in enumerate(config.notices):
        yield Notice(key=f"settings:{number}", kind="warning", text=text)
    for name, text in config.problems.items():
        yield Notice(key=f"settings:{name}", kind="warning", text=text)


def versions(workspace: Workspace) -> Iterator[Notice]:
    """That no versions can be kept; a source of notices."""
    try:
        with record.reading(workspace.root):
            return
    except VersionsOff as error:
        text = (
            f"Versions are off: {error.sentence} What is written is kept, but no change of the "
            "memory files can be shown or undone until memory/.git is a plain folder again; move "
            "away what stands in its place, and a new one is made."
        )
        yield Notice(key="versions", kind="warning", text=text)
    except WorkspaceError:
        return  # the folder itself is what is wrong, and the settings say so
