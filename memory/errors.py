"""Errors of the memory pipeline.

Each carries a sentence for a person: what happened, what was kept, what to do.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jenny.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from memory.suppression.forget import ForgettableLine


class CursorBroken(WorkspaceError):
    """``memory/.dream_cursor`` is no number. Dream and the compaction of the history stop; chats
    and new entries go on."""


class NoSuchLine(WorkspaceError):
    """The line is in no memory file or skill, or it is empty."""


class NotApproved(WorkspaceError):
    """A change that waits for approval cannot be written: its place has changed, or the words that
    a person gave for it cannot be. It still waits."""


class NotArchived(WorkspaceError):
    """A pending change cannot be written: its place has changed, or the person's wording is not
    allowed. It keeps waiting."""


class NotForgotten(WorkspaceError):
    """There is nothing to forget in this, it means too much, or no such thing is forgotten.

    *lines*: the lines that may be meant (``memory.suppression.ForgettableLine``).
    """

    def __init__(self, message: str, lines: Sequence["ForgettableLine"] = ()) -> None:
        super().__init__(message)
        self.lines = tuple(lines)


class NotPinned(WorkspaceError):
    """No line of a memory file is meant that could be pinned, or it has no pin."""


class NotRemembered(WorkspaceError):
    """There is nothing to remember in this, it is too long, or the user asked to forget it."""


class LineRefused(WorkspaceError):
    """A line of a memory file was not written as asked: no text, too long, or there already."""
