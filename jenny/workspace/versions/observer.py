"""The write rule by which the workspace's files tell who writes them."""

import logging
from typing import Final

from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Change
from jenny.workspace.versions import record, tracked, writes

logger = logging.getLogger(__name__)

# A log of this size becomes versions before the next write; one that cannot, since versions are
# off, is given up when it is so many times as large: what it told of counts as made outside.
FULL_BYTES = 4_000_000
GIVEN_UP: Final = 4


def observe(change: Change) -> None:
    """Note who is about to write a tracked file. A write rule that acts.

    It stops nobody: where it cannot be noted, the write counts as made outside.
    """
    if not tracked.is_tracked(change.path):
        return
    try:
        _make_room(change)
        writes.note(change)
    except (OSError, WorkspaceError) as error:
        logger.warning("who wrote %s could not be noted: %s", change.path, error)


def _make_room(change: Change) -> None:
    """Turn a log that has grown large into versions."""
    size = writes.size(change.workspace)
    if size < FULL_BYTES:
        return
    try:
        record.commit_pending(change.workspace)
    except WorkspaceError:
        if size > GIVEN_UP * FULL_BYTES:
            writes.forget(change.workspace)
