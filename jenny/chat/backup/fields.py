"""Defines the fields of each kind of row of ``conversations.jsonl``."""

from typing import Any

from jenny.workspace.backup.rows import (
    MOST_COUNT,
    MOST_DEPTH,
    Field,
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
    named_values,
    or_none,
    rename_key,
    several,
    shaped,
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


# A file of a message. Its content is among the workspace's files; pictures are made again from it.
ATTACHMENT = {
    "name": text(255),
    "path": text(1024),
    "size": whole(),
    "digest": text(64),
    "kind": choice("picture", "document", "text", "archive", "other"),
    "label": text(64),
    "problem": text(10_000),
    "page_count": _COUNT,
    "form": choice("picture", "text", "part", "path"),
    "text": text(),
    "width": _COUNT,
    "height": _COUNT,
    "tokens": _COUNT,
}


def _upgrade(row: Row) -> Row:
    """Backups made before December 2026 call a turn's message its sentence, and conversations had
    no tags, marks and sources, and messages no attachments."""
    if row.get("row") == "message":
        return {"attachments": []} | row
    if row.get("row") == "conversation":
        marks = {"is_pinned": False, "is_archived": False, "tags": []}
        return marks | {"source": None, "source_message": 0} | row
    return rename_key(row, "sentence", "message") if row.get("row") == "turn" else row


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
            "is_pinned": flag,
            "is_archived": flag,
            "tags": several(text(40)),
            "source": or_none(identity),
            "source_message": whole(),
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
            "message": text(100_000),
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
            "attachments": several(shaped(ATTACHMENT)),
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
    _upgrade,
)
# A tool call's arguments are nested one level deeper than the block's data.
_ARGUMENTS = named_values(MOST_DEPTH - 1)
_BLOCK_DATA: dict[str, tuple[dict[str, Field], dict[str, Field]]] = {
    "tool": (
        {"id": text(), "name": text(), "arguments": _ARGUMENTS},
        {"result": text(), "ok": flag, "seconds": amount},
    ),
    "thinking": ({}, {"signature": text(), "duration": text(40)}),
}
refused = TABLE.refused


def read_rows(row: Row) -> tuple[str, Row]:
    """Return a row's kind and its values as the database takes them.

    Raises:
        BackupRefused: the row has no known form.
    """
    kind, values = TABLE.read(row)
    if kind == "block":
        try:
            values["data"] = _block_data(values["kind"], values["data"])
        except (KeyError, ValueError, TypeError) as error:
            raise refused("have a tool call that is none") from error
    return kind, values


def _block_data(kind: str, data: Row) -> Row:
    """Keep the data of a block that pages and models can use, and no address.

    The target of a link or form on a page must never come from a backup.
    """
    needed, more = _BLOCK_DATA.get(kind, ({}, {}))
    kept = {name: field.read(data[name]) for name, field in needed.items()}
    found = {name: one.read(data[name]) for name, one in more.items() if data.get(name) is not None}
    return kept | found


def fit_block_data(kind: str, data: Any) -> Row:
    """Return a block's data as ``read_rows`` accepts it."""
    data = data if isinstance(data, dict) else {}
    needed, more = _BLOCK_DATA.get(kind, ({}, {}))
    kept: Row = {}
    for name, field in needed.items():
        value = field.fit(data.get(name))
        kept[name] = value if field.accepts(value) else field.fit({}) if field is _ARGUMENTS else ""
    for name, field in more.items():
        if data.get(name) is not None and field.accepts(value := field.fit(data[name])):
            kept[name] = value
    return kept
