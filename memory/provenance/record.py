"""Notes the origins of lines right before a write (``jenny.workspace.ledger_queue``).

It stops no write: the blame of the versions finds later what was not noted. The note of a write
that a crash prevented is harmless, since rows are found by a line's text.
"""

import base64
import datetime as dt
import logging
import secrets
import zlib
from collections.abc import Sequence
from typing import Any

from jenny.workspace import ledger_queue
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Change
from memory import files
from memory.provenance.lines import derive

logger = logging.getLogger(__name__)

NAME = "origins.jsonl"
# Changes of chat turns and of the pages are kept with their contents, so that they can be shown and
# reverted.
TURN = "turn:"
PAGE = "page:"
KEPT_BYTES = 1_000_000


def record(changes: Sequence[Change]) -> None:
    """Note a write. A sink of the write rules (``memory.write_rules.register_sink``)."""
    watched = [change for change in changes if is_watched(change)]
    if not watched:
        return
    try:
        ledger_queue.add(watched[0].workspace, NAME, _rows(watched))
    except (OSError, WorkspaceError) as error:
        logger.warning("origin of lines not noted: %s", error)


def record_outside(changes: Sequence[Change]) -> None:
    """Note edits that were found on disk. A listener of
    ``jenny.workspace.versions.commits``, which may report the same edits twice."""
    record(changes)


def is_watched(change: Change) -> bool:
    if files.skill_of(change.path) is not None:
        return True
    return files.memory_file(change.workspace, change.path) is not None


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    origins = derive(changes)
    at = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
    return [
        {
            "act": secrets.token_hex(12),
            "at": at,
            "path": change.path,
            "actor": change.actor.kind,
            "account": change.actor.account,
            "run": change.actor.run,
            "sources": list(change.actor.sources),
            "reason": change.actor.reason,
            "lines": [
                [row.digest, row.relation, list(row.was), row.was_path]
                for row in origins
                if row.path == change.path
            ],
            **_contents(change),
        }
        for change in changes
    ]


def _contents(change: Change) -> dict[str, Any]:
    if not change.actor.run.startswith((TURN, PAGE)):
        return {}
    if max(len(change.old or b""), len(change.new or b"")) > KEPT_BYTES:
        return {}
    return {"before": packed(change.old), "after": packed(change.new)}


def packed(data: bytes | None) -> str | None:
    """Encode a content as text; ``None``: there is no file."""
    return None if data is None else base64.b64encode(zlib.compress(data, 1)).decode("ascii")


def unpacked(text: str | None) -> bytes | None:
    """Decode a text of ``packed``.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    return None if text is None else zlib.decompress(base64.b64decode(text, validate=True))
