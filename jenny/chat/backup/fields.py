"""What each kind of row of ``conversations.jsonl`` has."""

from typing import Any

from jenny.workspace.backup.rows import (
    MOST_COUNT,
    Row,
    Table,
    amount,
    choice,
    facts,
    flag,
    flat,
    identity,
    moment,
    money,
    or_none,
    several,
    text,
    whole,
)

NAME = "conversations.jsonl"
_COUNT = whole(MOST_COUNT)
_POINTERS = {
    "summarised_through": whole(),
    "context_from": whole(),
    "session_from": whole(),
    "tokens_gone": whole(),
}
TABLE = Table(
    "conversations",
    {
        "conversation": {
            "id": identity,
            "type": text(16),
            "project": text(255),
            "title": text(120),
            "titled_by_hand": flag,
            "preset": text(64),
            "created_at": moment,
            "active_at": moment,
            "branch": or_none(whole()),
            "crowded": text(10_000),
            **_POINTERS,
        },
        "branch": {
            "id": whole(),
            "parent": or_none(whole()),
            "forks_at": whole(),
            "first": whole(),
            "read_to": whole(),
            "left_at": or_none(moment),
            **_POINTERS,
        },
        "turn": {
            "id": whole(),
            "state": choice("done", "stopped", "failed", "interrupted"),
            "reason": text(32),
            "sentence": text(100_000),
            "can_retry": flag,
            "retried": flag,
            "created_at": moment,
            "started_at": or_none(moment),
            "ended_at": or_none(moment),
            "model": text(120),
            "preset": text(64),
            "is_demo": flag,
            "steps": _COUNT,
            "input_tokens": whole(),
            "output_tokens": whole(),
            "cache_read_tokens": whole(),
            "cache_write_tokens": whole(),
            "context_tokens": whole(),
            "cost": or_none(money),
            "context_from": whole(),
            "session_from": whole(),
        },
        "message": {
            "id": whole(),
            "branch": or_none(whole()),
            "is_current": flag,
            "version": _COUNT,
            "versions": _COUNT,
            "kind": choice("user", "answer", "command", "reply", "divider"),
            "text": text(),
            "context": text(),
            "created_at": moment,
            "turn": or_none(whole()),
            "step": _COUNT,
            "remembered": or_none(whole()),
        },
        "block": {
            "message": whole(),
            "turn": whole(),
            "step": _COUNT,
            "kind": choice("text", "thinking", "tool", "note"),
            "text": text(),
            "data": facts,
        },
        "summary": {
            "first": whole(),
            "message": whole(),
            "count": _COUNT,
            "cursors": several(whole()),
            "text": text(),
            "is_raw": flag,
            "secrets": several(flat),
            "created_at": moment,
        },
    },
)
refused = TABLE.refused


def read(row: Row) -> tuple[str, Row]:
    """A row's kind, and its values as the database takes them.

    Raises:
        BackupRefused: it is none.
    """
    kind, values = TABLE.read(row)
    if kind == "block":
        try:
            values["data"] = _block_data(values["kind"], values["data"])
        except (KeyError, ValueError, TypeError) as error:
            raise refused("have a tool call that is none") from error
    return kind, values


def _block_data(kind: str, data: Row) -> Row:
    """Of a block's facts those that a page and a model can do with, and no address: what a link
    or a form of a page leads to is never another's choice."""
    kept: dict[str, Any] = {}
    if kind == "tool":
        readers = {"id": text(), "name": text(), "arguments": facts}
        kept = {name: read(data[name]) for name, read in readers.items()}
        more = {"result": text(), "ok": flag, "seconds": amount}
    else:
        more = {"signature": text(), "duration": text(40)} if kind == "thinking" else {}
    found = {name: read(data[name]) for name, read in more.items() if data.get(name) is not None}
    return kept | found
