"""Workspaces as wholes: make one, rename it, delete it with time to think, let go of it.

A deleted workspace keeps its folder and its rows for thirty days, out of everybody's sight, and can
be brought back as it was. Then they go; the row itself stays, so that its slug is never used again.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Account, Job, Workspace
from jenny.chat.models import Conversation, Message, Turn
from jenny.chat.tasks import accept
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.snapshots import shelf
from jenny.workspace.snapshots.values import sized
from memory.management import snapshots
from memory.models import DreamRun
from settings_ui.errors import WorkspaceRefused

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=30)
LONGEST_NAME = 80
# Files that are counted before it is said that there are more.
MOST_FILES = 200_000
_STOPPED = "The workspace was deleted in the middle. What had been written is kept with it."


@dataclass(frozen=True, slots=True)
class Inside:
    """What a workspace holds. *size* in bytes; *is_more*: more files than were counted."""

    files: int = 0
    size: int = 0
    is_more: bool = False
    conversations: int = 0
    messages: int = 0
    snapshots: int = 0
    running: int = 0

    def as_json(self) -> dict[str, int]:
        """For ``--json``."""
        return {
            "files": self.files,
            "bytes": self.size,
            "conversations": self.conversations,
            "messages": self.messages,
            "snapshots": self.snapshots,
        }

    @property
    def sentence(self) -> str:
        """The same in words."""
        most = "more than " if self.is_more else ""
        chats = _count(self.conversations, "conversation")
        parts = [
            f"{most}{_count(self.files, 'file')} ({sized(self.size)})",
            f"{chats} with {_count(self.messages, 'message')}",
            _count(self.snapshots, "snapshot"),
        ]
        return f"{', '.join(parts[:-1])} and {parts[-1]}"


def checked_name(owner: Account, given: str, *, of: Workspace | None = None) -> str:
    """A name as it is stored. *of*: the workspace that bears it already, if one does.

    :raises WorkspaceRefused: none may be called that.
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
    """The account's workspaces, oldest first."""
    return Workspace.objects.filter(owner=owner).order_by("created_at", "slug")


def deleted(owner: Account) -> "QuerySet[Workspace]":
    """Those that can still be brought back, the newest deletion first."""
    rows = Workspace.all_objects.filter(owner=owner, deleted_at__isnull=False)
    return rows.exclude(folder_made_at=None).order_by("-deleted_at")


def create(owner: Account, given: str) -> Workspace:
    """A new workspace with its first files.

    :raises WorkspaceRefused: none may be called that.
    :raises WorkspaceError: its folder cannot be made; the row stays, and the next visit tries.
    """
    row = Workspace.make(owner, checked_name(owner, given))
    row.make_folder()
    return row


def give_name(row: Workspace, owner: Account, given: str) -> bool:
    """Give it another name; its folder keeps its own. Whether that is another one.

    :raises WorkspaceRefused: it may not be called that.
    """
    name = checked_name(owner, given, of=row)
    return bool(Workspace.objects.filter(pk=row.pk).exclude(name=name).update(name=name))


def inside(row: Workspace) -> Inside:
    """What would go with it."""
    files, size, is_more = _measured(row.root)
    chats = Conversation.objects.filter(workspace=row)
    count = 0
    with contextlib.suppress(WorkspaceError, OSError):
        count = len(shelf.snapshots(snapshots.store_of(row)))
    running = Turn.objects.filter(conversation__workspace=row, state__in=Turn.LIVE).count()
    running += DreamRun.objects.filter(workspace=row, state__in=DreamRun.LIVE).count()
    return Inside(
        files=files,
        size=size,
        is_more=is_more,
        conversations=chats.count(),
        messages=Message.objects.filter(conversation__workspace=row).count(),
        snapshots=count,
        running=running,
    )


def delete(row: Workspace) -> str:
    """Delete it, so that it can be brought back; a sentence about the snapshot taken first, where
    none could be.

    :raises WorkspaceRefused: it is the only one, gone already, or long work goes on in it; nothing
        was changed.
    """
    if not live(row.owner).exclude(pk=row.pk).exists():
        raise _only_one(row)
    _refuse_busy(row)
    told = ""
    try:
        if row.folder_made_at is not None:
            snapshots.take(row, "manual", label="before it was deleted")
    except (WorkspaceError, OSError) as error:
        sentence = error.sentence if isinstance(error, WorkspaceError) else str(error)
        told = f"No snapshot was taken before: {sentence}"
    with transaction.atomic():
        # Two tabs may delete the last two at once; the account's row lets one through.
        Account.objects.select_for_update().get(pk=row.owner_id)
        # Who asks for work in it at this moment waits for its row, or is seen here.
        Workspace.all_objects.select_for_update().get(pk=row.pk)
        _refuse_busy(row)
        if not live(row.owner).exclude(pk=row.pk).exists():
            raise _only_one(row)
        if not Workspace.objects.filter(pk=row.pk).update(deleted_at=Now()):
            raise WorkspaceRefused(f"“{row.name}” is deleted already.")
    _stop(row)
    log.info("workspace.deleted", extra={"workspace": str(row.pk)})
    return told


def bring_back(row: Workspace) -> bool:
    """Undo the deletion. ``False``: it is there, or its thirty days are over."""
    rows = deleted(row.owner).filter(pk=row.pk)
    if not row.root.is_dir():
        return False
    return bool(Workspace.all_objects.filter(pk__in=rows).update(deleted_at=None))


def purge(now: datetime) -> int:
    """Let go of what was deleted thirty days ago; how many. Safe to break off and to repeat."""
    old = Workspace.all_objects.filter(deleted_at__lt=now - KEPT_FOR)
    # Whoever brings one back at this moment is faster, or too late.
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
    """End what is under way in it."""
    chats = Conversation.objects.filter(workspace=row)
    for chat in chats.filter(turns__state__in=Turn.LIVE).distinct().select_related("workspace"):
        accept.stop(chat)
    # Whoever is summarising moves nothing more.
    chats.exclude(consolidator="").update(consolidator="", consolidating_until=None)
    runs = DreamRun.objects.filter(workspace=row)
    runs.filter(state=DreamRun.State.QUEUED).update(
        state=DreamRun.State.ENDED,
        status="interrupted",
        sentence=_STOPPED,
        was_told=True,
        ended_at=Now(),
    )
    # Its holder hears of it at the next beat of its heart, and writes nothing more.
    runs.filter(state=DreamRun.State.RUNNING).update(deadline_at=Now())


def _clear(row: Workspace) -> None:
    """Remove what is left of it: folders, and every row that hangs on it."""
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
    """Remove what is known of the wikis of the workspace with that id: their words lie in it."""
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
    """Files, their bytes, and whether there are more than were counted."""
    files = size = 0
    for number, found in enumerate(_walk(root)):
        if number >= MOST_FILES:
            return files, size, True
        with contextlib.suppress(OSError):
            size += found.stat(follow_symlinks=False).st_size
            files += 1
    return files, size, False


def _walk(root: Path) -> Iterator[os.DirEntry[str]]:
    """Every file below, no link followed."""
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
