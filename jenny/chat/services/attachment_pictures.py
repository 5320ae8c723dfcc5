"""Pictures of attachments: the small ones of pages, and those that came without, from a backup."""

import hashlib

from jenny.chat.models import Attachment, Conversation
from jenny.documents.reader import BUSY, read_data
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace


def thumbnail_of(row: Attachment) -> bytes | None:
    """Return the small picture of an attachment; ``None``: it is none, or its file is gone."""
    if row.is_picture and row.thumbnail is None:
        _make_again(row)
    return bytes(row.thumbnail) if row.thumbnail else None


def make_missing_pictures(conversation: Conversation) -> None:
    """Make the pictures that the model still sees and that came without them, from a backup."""
    rows = Attachment.objects.filter(
        conversation=conversation,
        message__gte=conversation.context_from,
        form=Attachment.Form.PICTURE,
        picture=None,
    )
    for row in rows.select_related("workspace"):
        _make_again(row)


def _make_again(row: Attachment) -> None:
    """Make the picture from the file, if that is still the one that was sent.

    One that cannot be made is stored as empty, so that it is not tried in every turn.
    """
    try:
        files = open_workspace(row.workspace.root, Actor("pipeline"))
        data = files.read(row.path, limit=row.size).data
    except (WorkspaceError, OSError):
        return
    if hashlib.sha256(data).hexdigest() != row.digest:
        return
    found = read_data(data, row.name)
    if found.problem == BUSY:
        return
    row.picture, row.thumbnail = found.picture, found.thumbnail
    if found.picture:
        row.picture_type, row.width, row.height = found.picture_type, found.width, found.height
    row.save(update_fields=["picture", "thumbnail", "picture_type", "width", "height"])
