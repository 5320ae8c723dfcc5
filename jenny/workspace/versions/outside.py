"""Telling others of edits that nobody made through the workspace: an editor outside, a copied file.

They are found when versions are made, long after they landed; so nobody can refuse them, and
what is told may be told again when a process was killed in between.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Actor, Change

logger = logging.getLogger(__name__)

Listener = Callable[[Sequence[Change]], None]
_listeners: dict[str, Listener] = {}


def register_listener(listener: Listener) -> None:
    """Let *listener* know of the files that were changed outside, before they become a version;
    the workspace's lock is held."""
    _listeners[f"{listener.__module__}.{listener.__qualname__}"] = listener


def tell(
    root: Path, actor: Actor, changes: Mapping[str, tuple[bytes | None, bytes | None]]
) -> None:
    """Tell every listener; one that fails keeps no version from being made."""
    rows = [Change(path, old, new, actor, root) for path, (old, new) in changes.items()]
    for listener in list(_listeners.values()):
        try:
            listener(rows)
        except (OSError, WorkspaceError) as error:
            logger.warning("edits made outside could not be noted: %s", error)
