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
from jenny.workspace.backup.rows import Row
from memory.backup.fields import ENTRIES, HUNKS, KINDS, ORIGINS, RUNS, TABLE
from memory.models import DreamEntry, DreamRun, LineOrigin, StagedHunk
from memory.models.dream import RUN_PREFIX as _DREAM
from memory.provenance.record import TURN
from memory.services import approvals
from memory.services.dream import run_store
from memory.services.proposals import REMEMBERED, is_piece, keep_marks

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
        run_store.queue_entries(workspace, frozenset(offered))


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
                workspace=workspace, state=DreamRun.State.ENDED, was_told=True, **row
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
