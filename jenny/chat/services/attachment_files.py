"""The stored files of attachments: their names and content, and how they are deleted.

A file is deleted or moved only if it still has the content that was attached.
"""

import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from jenny.accounts.models import Workspace
from jenny.chat.models import Attachment, Conversation, FileToDelete
from jenny.documents import file_types
from jenny.workspace import names, paths, transactions, trash
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.files import Workspace as Files
from jenny.workspace.uploads import is_upload_path

log = logging.getLogger(__name__)

_NAME_CHARS = 120
_UNFIT = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*%]+')


def files_of(workspace: Workspace, run: str) -> Files:
    return open_workspace(workspace.root, Actor("browser", account=workspace.owner_id, run=run))


def digest_of(place: Path | int) -> str:
    """Return the SHA-256 of a file, or of a descriptor, which is closed."""
    with open(place, "rb") as file:  # noqa: PTH123  (it may be a descriptor)
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_content(files: Files, path: str, digest: str) -> bool:
    """True when the file at *path* has the content of that *digest*."""
    try:
        return digest_of(paths.open_file(paths.locate(files.root, path))) == digest
    except (WorkspaceError, OSError):
        return False


def make_file_name(given: str) -> str:
    """Return a name that every system can store, as near to the given one as possible."""
    plain = _UNFIT.sub(" ", given.replace("\\", "/").rpartition("/")[2])
    plain = "".join(char for char in plain if char.isprintable())
    plain = " ".join(plain.split()).lstrip(".~ ").rstrip(". ")
    if len(plain) > _NAME_CHARS:
        stem, dot, suffix = plain.rpartition(".")
        short = len(suffix) <= _NAME_CHARS // 4
        plain = (
            f"{stem[: _NAME_CHARS - len(suffix)].rstrip()}{dot}{suffix}"
            if short
            else (plain[:_NAME_CHARS].rstrip())
        )
    if not plain or names.unfit(plain) or names.unusable(plain):
        ending = re.sub(r"\W", "", file_types.ending_of(plain))[:10]
        return f"file.{ending}" if ending else "file"
    return plain


def let_stay(workspace: UUID, stored: Iterable[str]) -> None:
    """Keep these files when a temporary chat that has them, too, is deleted."""
    own = Attachment.objects.filter(workspace=workspace, path__in=stored, is_own=True)
    own.update(is_own=False)


def paths_of(conversation: Conversation) -> list[str]:
    """Return the paths of the files that were sent in a conversation and in no other one."""
    return sorted(_digests(conversation))


def _digests(conversation: Conversation) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    rows = _with_path(conversation.workspace_id)
    for path, digest in rows.filter(conversation=conversation).values_list("path", "digest"):
        if is_upload_path(path):
            found[path].add(digest)
    others = rows.exclude(conversation=conversation).filter(path__in=found)
    for path in others.values_list("path", flat=True):
        found.pop(path, None)
    return dict(found)


def _with_path(workspace: UUID) -> "QuerySet[Attachment]":
    return Attachment.objects.filter(workspace=workspace).exclude(path="")


def move_files_to_trash(conversation: Conversation) -> None:
    """Move the files of a deleted conversation to the trash of Files.

    One that is missing or was changed since, or that cannot be moved, stays as it is.
    """
    store = settings.JENNY_DATA.trash / str(conversation.workspace_id)
    files = files_of(conversation.workspace, f"conversation:{conversation.pk}")
    now = int(timezone.now().timestamp())
    try:
        with transactions.lock_workspace(files.root):
            for path, digests in sorted(_digests(conversation).items()):
                if any(has_content(files, path, digest) for digest in digests):
                    _move(files, store, path, now)
    except WorkspaceError as error:
        log.warning("attachment.not_moved", extra={"cause": type(error).__name__})


def _move(files: Files, store: Path, path: str, now: int) -> None:
    try:
        trash.move_to_trash(files, store, path, now=now)
    except WorkspaceError as error:
        log.warning("attachment.not_moved", extra={"cause": type(error).__name__})


def note_for_deletion(rows: Iterable[Attachment]) -> None:
    """Note the files that go with these rows, inside the transaction that deletes the rows."""
    for row in rows:
        if row.is_own and is_upload_path(row.path):
            FileToDelete.objects.create(
                workspace_id=row.workspace_id, path=row.path, digest=row.digest
            )


def note_files_of(conversation: Conversation) -> None:
    """Note the files that go with a conversation: those of a temporary chat, and unsent ones."""
    rows = Attachment.objects.filter(conversation=conversation)
    if conversation.kind != Conversation.Kind.TEMPORARY:
        rows = rows.filter(message=None)
    note_for_deletion(rows)


def delete_noted_files(*workspaces: UUID) -> None:
    """Delete the noted files for good, of all workspaces or of some.

    One that another message has, or whose content is another one by now, stays. One that cannot be
    deleted now is tried again later.
    """
    noted = FileToDelete.objects.filter(workspace__deleted_at=None).select_related("workspace")
    if workspaces:
        noted = noted.filter(workspace__in=workspaces)
    for one in noted.order_by("pk"):
        files = files_of(one.workspace, "attachments")
        try:
            with transactions.lock_workspace(files.root):
                if not _goes_to_other(one) and has_content(files, one.path, one.digest):
                    files.delete(one.path)
                one.delete()
        except WorkspaceError as error:
            log.warning("attachment.not_deleted", extra={"cause": type(error).__name__})


def _goes_to_other(noted: FileToDelete) -> bool:
    """True when another attachment has the file. It is the own one of temporary chats only if no
    lasting conversation has it."""
    others = _with_path(noted.workspace_id).filter(path=noted.path)
    temporary = others.filter(conversation__kind=Conversation.Kind.TEMPORARY)
    if others.count() == temporary.count():
        return bool(temporary.update(is_own=True))
    return True
