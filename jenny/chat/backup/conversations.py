"""A conversation of a backup with everything that was said in it, as values."""

import hashlib
import itertools
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jenny.chat.backup import fields
from jenny.chat.backup.fields import refused
from jenny.workspace import names
from jenny.workspace.backup.rows import Row, clamped

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
    yield fields.TABLE.written("conversation", talk.conversation)
    for kind, parts in talk.parts().items():
        for part in parts:
            yield fields.TABLE.written(kind, part)


def talks(lines: Iterable[Row]) -> Iterator[ConversationRows]:
    """Yield the conversations of a file's rows; only one is in memory at a time.

    Raises:
        BackupRefused: a row has an unknown form, or the rows of a conversation do not fit together.
    """
    seen = set[Any]()
    talk: ConversationRows | None = None
    count = 0
    for line in lines:
        kind, values = fields.read_rows(line)
        count += 1
        if kind == "conversation":
            if talk is not None:
                yield judged(talk)
            if values["id"] in seen:
                raise refused("have one twice")
            seen.add(values["id"])
            talk, count = ConversationRows(values), 0
        elif talk is None or count > _MOST_ROWS:
            raise refused("have rows that belong to none")
        else:
            talk.parts()[kind].append(values)
    if talk is not None:
        yield judged(talk)


def judged(talk: ConversationRows) -> ConversationRows:
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
