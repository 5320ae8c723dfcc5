"""Signals by which other apps connect to the wikis.

Each has ``workspace``, the workspace's row, and ``name``, the wiki's. A receiver that raises
``WorkspaceError`` stops what is under way.
"""

from typing import TYPE_CHECKING

from django.dispatch import Signal

from wikis.errors import WikiError

if TYPE_CHECKING:
    from jenny.accounts.models import Workspace

wiki_created = Signal()
# Also has ``old``, the name before; ``name`` is the new one.
wiki_renamed = Signal()
# A receiver makes a copy of the workspace, and returns a sentence about it.
wiki_deleting = Signal()
# A receiver returns the number of conversations inside the wiki.
conversations_counted = Signal()
# A receiver deletes the conversations inside the wiki, and returns a sentence about it.
conversations_deleting = Signal()


def copy_before_delete(workspace: "Workspace", name: str) -> str:
    """Have a copy made, and return the sentence about it.

    Raises:
        WikiError: nothing makes one; nothing may be deleted.
        WorkspaceError: the copy failed.
    """
    if not wiki_deleting.has_listeners():
        raise WikiError("No snapshot can be taken here, so nothing was deleted.")
    return _said(wiki_deleting, workspace, name)


def count_conversations(workspace: "Workspace", name: str) -> int:
    found = conversations_counted.send(sender=None, workspace=workspace, name=name)
    return sum(int(count or 0) for _, count in found)


def delete_conversations(workspace: "Workspace", name: str) -> str:
    """Delete the conversations inside a wiki, and return the sentence about it.

    Raises:
        WorkspaceError: none was deleted.
    """
    return _said(conversations_deleting, workspace, name)


def _said(signal: Signal, workspace: "Workspace", name: str) -> str:
    said = signal.send(sender=None, workspace=workspace, name=name)
    return " ".join(sentence for _, sentence in said if sentence)
