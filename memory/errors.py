"""What can go wrong in the memory pipeline.

WorkspaceError
└── CursorBroken      Dream's cursor is no number, so nobody knows what Dream has read

Every error carries a sentence for a person: what happened, what was kept, what to do.
"""

from jenny.workspace.errors import WorkspaceError


class CursorBroken(WorkspaceError):
    """``memory/.dream_cursor`` holds something else than a number; Dream and the moving of old
    entries stop, chats and new entries go on."""
