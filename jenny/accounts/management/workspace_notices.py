"""What is wrong with a workspace's own files: its settings, and where its versions are kept."""

from collections.abc import Iterator

from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Workspace
from jenny.workspace.config import load
from jenny.workspace.config.fields import BY_KEY, GROUPS
from jenny.workspace.errors import VersionsOff, WorkspaceError
from jenny.workspace.versions import record

# Where a person sees to what is wrong with a setting, by its group.
_PAGES = {
    "conversation": "/settings/conversation/",
    "memory": "/settings/memory/",
    "models": "/settings/models/",
    "system": "/settings/system/",
}


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
        field = BY_KEY.get(name)
        page = _PAGES.get(field.group, "") if field else ""
        yield Notice(
            key=f"settings:{name}",
            kind="warning",
            text=text,
            href=page,
            link=f"Settings → {GROUPS[field.group]}" if field and page else "Show",
        )


def versions(workspace: Workspace) -> Iterator[Notice]:
    """That no versions can be kept; a source of notices."""
    try:
        with record.reading(workspace.root):
            return
    except VersionsOff as error:
        what = error.sentence.replace(f"{workspace.root}/", "")
        text = (
            f"Versions are off: {what} What is written is kept, but no change of the "
            "memory files can be shown or undone until memory/.git is a plain folder again; move "
            "away what stands in its place, and a new one is made."
        )
        yield Notice(key="versions", kind="warning", text=text)
    except WorkspaceError:
        return  # the folder itself is what is wrong, and the settings say so
