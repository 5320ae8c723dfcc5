"""The conversations inside a project, as far as who deletes its folder asks about them."""

from jenny.accounts.models import Workspace
from jenny.chat.models import Conversation, ProjectState, Turn
from jenny.chat.tasks import deleting
from jenny.workspace.errors import WorkspaceError


class TalkUnderWay(WorkspaceError):
    """An answer is being written in the project."""


def talks(workspace: Workspace, name: str) -> int:
    """How many conversations there are in the project."""
    return Conversation.objects.filter(workspace=workspace, project=name).count()


def take(workspace: Workspace, name: str) -> str:
    """Delete them all; that they are gone, in a sentence.

    Raises:
        TalkUnderWay: in one of them an answer is being written; none was deleted.
    """
    rows = Conversation.objects.filter(workspace=workspace, project=name)
    if Turn.objects.filter(conversation__in=rows, state__in=Turn.LIVE).exists():
        message = (
            "An answer is being written in this project. Nothing was deleted: stop it, or wait "
            "until it is there."
        )
        raise TalkUnderWay(message)
    count = 0
    for chat in list(rows.select_related("workspace__owner")):
        deleting.delete(chat)
        count += 1
    ProjectState.objects.filter(workspace=workspace, name=name).delete()
    return f"{count} {'conversation' if count == 1 else 'conversations'} inside it went with it."
