"""What goes with a project's folder: its conversations when it is deleted, and how far its log was
read when it becomes again what it was."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models.functions import Now

from jenny.accounts.models import Job, Workspace
from jenny.chat.models import Conversation, ProjectState, Turn
from jenny.chat.models.projects import IDLE
from jenny.chat.tasks import deleting
from jenny.workspace.errors import WorkspaceError
from wikis import pages

TIDY = "tidy"


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
    return f"{count} {'conversation' if count == 1 else 'conversations'} inside it went with it."


def begun(workspace: Workspace, name: str) -> None:
    """A new project begins at the first line of its log, however far an earlier one of that name
    was read; that one goes on where it was when it is put back from the trash."""
    ProjectState.objects.filter(workspace=workspace, name=name).delete()


def taken_back(workspace: Workspace, files: Iterable[str], then: datetime) -> None:
    """Some *files* become again what they were *then*: lines of a log that became pages since are
    to be read again by the gardener, and one that is at work has to end."""
    parts = (path.split("/", 2) for path in files)
    names = {part[1] for part in parts if part[0] == pages.WIKIS and len(part) > 2}  # noqa: PLR2004 - folder, wiki and what is in it
    for row in ProjectState.objects.filter(workspace=workspace, name__in=names):
        since = Job.objects.filter(
            workspace=workspace,
            kind=TIDY,
            arguments__project=row.name,
            state=Job.State.DONE,
            ended_at__gt=then,
        )
        first = since.order_by("pk").first()
        read = row.read if first is None else first.result.get("read_before", {})
        ProjectState.objects.filter(pk=row.pk).update(
            read=read, attempted_at=None, due_at=Now() + IDLE
        )
