"""Fields of the ledgers' rows in a backup, one file for each kind."""

from typing import Any

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
    return {**row, "review": _with_message(row["review"])} if "review" in row else row


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
