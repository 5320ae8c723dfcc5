"""Notes, right before an act lands, where its lines come from (``jenny.workspace.spool``).

It stops no write: what cannot be noted is found by the versions' blame later. A note of an act
that a crash kept from landing is harmless, since rows are found by what a line says.
"""

import base64
import datetime as dt
import logging
import secrets
import zlib
from collections.abc import Sequence
from typing import Any

from jenny.workspace import spool
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Change
from memory import files
from memory.provenance.lines import derive

logger = logging.getLogger(__name__)

NAME = "origins.jsonl"
# What a turn of a chat changed is kept whole, so that it can be shown and taken back.
TURN = "turn:"
KEPT_BYTES = 1_000_000


def record(changes: Sequence[Change]) -> None:
    """Note an act. A sink of the funnel (``memory.funnel.register_sink``)."""
    watched = [change for change in changes if is_watched(change)]
    if not watched:
        return
    try:
        spool.add(watched[0].workspace, NAME, _rows(watched))
    except (OSError, WorkspaceError) as error:
        logger.warning("origin of lines not noted: %s", error)


def record_outside(changes: Sequence[Change]) -> None:
    """Note edits that were found on disk. A listener of the versions
    (``jenny.workspace.versions.outside``), which may tell of the same ones twice."""
    record(changes)


def is_watched(change: Change) -> bool:
    """Whether its lines have origins: memory files and skills."""
    if files.skill_of(change.path) is not None:
        return True
    return files.memory_file(change.workspace, change.path) is not None


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """One row for each file of the act."""
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
    if not change.actor.run.startswith(TURN):
        return {}
    if max(len(change.old or b""), len(change.new or b"")) > KEPT_BYTES:
        return {}
    return {"before": packed(change.old), "after": packed(change.new)}


def packed(data: bytes | None) -> str | None:
    """A content as text; ``None``: there is no file."""
    return None if data is None else base64.b64encode(zlib.compress(data, 1)).decode("ascii")


def unpacked(text: str | None) -> bytes | None:
    """What ``packed`` made. Raises ``ValueError`` or ``zlib.error`` when it is damaged."""
    return None if text is None else zlib.decompress(base64.b64decode(text, validate=True))
