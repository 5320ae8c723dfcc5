"""Creation, renaming and deletion of workspaces.

A deleted workspace keeps its folder and rows, hidden, for thirty days and can be restored. Then
they are removed; the row itself stays, so that its slug is never used again.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.services import first_run, jobs
from jenny.agent.messages import clean_value
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.services import send_message
from jenny.chat.services.search import forget_index
from jenny.workspace import retention
from jenny.workspace.check import check_workspace
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots import reader
from jenny.workspace.snapshots.values import sized
from memory.models import DreamRun
from memory.services import snapshots
from memory.services.notices import row_findings
from settings_ui.errors import FolderFound, WorkspaceRefused

log = logging.getLogger(__name__)

LONGEST_NAME = 80
# Files are counted up to this number.
MOST_FILES = 200_000
_STOPPED = "The workspace was deleted in the middle. What had been written is kept with it."


@dataclass(frozen=True, slots=True)
class Inside:
    files: int = 0
    size: int = 0
    is_more: bool = False
    conversations: int = 0
    messages: int = 0
    snapshots: int = 0
    running: int = 0

    def as_json(self) -> dict[str, int]:
        return {
            "files": self.files,
            "bytes": self.size,
            "conversations": self.conversations,
            "messages": self.messages,
            "snapshots": self.snapshots,
        }

    @property
    def message(self) -> str:
        most = "more than " if self.is_more else ""
        chats = _count(self.conversations, "conversation")
        parts = [
            f"{most}{_count(self.files, 'file')} ({sized(self.size)})",
            f"{chats} with {_count(self.messages, 'message')}",
            _count(self.snapshots, "snapshot"),
        ]
        return f"{', '.join(parts[:-1])} and {parts[-1]}"


def copy_before_delete(workspace: Workspace, **_: object) -> str:
    """Take a snapshot before one of its wikis is deleted, and return the sentence about it."""
    return snapshots.take_snapshot(workspace, "delete").message


def checked_name(owner: Account, given: str, *, of: Workspace | None = None) -> str:
    """Return the name as it is stored. *of* is the workspace that is renamed, if any.

    Raises:
        WorkspaceRefused: the name is not allowed.
    """
    name = " ".join(given.split())
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise WorkspaceRefused(
            f"A workspace's name has 1 to {LONGEST_NAME} letters, digits and signs. "
            "Nothing was changed."
        )
    others = live(owner).filter(name__iexact=name)
    if of is not None:
        others = others.exclude(pk=of.pk)
    if others.exists():
        raise WorkspaceRefused(
            f"There is a workspace called “{name}” already. Choose another name."
        )
    return name


def live(owner: Account) -> "QuerySet[Workspace]":
    return Workspace.objects.filter(owner=owner).order_by("created_at", "slug")


def deleted(owner: Account) -> "QuerySet[Workspace]":
    rows = Workspace.all_objects.filter(owner=owner, deleted_at__isnull=False)
    return rows.exclude(folder_made_at=None).order_by("-deleted_at")


def create(owner: Account, given: str, *, attach: bool = False) -> Workspace:
    """Create a workspace with its first files; *attach* as in ``Workspace.make``.

    Raises:
        WorkspaceRefused: the name is not allowed.
        WorkspaceError: the folder cannot be made; the row stays, and the next visit tries again.
    """
    row = Workspace.make(owner, checked_name(owner, given), attach=attach)
    row.make_folder()
    return row


def wants_attached(person: Account, name: str, choice: str) -> bool:
    """True when a found folder of that name becomes the workspace; *choice* is a form's "folder".

    Raises:
        FolderFound: there is one, and the person has not chosen yet.
    """
    # Only the owner of the instance can know whose files they are.
    found = first_run.find_folder(name) if person.is_superuser else None
    if found is not None and choice not in {"attach", "new"}:
        raise FolderFound(first_run.describe_folder(found))
    return found is not None and choice == "attach"


def give_name(row: Workspace, owner: Account, given: str) -> bool:
    """Rename it; its folder keeps its name. ``True`` when the name is another one.

    Raises:
        WorkspaceRefused: the name is not allowed.
    """
    name = checked_name(owner, given, of=row)
    return bool(Workspace.objects.filter(pk=row.pk).exclude(name=name).update(name=name))


def inside(row: Workspace) -> Inside:
    files, size, is_more = _measured(row.root)
    chats = Conversation.objects.filter(workspace=row)
    count = 0
    with contextlib.suppress(WorkspaceError, OSError):
        count = len(reader.list_snapshots(snapshots.store_of(row)))
    running = Turn.objects.filter(conversation__workspace=row, state__in=Turn.LIVE).count()
    running += DreamRun.objects.filter(workspace=row, state__in=DreamRun.LIVE).count()
    return Inside(
        files=files,
        size=size,
        is_more=is_more,
        conversations=chats.count(),
        messages=Message.objects.filter(conversation__in=chats).count(),
        snapshots=count,
        running=running,
    )


def delete(row: Workspace) -> str:
    """Delete it so that it can be restored; return a sentence when no snapshot could be taken.

    Raises:
        WorkspaceRefused: it is the only one, deleted already, or a job runs in it; nothing was
            changed.
    """
    if not live(row.owner).exclude(pk=row.pk).exists():
        raise _only_one(row)
    _refuse_busy(row)
    sentence = ""
    try:
        if row.folder_made_at is not None:
            snapshots.take_snapshot(row, "manual", label="before it was deleted")
    except (WorkspaceError, OSError) as error:
        message = error.message if isinstance(error, WorkspaceError) else str(error)
        sentence = f"No snapshot was taken before: {message}"
    with transaction.atomic():
        # Two tabs may delete the last two at once; the lock on the account's row orders them.
        Account.objects.select_for_update().get(pk=row.owner_id)
        # A job that starts now waits for the row's lock, or is seen here.
        Workspace.all_objects.select_for_update().get(pk=row.pk)
        _refuse_busy(row)
        if not live(row.owner).exclude(pk=row.pk).exists():
            raise _only_one(row)
        if not Workspace.objects.filter(pk=row.pk).update(deleted_at=Now()):
            raise WorkspaceRefused(f"“{row.name}” is deleted already.")
    _stop(row)
    log.info("workspace.deleted", extra={"workspace": str(row.pk)})
    return sentence


def bring_back(row: Workspace) -> bool:
    """Undo the deletion. ``False``: it is not deleted, or its thirty days are over."""
    rows = deleted(row.owner).filter(pk=row.pk)
    if not row.root.is_dir():
        return False
    return bool(Workspace.all_objects.filter(pk__in=rows).update(deleted_at=None))


def purge(now: datetime) -> int:
    """Remove workspaces deleted thirty days ago and return how many. It may be interrupted and
    repeated."""
    old = Workspace.all_objects.filter(deleted_at__lt=now - retention.DELETED_WORKSPACE)
    # A restore at this moment either came first or finds the workspace removed.
    done = old.exclude(folder_made_at=None).update(folder_made_at=None)
    for row in old.filter(folder_made_at=None):
        _clear(row)
    return done


def _refuse_busy(row: Workspace) -> None:
    if Job.objects.filter(workspace=row, state__in=Job.OPEN).exists():
        raise WorkspaceRefused(
            f"“{row.name}” is just being restored, backed up or tidied. Nothing was deleted; wait "
            "until that is done."
        )


def _stop(row: Workspace) -> None:
    """End the runs under way in it."""
    chats = Conversation.objects.filter(workspace=row)
    for chat in chats.filter(turns__state__in=Turn.LIVE).distinct().select_related("workspace"):
        send_message.stop_turn(chat)
    # A consolidation under way can no longer move the pointers.
    chats.exclude(consolidator="").update(consolidator="", consolidating_until=None)
    runs = DreamRun.objects.filter(workspace=row)
    runs.filter(state=DreamRun.State.QUEUED).update(
        state=DreamRun.State.ENDED,
        status="interrupted",
        message=_STOPPED,
        is_reported=True,
        ended_at=Now(),
    )
    # The lease renewer of the run notices it at its next beat, and the run writes nothing more.
    runs.filter(state=DreamRun.State.RUNNING).update(deadline_at=Now())


def _clear(row: Workspace) -> None:
    """Remove its folders and every row that refers to it."""
    data = settings.JENNY_DATA
    for folder in (row.root, data.snapshots / f"{row.pk}.git", data.trash / str(row.pk)):
        shutil.rmtree(folder, ignore_errors=True)
    clear_index(str(row.pk))
    for relation in Workspace._meta.related_objects:  # noqa: SLF001 - Django documents it
        if relation.field.name == "current_workspace":
            continue
        relation.related_model._base_manager.filter(  # noqa: SLF001 - as above
            **{relation.field.name: row}
        ).delete()


def clear_index(key: str) -> None:
    """Remove the indexes of a workspace; they contain its texts."""
    forget_index(key)
    for ending in ("", "-journal", "-wal", "-shm"):
        path = settings.JENNY_DATA.cache / "wikis" / f"{key}.sqlite3{ending}"
        with contextlib.suppress(OSError):
            path.unlink()


def _only_one(row: Workspace) -> WorkspaceRefused:
    return WorkspaceRefused(
        f"“{row.name}” is the only workspace, so it stays. Make another one first, then delete "
        "this one."
    )


def _measured(root: Path) -> tuple[int, int, bool]:
    """Return files, bytes, and whether counting stopped before the end."""
    files = size = 0
    for number, found in enumerate(_walk(root)):
        if number >= MOST_FILES:
            return files, size, True
        with contextlib.suppress(OSError):
            size += found.stat(follow_symlinks=False).st_size
            files += 1
    return files, size, False


def _walk(root: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every file below a folder without following links."""
    waiting = [str(root)]
    while waiting:
        try:
            rows = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for row in rows:
            if row.is_dir(follow_symlinks=False):
                waiting.append(row.path)
            else:
                yield row


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


# The check of a workspace's files as a job, and the result of the last one.


CHECK_KIND = "check"
_MOST_FINDINGS = 500
_HOME = ("/settings/system/health/", "Health of this workspace")


def begin_check(workspace: Workspace, account: Account) -> Job:
    """Enqueue a check; the one under way if there is one."""
    return jobs.begin_job(workspace, account, CHECK_KIND, {})


def check_files(job: Job) -> jobs.JobEnd:
    """Check the workspace of a claimed job. Results of earlier checks are deleted."""
    workspace = job.workspace
    job.progress(0, 0, "Looking through the files.")
    found = check_workspace(workspace.root) + row_findings(workspace, repair=False)
    found.sort(key=lambda one: not one.is_open)
    count = sum(one.is_open for one in found)
    is_over = ~Q(state__in=Job.OPEN)
    Job.objects.filter(is_over, workspace=workspace, kind=CHECK_KIND, pk__lt=job.pk).delete()
    result = {
        # A name of a file may be no text that a database takes.
        "findings": [
            clean_value(asdict(one) | {"is_open": one.is_open}) for one in found[:_MOST_FINDINGS]
        ],
        "open": count,
        "left_out": max(0, len(found) - _MOST_FINDINGS),
        "links": [{"href": _HOME[0], "label": "What was found"}],
    }
    message = "1 thing is to put right." if count == 1 else f"{count:,} things are to put right."
    return jobs.JobEnd(message if count else "All is well.", result)


def last_check(workspace: Workspace) -> Job | None:
    """Return the last completed check; ``None`` when there was none yet."""
    rows = Job.objects.filter(workspace=workspace, kind=CHECK_KIND, state=Job.State.DONE)
    return rows.order_by("-pk").first()


def open_check(workspace: Workspace) -> Job | None:
    return Job.objects.filter(workspace=workspace, kind=CHECK_KIND, state__in=Job.OPEN).first()


CHECK_JOB = jobs.JobKind("workspace.check", "Check of the files", _HOME)
