"""Takes in files that are sent with messages: reads, keeps, stores and removes them.

Until its message is sent, a file waits in the data folder. Then it is stored under ``uploads/`` of
the workspace (in a project: of the project's folder), each content once.
"""

import contextlib
import fcntl
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone

from jenny.accounts.models import Account, Workspace
from jenny.agent.clock import zone_of
from jenny.chat.attachment_texts import CHARS_PER_TOKEN, allocate_room, excerpt
from jenny.chat.models import Attachment, Conversation, Message
from jenny.chat.services.attachment_files import (
    delete_noted_files,
    digest_of,
    files_of,
    has_content,
    let_stay,
    make_file_name,
    note_for_deletion,
)
from jenny.documents import file_types
from jenny.documents.reader import BUSY, Reading, read_file
from jenny.workspace import config as workspace_config
from jenny.workspace import move_copy, names, retention, transactions, uploads
from jenny.workspace.errors import (
    FileMissing,
    FileTooLarge,
    PathRefused,
    WorkspaceError,
    WriteFailed,
    reason_of,
)
from jenny.workspace.files import Workspace as Files
from jenny.workspace.uploads import UploadPart
from wikis import project as wiki_project

log = logging.getLogger(__name__)

MOST_FILES = 20
_MEGABYTE = 1_000_000
# Heading and line breaks of a page in the text for the model.
_PAGE_MARK_CHARS = 40


class AttachmentRefused(WorkspaceError):
    """A file, or one file more, is not accepted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the workspace's settings, in bytes and tokens."""

    file_bytes: int
    message_bytes: int
    text_tokens: int

    @property
    def text_chars(self) -> int:
        return int(self.text_tokens * CHARS_PER_TOKEN)


def limits_of(workspace: Workspace) -> Limits:
    config = workspace_config.load_config(workspace.root)
    return Limits(
        config.attachments.max_file_mb * _MEGABYTE,
        config.attachments.max_message_mb * _MEGABYTE,
        config.attachments.text_tokens,
    )


def waiting_for(
    account: Account, workspace: Workspace, conversation: Conversation | None
) -> list[Attachment]:
    """Return the files that wait to be sent in *conversation*; ``None``: in a new one."""
    rows = Attachment.objects.filter(
        account=account, workspace=workspace, conversation=conversation, message=None
    )
    return list(rows.order_by("pk"))


# --- Uploads ---------------------------------------------------------------------------------


def receive_part(
    account: Account,
    workspace: Workspace,
    conversation: Conversation | None,
    form: Any,
    data: bytes | None,
) -> Attachment | int:
    """Append one part of an upload. Return the size received, or the file when it is whole.

    :raises WorkspaceError: it is not accepted; nothing of the file is kept.
    """
    limits = limits_of(workspace)
    try:
        part = uploads.read_part(form, has_data=data is not None, limit=limits.file_bytes)
    except FileTooLarge as error:
        raise AttachmentRefused(_too_large(form.get("name", ""), limits)) from error
    with _one_request(account, part.id):
        return _receive(account, workspace, conversation, part, data=data or b"", limits=limits)


@contextlib.contextmanager
def _one_request(account: Account, upload: str) -> Iterator[None]:
    """Let a part that is sent again, since its answer was late, wait for the first one."""
    place = _waiting_path(account.pk, upload, "lock")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = place.open("wb")
    except OSError as error:
        message = f"The file could not be stored: {reason_of(error)}. Nothing of it was kept."
        raise WriteFailed(message) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _receive(
    account: Account,
    workspace: Workspace,
    conversation: Conversation | None,
    part: UploadPart,
    *,
    data: bytes,
    limits: Limits,
) -> Attachment | int:
    done = Attachment.objects.filter(account=account, upload=part.id).first()
    if done is not None:
        return done  # the last part was sent again, since its answer was lost
    place = _waiting_path(account.pk, part.id, "part")
    try:
        _check_wanted(account, part.id)
        there = uploads.append_part(place, data, part.at)
        if there < part.size:
            return there
        if there > part.size:
            raise AttachmentRefused(f"{names.shown(part.name)} changed while it was sent.")
        return _note_upload(account, workspace, conversation, part, limits)
    except OSError as error:
        _discard_upload(account.pk, part.id)
        message = (
            f"{names.shown(part.name)} could not be stored: {reason_of(error)}. Nothing of it was "
            "kept."
        )
        raise WriteFailed(message) from error
    except WorkspaceError:
        _discard_upload(account.pk, part.id)
        raise


def cancel_upload(account: Account, upload: str) -> None:
    """Remove an upload that is under way, also while the file is read; nothing of it stays."""
    if not uploads.is_upload_id(upload):
        return
    # Marked first, so that whoever reads the file now removes it afterwards.
    mark = _waiting_path(account.pk, upload, "cancelled")
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch(mode=0o600)
    for row in Attachment.objects.filter(account=account, upload=upload):
        remove(row)
    _discard_upload(account.pk, upload)


def _check_wanted(account: Account, upload: str) -> None:
    if _waiting_path(account.pk, upload, "cancelled").exists():
        raise AttachmentRefused("The upload was cancelled. Nothing of it was kept.")


def receive_file(
    account: Account, workspace: Workspace, conversation: Conversation | None, file: Any, key: str
) -> Attachment:
    """Take in a whole file of a form; *key*: 32 hex digits, new for each file.

    :raises WorkspaceError: as ``receive_part``.
    """
    form = {"id": key, "name": file.name or "file", "at": "0", "size": str(file.size)}
    found = receive_part(account, workspace, conversation, form, file.read())
    if isinstance(found, int):
        raise AttachmentRefused(f"{names.shown(form['name'])} did not arrive whole.")
    return found


def _note_upload(
    account: Account,
    workspace: Workspace,
    conversation: Conversation | None,
    part: UploadPart,
    limits: Limits,
) -> Attachment:
    """Read an upload that is whole, and note it as waiting to be sent."""
    there = Attachment.objects.filter(
        account=account, workspace=workspace, conversation=conversation, message=None
    )
    if there.count() >= MOST_FILES:
        raise AttachmentRefused(f"A message can have {MOST_FILES} files. This one was not added.")
    if (there.aggregate(all=Sum("size"))["all"] or 0) + part.size > limits.message_bytes:
        raise AttachmentRefused(
            f"The files of a message can have {limits.message_bytes // _MEGABYTE} MB together "
            "(Settings → Conversation). This one was not added."
        )
    place = _waiting_path(account.pk, part.id, "file")
    _waiting_path(account.pk, part.id, "part").replace(place)
    name = make_file_name(part.name)
    found = read_file(place, name, chars=max(limits.text_chars, 1))
    row = Attachment.objects.create(
        workspace=workspace,
        account=account,
        conversation=conversation,
        upload=part.id,
        name=name,
        size=part.size,
        digest=digest_of(place),
        **_facts(found, name),
    )
    try:
        _check_wanted(account, part.id)
    except AttachmentRefused:
        remove(row)
        raise
    return row


def _facts(found: Reading, name: str) -> dict[str, Any]:
    """Return what a row notes of a reading."""
    problem = found.problem
    if file_types.is_mislabelled(file_types.TYPES.get(found.type, file_types.TYPES["other"]), name):
        explanation = f"Its name ends in .{file_types.ending_of(name)}, but it is: {found.label}."
        problem = f"{explanation} {problem}".strip()
    return {
        "kind": found.kind,
        "label": found.label,
        "problem": problem,
        # PostgreSQL takes no NUL in a text.
        "pages": [text.replace("\0", "") for text in found.pages],
        "page_count": found.page_count if found.kind == "document" else 0,
        "has_more": found.has_more,
        "picture": found.picture or None,
        "picture_type": found.picture_type,
        "width": found.width,
        "height": found.height,
        "thumbnail": found.thumbnail or None,
    }


def move_to(row: Attachment, conversation: Conversation) -> None:
    """Let a file wait in *conversation*, which began with a command."""
    Attachment.objects.filter(pk=row.pk, message=None).update(conversation=conversation)


def remove(row: Attachment) -> None:
    """Remove a file that was not sent; nothing of it stays."""
    with transaction.atomic():
        found = Attachment.objects.select_for_update().filter(pk=row.pk, message=None).first()
        if found is None:
            return
        note_for_deletion([found])
        found.delete()
    _discard_upload(found.account_id or 0, found.upload)
    delete_noted_files(found.workspace_id)


def clear_uploads() -> None:
    """Delete files that waited too long to be sent, and those that belong to no row."""
    late = timezone.now() - retention.UNSENT_FILE
    for row in Attachment.objects.filter(message=None, created_at__lt=late):
        remove(row)
    delete_noted_files()
    for place in settings.JENNY_DATA.uploads.glob("*/*"):
        if place.suffix not in (".file", ".lock", ".cancelled"):
            continue
        with contextlib.suppress(OSError):
            is_old = place.stat().st_mtime < timezone.now().timestamp() - 3600
            is_file = place.suffix == ".file"
            if is_old and not (is_file and Attachment.objects.filter(upload=place.stem).exists()):
                place.unlink()


def _too_large(name: str, limits: Limits) -> str:
    return (
        f"{names.shown(name)} is larger than {limits.file_bytes // _MEGABYTE} MB, the limit in "
        "Settings → Conversation. Put it into Files and name it in the message."
    )


def _waiting_path(account: int, upload: str, ending: str) -> Path:
    place: Path = settings.JENNY_DATA.uploads / str(account) / f"{upload}.{ending}"
    return place


def _discard(place: Path) -> None:
    with contextlib.suppress(OSError):
        place.unlink()


def _discard_upload(account: int, upload: str) -> None:
    for ending in ("part", "file"):
        _discard(_waiting_path(account, upload, ending))


# --- Sending ---------------------------------------------------------------------------------


def store(conversation: Conversation, rows: Sequence[Attachment]) -> None:
    """Store the files of a message that is about to be sent, and decide what the model gets.

    The rows get their paths here, the rest by ``give_to``. A file whose content is there already
    is used again.

    :raises WorkspaceError: one cannot be stored; those before it are used when it is sent again.
    """
    workspace = conversation.workspace
    if not rows:
        return
    within = wiki_project.folder_of(conversation.project) if conversation.project else ""
    files = files_of(workspace, f"conversation:{conversation.pk}")
    config = workspace_config.load_config(workspace.root)
    zone = zone_of(config.agents.defaults.timezone or workspace.owner.time_zone)
    top = f"{within}/{uploads.FOLDER}" if within else uploads.FOLDER
    day = datetime.now(UTC).astimezone(zone).strftime("%Y-%m-%d")
    _read_again(rows, limits_of(workspace))
    for row in rows:
        _store_file(files, top, f"{top}/{day}/{row.name}", row)
    _choose_forms(rows, limits_of(workspace).text_chars)


def _store_file(files: Files, top: str, target: str, row: Attachment) -> None:
    place = _waiting_path(row.account_id or 0, row.upload, "file")
    # Whoever deletes a file looks for its rows under the same lock.
    with transactions.lock_workspace(files.root):
        saved = Attachment.objects.filter(pk=row.pk, message=None).first()
        if saved is None:
            raise _gone(row)
        if there := _same_content(files, top, row):
            _set_path(row, there, is_own=saved.is_own and saved.path == there)
            return
        path = move_copy.free_name(files.root, target)
        # Before the file is there, so that it has a row even when this process ends meanwhile.
        _set_path(row, path, is_own=True)
        try:
            with place.open("rb") as stream:
                stored = uploads.upload(files, path, stream, limit=row.size)
        except FileNotFoundError as error:
            message = f"{names.shown(row.name)} is not there any more. Attach it once more."
            raise AttachmentRefused(message) from error
        if stored != path:
            _set_path(row, stored, is_own=True)


def _read_again(rows: Sequence[Attachment], limits: Limits) -> None:
    """Read the files that found no reader when they arrived, until one finds none again."""
    for row in rows:
        if BUSY not in row.problem:
            continue
        place = _waiting_path(row.account_id or 0, row.upload, "file")
        if not place.exists():
            continue
        found = read_file(place, row.name, chars=max(limits.text_chars, 1))
        if found.problem == BUSY:
            return
        facts = _facts(found, row.name)
        Attachment.objects.filter(pk=row.pk, message=None).update(**facts)
        for name, value in facts.items():
            setattr(row, name, value)


def _set_path(row: Attachment, path: str, *, is_own: bool) -> None:
    if not Attachment.objects.filter(pk=row.pk, message=None).update(path=path, is_own=is_own):
        raise _gone(row)
    row.path = path


def _gone(row: Attachment) -> AttachmentRefused:
    return AttachmentRefused(
        f"{names.shown(row.name)} was removed, or sent with another message. Load the page again "
        "to see what is attached."
    )


def _same_content(files: Files, top: str, row: Attachment) -> str:
    """Return the path below *top* of a file with the content of *row*; empty: there is none."""
    try:
        entries = [one for one in files.walk(top) if one.kind == "file" and one.size == row.size]
    except (FileMissing, PathRefused):
        return ""
    for entry in entries:
        if has_content(files, entry.path, row.digest):
            return entry.path
    return ""


def _choose_forms(rows: Sequence[Attachment], room: int) -> None:
    texts = [row for row in rows if row.pages]
    sizes = [sum(len(page) + _PAGE_MARK_CHARS for page in row.pages) for row in texts]
    shares = {id(row): part for row, part in zip(texts, allocate_room(sizes, room), strict=True)}
    for row in rows:
        row.form = Attachment.Form.PICTURE if row.is_picture else Attachment.Form.PATH
        if share := shares.get(id(row), 0):
            made = excerpt(
                row.kind, row.pages, page_count=row.page_count, has_more=row.has_more, room=share
            )
            row.text = made.text
            row.form = Attachment.Form.TEXT if made.is_whole else Attachment.Form.PART
        row.tokens = row.as_file(text=row.text).tokens


def give_to(message: Message, rows: Iterable[Attachment]) -> None:
    """Give stored files to *message*, inside the transaction that stores it.

    :raises AttachmentRefused: one was removed, or sent with another message.
    """
    given: list[str] = []
    for position, row in enumerate(rows):
        is_won = Attachment.objects.filter(pk=row.pk, message=None).update(
            message=message,
            position=position,
            conversation=message.conversation_id,
            path=row.path,
            form=row.form,
            text=row.text,
            tokens=row.tokens,
            upload="",
            pages=[],
        )
        if not is_won:
            raise _gone(row)
        given.append(row.path)
    if given and message.conversation.kind != Conversation.Kind.TEMPORARY:
        let_stay(message.conversation.workspace_id, given)


def drop_uploads(rows: Iterable[Attachment]) -> None:
    """Delete the uploads of files that are in the workspace, after the transaction."""
    for row in rows:
        _discard(_waiting_path(row.account_id or 0, row.upload, "file"))


def copy_to(message: Message, source: Message) -> None:
    """Give *message* the files of another version of it, inside the transaction."""
    for row in source.attachments.defer(None):
        row.pk = None
        row._state.adding = True  # noqa: SLF001 - Django documents it for copies
        row.message, row.conversation_id = message, message.conversation_id
        row.save()


def may_see() -> Q:
    """The condition of attachments that a page may show: not those of deleted conversations."""
    return Q(conversation=None) | Q(conversation__deleted_at=None)
