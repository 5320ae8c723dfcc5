"""What can go wrong in the memory pipeline.

WorkspaceError
├── CursorBroken      Dream's cursor is no number, so nobody knows what Dream has read
├── NoSuchLine        no line of a memory file is meant
├── NotApproved       a change that waits cannot be written as it is, or as it was edited
├── NotArchived       no archived text is meant, or several are, or it may not come back
├── NotForgotten      nothing was forgotten, or no such thing is
├── NotRemembered     there is nothing to remember in this, it is too long, or was forgotten
└── NotPinned         no line is meant that could be pinned, or it has no pin

Every error carries a sentence for a person: what happened, what was kept, what to do.
"""

from jenny.workspace.errors import WorkspaceError


class CursorBroken(WorkspaceError):
    """``memory/.dream_cursor`` holds something else than a number; Dream and the moving of old
    entries stop, chats and new entries go on."""


class NoSuchLine(WorkspaceError):
    """The line is in no memory file or skill, or says nothing."""


class NotApproved(WorkspaceError):
    """A change that waits for approval cannot be written: its place has changed, or the words that
    a person gave for it cannot be. It still waits."""


class NotArchived(WorkspaceError):
    """No archived text is meant by this, or several are, or it was forgotten since."""


class NotForgotten(WorkspaceError):
    """There is nothing to forget in this, it means too much, or no such thing is forgotten."""


class NotPinned(WorkspaceError):
    """No line of a memory file is meant that could be pinned, or it has no pin."""


class NotRemembered(WorkspaceError):
    """There is nothing to remember in this, it is too long, or the user asked to forget it."""
