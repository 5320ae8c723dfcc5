"""Exports the memory's tables to a backup and imports them.

An import changes no existing row: a known run, origin or set-aside entry stays. Changes that
waited for approval are invalid, and their entries are requeued for Dream; what a person rejected
is imported, so that Dream does not propose it again.
"""

import hashlib
import itertools
import json
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from jenny.accounts.models import Workspace
from jenny.workspace import paths, transactions
from jenny.workspace.backup.rows import (
    MOST_COUNT,
    Field,
    Row,
    Table,
    amount,
    choice,
    facts,
    flag,
    moment,
    money,
    or_none,
    rename_key,
    several,
    shaped,
    text,
    whole,
)
from jenny.workspace.git.objects import is_id
from memory.models import DreamEntry, DreamRun, LineOrigin, StagedHunk
from memory.models.dream import RUN_PREFIX as _DREAM
from memory.provenance import TURN
from memory.services import approvals, dream_run_store
from memory.services.proposals import REMEMBERED, is_piece, keep_marks

RUNS = "ledgers/runs.jsonl"
ORIGINS = "ledgers/origins.jsonl"
ENTRIES = "ledgers/entries.jsonl"
HUNKS = "ledgers/hunks.jsonl"
_COUNT = whole(MOST_COUNT)
_PATH = text(512)


def _read_version(value: Any) -> str:
    if not isinstance(value, str) or not is_id(value):
        raise ValueError(value)
    return value


_version = Field(_read_version)

_ENTRY = shaped(
    {"cursor": whole()},
    {
        "verdict": text(40),
        "reason": text(),
        "tries": _COUNT,
        "reoffered": flag,
        "digested": flag,
    },
)
_WRITE = shaped(
    {"path": _PATH, "ok": flag},
    {
        "sources": several(whole()),
        "added": several(text()),
        "removed": several(text()),
        "rule": text(40),
        "message": text(),
    },
)
_KEPT = shaped({"id": text(80)}, {"text": text(), "source": text(512), "reason": text()})
_REPORT = shaped(
    {},
    {
        "markdown": text(),
        "diff": text(),
        "refused": several(shaped({}, {"path": _PATH, "rule": text(40)})),
        "archived": several(_KEPT),
    },
)
_REVIEW = shaped(
    {},
    {
        "due": or_none(text(40)),
        "status": text(40),
        "message": text(),
        "commits": several(_version),
        "writes": several(_WRITE),
        "report": _REPORT,
    },
)


def _upgrade(row: Row) -> Row:
    """Backups made before December 2026 call the message of a run or write its sentence."""
    if row.get("row") != "run":
        return row
    row = _with_message(row)
    if "review" not in row:
        return row
    review = rename_key(_with_message(row["review"]), "told", "full_message")
    return {**row, "review": review}


def _with_message(values: Any) -> Any:
    renamed = rename_key(values, "sentence", "message")
    if isinstance(renamed, dict) and isinstance(renamed.get("writes"), list):
        writes = [rename_key(write, "sentence", "message") for write in renamed["writes"]]
        renamed = {**renamed, "writes": writes}
    return renamed


TABLE = Table(
    "ledgers",
    {
        "run": {
            "id": whole(),
            "trigger": text(16),
            "status": text(24),
            "created_at": moment,
            "started_at": or_none(moment),
            "ended_at": or_none(moment),
            "message": text(),
            "why": text(),
            "cursor_from": or_none(whole()),
            "cursor_to": or_none(whole()),
            "entries": several(_ENTRY),
            "writes": several(_WRITE),
            "set_aside": several(whole()),
            "commits": several(_version),
            "archived": several(text(80)),
            "snapshot": text(64),
            "notes": several(text()),
            "report": _REPORT,
            "review": _REVIEW,
            "model": text(200),
            "preset": text(64),
            "is_demo": flag,
            "steps": _COUNT,
            "input_tokens": whole(),
            "output_tokens": whole(),
            "cache_read_tokens": whole(),
            "cache_write_tokens": whole(),
            "cost": or_none(money),
            "seconds": amount,
        },
        "origin": {
            "act": text(24),
            "number": _COUNT,
            "path": _PATH,
            "digest": text(64),
            "relation": text(12),
            "was": several(text(64)),
            "was_path": _PATH,
            "actor": text(16),
            "run": text(128),
            "sources": several(whole()),
            "missing": several(whole()),
            "reason": text(),
            "at": moment,
        },
        "entry": {
            "cursor": whole(),
            "place": choice("waiting", "reoffered", "set_aside"),
            "tries": _COUNT,
            "last_status": text(24),
            "why": text(),
            "digest_failures": _COUNT,
            "changed_at": moment,
        },
        "hunk": {
            "run": or_none(whole()),
            "actor": text(16),
            "path": _PATH,
            "kind": text(8),
            "piece": facts,
            "sources": several(whole()),
            "reason": text(),
            "state": text(12),
            "is_edited": flag,
            "text": text(),
            "offered": several(whole()),
            "staged_at": moment,
            "decided_at": or_none(moment),
        },
    },
    _upgrade,
)
KINDS = {"run": RUNS, "origin": ORIGINS, "entry": ENTRIES, "hunk": HUNKS}


log = logging.getLogger(__name__)

_AT_ONCE = 500
_ACT_DIGITS = 24


def tables(workspace: Workspace, left_out: list[str]) -> dict[str, Iterator[Row]]:
    """Return the tables by their names in a backup; rows are read as they are written. *left_out*
    receives a sentence for each row that no import would accept."""
    mine: dict[str, QuerySet[Any]] = {
        RUNS: DreamRun.objects.filter(workspace=workspace, state=DreamRun.State.ENDED),
        ORIGINS: LineOrigin.objects.filter(workspace=workspace),
        ENTRIES: DreamEntry.objects.filter(workspace=workspace),
        HUNKS: StagedHunk.objects.filter(workspace=workspace),
    }
    return {name: _rows(kind, mine[name], left_out) for kind, name in KINDS.items()}


def _rows(kind: str, found: QuerySet[Any], left_out: list[str]) -> Iterator[Row]:
    names = [
        f"{name}_id" if name == "run" and kind == "hunk" else name for name in TABLE.kinds[kind]
    ]
    for values in found.order_by("pk").values(*names).iterator(chunk_size=_AT_ONCE):
        if kind == "hunk":
            values["run"] = values.pop("run_id")
        try:
            yield TABLE.written(kind, values)
        except ValueError as error:
            log.warning("backup.row_left_out", extra={"kind": kind, "why": str(error)})
            left_out.append(f"One row of the ledgers is left out: {error}")


def merge(
    workspace: Workspace,
    found: Iterable[tuple[str, Row]],
    *,
    turns: Mapping[int, int],
    has_same_entries: bool,
) -> None:
    """Add missing rows; repeating it adds nothing.

    *found* has kinds and values, runs first. *turns* maps their turn ids to ours.
    *has_same_entries*: an entry's number means the same here; otherwise rows about entries are
    skipped.
    """
    # What was pending here was about files that are replaced.
    approvals.invalidate(workspace)
    runs: dict[int, int] = {}
    offered: set[int] = set()
    with transaction.atomic():
        for kind, rows in itertools.groupby(found, key=lambda pair: pair[0]):
            values = (row for _, row in rows)
            if kind == "run":
                runs |= _runs(workspace, values, has_same_entries=has_same_entries)
            elif kind == "origin":
                _origins(workspace, values, runs, turns, has_same_entries=has_same_entries)
            elif kind == "entry":
                _entries(workspace, values if has_same_entries else ())
            else:
                waiting, rejected = _decided(values)
                offered |= waiting
                _unwanted(workspace, rejected, runs, has_same_entries=has_same_entries)
    with transactions.lock_workspace(paths.real_root(workspace.root)):
        keep_marks(workspace)
    if offered and has_same_entries:
        dream_run_store.queue_entries(workspace, frozenset(offered))


def _runs(workspace: Workspace, rows: Iterable[Row], *, has_same_entries: bool) -> dict[int, int]:
    """Import runs and map their ids to ours. A run is known by its time and trigger."""
    mine = DreamRun.objects.filter(workspace=workspace)
    here = {
        (created, trigger): pk
        for pk, created, trigger in mine.values_list("pk", "created_at", "trigger")
    }
    numbers: dict[int, int] = {}
    for row in rows:
        theirs = row.pop("id")
        key = (row["created_at"], row["trigger"])
        if key not in here:
            if not has_same_entries:
                row |= {"entries": [], "cursor_from": None, "cursor_to": None, "set_aside": []}
            made = DreamRun.objects.create(
                workspace=workspace, state=DreamRun.State.ENDED, is_reported=True, **row
            )
            here[key] = made.pk
        numbers[theirs] = here[key]
    return numbers


def _origins(
    workspace: Workspace,
    rows: Iterable[Row],
    runs: Mapping[int, int],
    turns: Mapping[int, int],
    *,
    has_same_entries: bool,
) -> None:
    """Import origins with our ids of runs and turns."""
    for some in itertools.batched(rows, _AT_ONCE):
        acts = {row["act"] for row in some}
        others = LineOrigin.objects.filter(act__in=acts).exclude(workspace=workspace)
        taken = set(others.values_list("act", flat=True))
        made = []
        for row in some:
            if row["act"] in taken:
                row["act"] = _own_act(workspace, row["act"])
            row["run"] = _run(row["run"], runs, turns)
            if not has_same_entries:
                row |= {"sources": [], "missing": []}
            made.append(LineOrigin(workspace=workspace, **row))
        LineOrigin.objects.bulk_create(made, ignore_conflicts=True)


def _own_act(workspace: Workspace, act: str) -> str:
    """Return this workspace's name for a write of another one, the same each time."""
    return hashlib.sha256(f"{workspace.pk} {act}".encode()).hexdigest()[:_ACT_DIGITS]


def _run(name: str, runs: Mapping[int, int], turns: Mapping[int, int]) -> str:
    """Map a run or turn to our id; empty when it was not imported."""
    for prefix, numbers in ((_DREAM, runs), (TURN, turns)):
        if name.startswith(prefix):
            number, mark, rest = name.removeprefix(prefix).partition(":")
            ours = numbers.get(int(number)) if number.isdecimal() and len(number) < 19 else None  # noqa: PLR2004  (digits of a column)
            return f"{prefix}{ours}{mark}{rest}" if ours else ""
    return name


def _entries(workspace: Workspace, rows: Iterable[Row]) -> None:
    made = [DreamEntry(workspace=workspace, **row) for row in rows]
    DreamEntry.objects.bulk_create(made, ignore_conflicts=True, batch_size=_AT_ONCE)


def _decided(rows: Iterable[Row]) -> tuple[set[int], list[Row]]:
    """Return the entries of invalid pending changes, and the rejected texts that Dream is told
    of."""
    waiting: set[int] = set()
    rejected: deque[Row] = deque(maxlen=REMEMBERED)
    for row in rows:
        if row["state"] == StagedHunk.State.WAITING:
            waiting |= set(row["sources"])
        elif row["state"] == StagedHunk.State.REJECTED and is_piece(row["piece"]):
            rejected.append(row)
    return waiting, list(rejected)


def _unwanted(
    workspace: Workspace, rows: list[Row], runs: Mapping[int, int], *, has_same_entries: bool
) -> None:
    """Import rejected texts; one is known by its file, text and time."""
    mine = StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.REJECTED)
    known = {_key(*row) for row in mine.values_list("path", "piece", "decided_at")}
    made = []
    for row in rows:
        if _key(row["path"], row["piece"], row["decided_at"]) in known:
            continue
        row["run_id"] = runs.get(row.pop("run"))
        if not has_same_entries:
            row |= {"sources": [], "offered": []}
        made.append(StagedHunk(workspace=workspace, **row))
    StagedHunk.objects.bulk_create(made, _AT_ONCE)


def _key(path: str, piece: object, decided: datetime | None) -> tuple[str, str, datetime | None]:
    return path, json.dumps(piece, sort_keys=True), decided
