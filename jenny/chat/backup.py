"""Conversations in a backup: the fields of their rows, and their checks. Plain.

Rows of a conversation that do not fit together are refused.
"""

import hashlib
import itertools
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jenny.workspace import names
from jenny.workspace.backup.rows import (
    MOST_COUNT,
    MOST_DEPTH,
    Field,
    Row,
    Table,
    amount,
    choice,
    clamped,
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
from jenny.workspace.uploads import is_upload_path

# A conversation of a backup with everything that was said in it, as values.


# Defines the fields of each kind of row of ``conversations.jsonl``.


NAME = "conversations.jsonl"
_COUNT = whole(MOST_COUNT)
_POINTERS = {
    "summarised_through": whole(),
    "context_from": whole(),
    "session_from": whole(),
    "tokens_gone": whole(),
}


def _upload_path(value: Any) -> str:
    found: str = text(1024).read(value)
    if found and not is_upload_path(found):
        raise ValueError(value)
    return found


# Deleting a conversation may move the file at the path to the trash. Empty: it is elsewhere.
_UPLOAD_PATH = Field(
    _upload_path,
    lambda value: value if isinstance(value, str) and is_upload_path(value) else "",
)
# A file of a message. Its content is among the workspace's files; pictures are made again from it.
ATTACHMENT = {
    "name": text(255),
    "path": _UPLOAD_PATH,
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
    """Backups made before December 2026 call a turn's message its sentence and a conversation's
    overflow note crowded. Conversations had no tags, marks and sources, and messages no
    attachments."""
    if row.get("row") == "message":
        return {"attachments": []} | row
    if row.get("row") == "conversation":
        marks = {"is_pinned": False, "is_archived": False, "tags": []}
        row = rename_key(row, "crowded", "overflow_note")
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
            "overflow_note": text(10_000),
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
    kept = {name: column.read(data[name]) for name, column in needed.items()}
    found = {name: one.read(data[name]) for name, one in more.items() if data.get(name) is not None}
    return kept | found


def fit_block_data(kind: str, data: Any) -> Row:
    """Return a block's data as ``read_rows`` accepts it."""
    data = data if isinstance(data, dict) else {}
    needed, more = _BLOCK_DATA.get(kind, ({}, {}))
    kept: Row = {}
    for name, column in needed.items():
        value = column.fit(data.get(name))
        fallback = column.fit({}) if column is _ARGUMENTS else ""
        kept[name] = value if column.accepts(value) else fallback
    for name, column in more.items():
        if data.get(name) is not None and column.accepts(value := column.fit(data[name])):
            kept[name] = value
    return kept


# Kinds of conversations that a backup contains. Temporary chats must leave no trace.
KINDS = frozenset({"personal", "project"})
_MOST_ROWS = 1_000_000


@dataclass(slots=True)
class ConversationRows:
    """The row of one conversation and the rows of its parts, in order of their numbers."""

    conversation: Row
    branches: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    blocks: list[Row] = field(default_factory=list)
    summaries: list[Row] = field(default_factory=list)

    def parts(self) -> dict[str, list[Row]]:
        """Return the lists by the kinds of their rows, in the order in which they are written."""
        return {
            "branch": self.branches,
            "turn": self.turns,
            "message": self.messages,
            "block": self.blocks,
            "summary": self.summaries,
        }


def rows(talk: ConversationRows) -> Iterator[Row]:
    yield TABLE.written("conversation", talk.conversation)
    for kind, parts in talk.parts().items():
        for part in parts:
            yield TABLE.written(kind, part)


def talks(lines: Iterable[Row]) -> Iterator[ConversationRows]:
    """Yield the conversations of a file's rows; only one is in memory at a time.

    Raises:
        BackupRefused: a row has an unknown form, or the rows of a conversation do not fit together.
    """
    seen = set[Any]()
    talk: ConversationRows | None = None
    count = 0
    for line in lines:
        kind, values = read_rows(line)
        count += 1
        if kind == "conversation":
            if talk is not None:
                yield validated(talk)
            if values["id"] in seen:
                raise refused("have one twice")
            seen.add(values["id"])
            talk, count = ConversationRows(values), 0
        elif talk is None or count > _MOST_ROWS:
            raise refused("have rows that belong to none")
        else:
            talk.parts()[kind].append(values)
    if talk is not None:
        yield validated(talk)


def validated(talk: ConversationRows) -> ConversationRows:
    """Check that the rows of the conversation fit together, and return it.

    Raises:
        BackupRefused: they do not.
    """
    kind = talk.conversation["type"]
    if kind not in KINDS:
        raise refused("have one of a kind that this version of Jenny does not know")
    if (kind == "project") != _is_folder(talk.conversation["project"]):
        raise refused("have one inside a project that cannot be")
    branches, turns = _ids(talk.branches), _ids(talk.turns)
    messages = _ids(talk.messages)
    known = set[int]()
    for row in talk.branches:
        # A parent comes before its children, so there can be no cycle.
        _among(row["parent"], known)
        known.add(row["id"])
    _among(talk.conversation["branch"], branches)
    for row in talk.messages:
        _among(row["branch"], branches)
        _among(row["turn"], turns)
        if (row["branch"] is None) != (not branches):
            raise refused("have a message outside of every version")
    for row in (*talk.blocks, *talk.summaries):
        _among(row["message"], messages)
    of_turn = {row["id"]: row["turn"] for row in talk.messages}
    if any(row["turn"] not in turns or of_turn[row["message"]] is None for row in talk.blocks):
        raise refused("have an answer that no turn gave")
    return talk


def _is_folder(name: str) -> bool:
    plain = name not in ("", ".", "..") and "/" not in name and not names.unusable(name)
    return plain and not (names.unfit(name) or names.is_own(name) or names.is_git(name))


def _ids(rows: Sequence[Row]) -> set[int]:
    found = [row["id"] for row in rows]
    if any(after <= before for before, after in itertools.pairwise(found)):
        raise refused("have rows in disorder")
    return set(found)


def _among(number: int | None, known: set[int]) -> None:
    if number is not None and number not in known:
        raise refused("have rows that speak of others which are not there")


def identities(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a key for each message that is the same on every machine: text, speaker and time.

    A message's number differs from machine to machine.
    """
    found: list[str] = []
    seen: dict[str, int] = {}
    for row in messages:
        said = row["text"].replace("\0", "\N{REPLACEMENT CHARACTER}")
        text = f"{row['kind']} {clamped(row['created_at']).timestamp():.6f} {said}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        seen[digest] = seen.get(digest, 0) + 1
        found.append(f"{digest}-{seen[digest]}")
    return found


@dataclass(frozen=True)
class Numbers:
    """Maps the numbers of a backup's messages to ours. Both sides are ascending."""

    ours: Mapping[int, int]
    _theirs: Sequence[int]

    @classmethod
    def of(cls, pairs: Mapping[int, int]) -> "Numbers":
        return cls(pairs, sorted(pairs))

    def through(self, number: int) -> int:
        """Map a number up to which (inclusive) something is done."""
        place = bisect_right(self._theirs, number)
        return self.ours[self._theirs[place - 1]] if place else 0

    def since(self, number: int) -> int:
        """Map a number from which something begins; 0 stays 0."""
        if not number or not self._theirs:
            return 0
        place = bisect_left(self._theirs, number)
        if place < len(self._theirs):
            return self.ours[self._theirs[place]]
        return self.ours[self._theirs[-1]] + 1


def pointers(row: Row, numbers: Numbers) -> Row:
    """Return the pointers of a conversation or of one of its versions, in our numbers."""
    since: Callable[[int], int] = numbers.since
    return {
        "summarised_through": numbers.through(row["summarised_through"]),
        "context_from": since(row["context_from"]),
        "session_from": since(row["session_from"]),
        "tokens_gone": row["tokens_gone"],
    }


def rewritten(data: bytes, chats: Mapping[str, str], numbers: Mapping[str, Numbers]) -> bytes:
    """Return the lines of a history file with the ids that conversations and messages have here.

    *chats* maps each conversation's id in the backup to its id here; *numbers* has the numbers of
    its messages. Lines that refer to none of them stay the same, byte for byte.
    """
    return b"".join(_line(line, chats, numbers) for line in data.splitlines(keepends=True))


def _line(line: bytes, chats: Mapping[str, str], numbers: Mapping[str, Numbers]) -> bytes:
    if b'"conversation"' not in line:
        return line
    try:
        row = json.loads(line)
        theirs = row["conversation"]
        own, known = chats[theirs], numbers[theirs]
    except (ValueError, RecursionError, KeyError, TypeError):
        return line
    changed = row | {"conversation": own}
    match row.get("messages"):
        case [int(first), int(last)]:
            changed["messages"] = [known.since(first), known.through(last)]
    if changed == row:
        return line
    end = line[len(line.rstrip(b"\r\n")) :]
    try:
        return json.dumps(changed, ensure_ascii=False).encode() + end
    except UnicodeEncodeError:  # half of a surrogate pair, which only JSON can represent
        return json.dumps(changed).encode() + end
