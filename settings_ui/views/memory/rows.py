"""Runs as lists show them: what each did, without loading all that is known of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, JSONField
from django.db.models.fields.json import KeyTransform

from jenny.accounts.models import Workspace
from memory.models import DreamRun, StagedHunk
from settings_ui.pipeline import wording
from settings_ui.pipeline.wording import Word

# Of many files, so many are named.
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
    """A run in a list. *tokens*: all that the provider counted. *freed*: characters that its review
    pass freed; ``None``: it had none."""

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


def page_of(workspace: Workspace, *, before: int = 0, most: int = 20) -> tuple[list[RunRow], int]:
    """The newest runs, or those before run *before*; and the number to go on from (0: no more)."""
    rows = DreamRun.objects.filter(workspace=workspace)
    if before:
        rows = rows.filter(pk__lt=before)
    rows = rows.annotate(
        all_tokens=F("input_tokens")
        + F("output_tokens")
        + F("cache_read_tokens")
        + F("cache_write_tokens"),
        files=KeyTransform("files", "report", output_field=JSONField()),
        refused=KeyTransform("refused", "report", output_field=JSONField()),
        freed=KeyTransform("freed", "review", output_field=JSONField()),
    )
    found = list(
        rows.order_by("-pk").values(*_COLUMNS, "all_tokens", "files", "refused", "freed")[
            : most + 1
        ]
    )
    waits = {row["id"] for row in found if row["status"] == "waiting"}
    if waits:
        open_ = StagedHunk.objects.filter(run__in=waits, state=StagedHunk.State.WAITING)
        waits = set(open_.values_list("run", flat=True))
    accepted = _accepted([row["id"] for row in found if not row["files"]])
    for row in found:
        row["files"] = row["files"] or accepted.get(row["id"], [])
    shown = [_row(row, still_waits=row["id"] in waits) for row in found[:most]]
    return shown, shown[-1].id if len(found) > most else 0


def _accepted(runs: list[int]) -> dict[int, list[dict[str, Any]]]:
    """What a person accepted of runs that wrote nothing by themselves: each file with its lines."""
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
        word=wording.status(row["state"] if is_live else row["status"], still_waits=still_waits),
        is_live=is_live,
        trigger=wording.TRIGGER.get(row["trigger"], row["trigger"]),
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
    )


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _count(row: dict[str, Any]) -> FileCount:
    return FileCount(str(row.get("path", "")), int(row.get("added", 0)), int(row.get("removed", 0)))
