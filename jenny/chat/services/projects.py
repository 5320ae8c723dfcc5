"""Reacts to changes of a project's folder: deletion, creation, renaming and restoring."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models.functions import Now

from jenny.accounts.models import Job, Workspace
from jenny.chat.models import Conversation, ProjectState, Turn
from jenny.chat.models.conversations import GARDENER_IDLE
from jenny.chat.services import deletion
from jenny.workspace.errors import WorkspaceError
from wikis import pages

TIDY = "tidy"
# Follows the name of a project in whose place another one was begun.
_EARLIER = " (deleted earlier)"
_LONGEST_NAME = 255 - len(_EARLIER)


class TalkUnderWay(WorkspaceError):
    pass


def talks(workspace: Workspace, name: str, **_: object) -> int:
    return Conversation.objects.filter(workspace=workspace, project=name).count()


def take_conversations(workspace: Workspace, name: str, **_: object) -> str:
    """Delete the project's conversations, and return a sentence that says so.

    Raises:
        TalkUnderWay: an answer is being written in one of them; none was deleted.
    """
    rows = Conversation.objects.filter(workspace=workspace, project=name)
    if Turn.objects.filter(conversation__in=rows, state__in=Turn.LIVE).exists():
        message = (
            "An answer is being written in this project. Nothing was deleted: stop it, or wait "
            "until it is there."
        )
        raise TalkUnderWay(message)
    done = deletion.delete_conversations(list(rows.select_related("workspace__owner")))
    count = len(done.conversations)
    return f"{count} {'conversation' if count == 1 else 'conversations'} inside it went with it."


def begun(workspace: Workspace, name: str, **_: object) -> None:
    """Start a new project at the first line of its log, whatever an earlier one of that name read.

    Conversations of the earlier one that are in the trash do not become the new one's when they are
    brought back: they belong to a project that is not there.
    """
    rows = Conversation.all_objects.filter(workspace=workspace, project=name)
    rows.exclude(deleted_at=None).update(project=f"{name[:_LONGEST_NAME]}{_EARLIER}")
    ProjectState.objects.filter(workspace=workspace, name=name).delete()


def renamed(workspace: Workspace, old: str, name: str, **_: object) -> None:
    """Let the conversations of a renamed project, its state and its jobs name its new folder."""
    begun(workspace, name)
    ProjectState.objects.filter(workspace=workspace, name=old).update(name=name)
    Conversation.all_objects.filter(workspace=workspace, project=old).update(project=name)
    for job in Job.objects.filter(workspace=workspace, kind=TIDY, arguments__project=old):
        job.arguments["project"] = name
        job.save(update_fields=["arguments"])


def taken_back(workspace: Workspace, files: Iterable[str], then: datetime, **_: object) -> None:
    """Set the gardener back after *files* were restored to their state of *then*.

    It reads the lines again that became pages since; a running gardener has to stop.
    """
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
            read=read, attempted_at=None, due_at=Now() + GARDENER_IDLE
        )
