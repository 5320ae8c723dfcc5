"""Rows of run lists, loaded without the large columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, JSONField
from django.db.models.fields.json import KeyTransform

from jenny.accounts.models import Workspace
from memory.models import DreamRun, StagedHunk
from settings_ui.dream_pages import labels
from settings_ui.dream_pages.labels import Word

# Files that are named; more are counted.
NAMED = 3
_COLUMNS = (
    "id",
    "state",
    "status",
    "trigger",
    "created_at",
    "started_at",
    "ended_at",
    "seconds",
    "cost",
    "is_demo",
    "entries",
)
_WORKED_OUT = ("all_tokens", "files", "refused", "freed")


@dataclass(frozen=True, slots=True)
class FileCount:
    """A file with the lines that came and went."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list.

    *tokens* counts all tokens. *freed* counts the characters that its review removed, ``None``
    without one. *times* counts consecutive runs without entries that this row stands for.
    """

    id: int
    word: Word
    is_live: bool
    trigger: str
    when: datetime
    entries: int
    files: tuple[FileCount, ...]
    more_files: int
    refused: int
    freed: int | None
    tokens: int
    cost: Decimal | None
    seconds: float
    is_demo: bool
    times: int = 1


def page_of(workspace: Workspace, *, before: int = 0, most: int = 20) -> tuple[list[RunRow], int]:
    """Return the newest runs, or those before run *before*, and the number to continue from (0:
    none).

    Consecutive runs without entries are one row.
    """
    rows = DreamRun.objects.filter(workspace=workspace).annotate(
        all_tokens=F("input_tokens")
        + F("output_tokens")
        + F("cache_read_tokens")
        + F("cache_write_tokens"),
        files=KeyTransform("files", "report", output_field=JSONField()),
        refused=KeyTransform("refused", "report", output_field=JSONField()),
        freed=KeyTransform("freed", "review", output_field=JSONField()),
    )
    rows = rows.order_by("-pk").values(*_COLUMNS, "all_tokens", "files", "refused", "freed")
    found: list[dict[str, Any]] = []
    while len(found) <= most:
        some = list((rows.filter(pk__lt=before) if before else rows)[: most + 1])
        for row in some:
            _fold(found, row)
        if len(some) <= most:
            break
        before = some[-1]["id"]
    waits = {row["id"] for row in found if row["status"] == "waiting"}
    if waits:
        open_ = StagedHunk.objects.filter(run__in=waits, state=StagedHunk.State.WAITING)
        waits = set(open_.values_list("run", flat=True))
    accepted = _accepted([row["id"] for row in found if not row["files"]])
    for row in found:
        row["files"] = row["files"] or accepted.get(row["id"], [])
    shown = [_row(row, still_waits=row["id"] in waits) for row in found[:most]]
    return shown, found[most - 1]["oldest"] if len(found) > most else 0


def _fold(found: list[dict[str, Any]], row: dict[str, Any]) -> None:
    row |= {"times": 1, "oldest": row["id"], "is_empty": _is_empty(row)}
    if found and row["is_empty"] and found[-1]["is_empty"]:
        found[-1]["times"] += 1
        found[-1]["oldest"] = row["id"]
    else:
        found.append(row)


def _is_empty(row: dict[str, Any]) -> bool:
    """True when a run had no entries, changed nothing and used no tokens."""
    has_more = row["files"] or row["all_tokens"] or row["freed"]
    return row["status"] == DreamRun.NOTHING and not has_more


def _accepted(runs: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the changes that a person accepted of each run: files with their lines."""
    rows = StagedHunk.objects.filter(run__in=runs, state=StagedHunk.State.ACCEPTED)
    counts: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows.order_by("path").only("run_id", "path", "piece", "is_edited", "text"):
        files = counts.setdefault(row.run_id or 0, {})
        file = files.setdefault(row.path, {"path": row.path, "added": 0, "removed": 0})
        file["added"] += len(row.text.splitlines() if row.is_edited else row.piece["after"])
        file["removed"] += len(row.piece["before"])
    return {run: list(files.values()) for run, files in counts.items()}


def _row(row: dict[str, Any], *, still_waits: bool) -> RunRow:
    files = [_count(one) for one in _list(row["files"]) if isinstance(one, dict)]
    is_live = row["state"] != DreamRun.State.ENDED
    return RunRow(
        id=row["id"],
        word=labels.status(row["state"] if is_live else row["status"], still_waits=still_waits),
        is_live=is_live,
        trigger=labels.TRIGGER.get(row["trigger"], row["trigger"]),
        when=row["started_at"] or row["created_at"],
        entries=len(_list(row["entries"])),
        files=tuple(files[:NAMED]),
        more_files=max(0, len(files) - NAMED),
        refused=len(_list(row["refused"])),
        freed=row["freed"] if isinstance(row["freed"], int) else None,
        tokens=row["all_tokens"],
        cost=row["cost"],
        seconds=row["seconds"],
        is_demo=row["is_demo"],
        times=row["times"],
    )


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _count(row: dict[str, Any]) -> FileCount:
    return FileCount(str(row.get("path", "")), int(row.get("added", 0)), int(row.get("removed", 0)))
