"""A conversation with everything that was said in it, as values."""

import hashlib
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jenny.chat.backup import fields
from jenny.chat.backup.fields import refused
from jenny.workspace import names
from jenny.workspace.backup.rows import Row

# Kinds of conversations that travel: those that are to leave no trace do not.
KINDS = frozenset({"personal", "project"})
_MOST_ROWS = 1_000_000


@dataclass(slots=True)
class Talk:
    """One conversation: its own row, and those of its parts in order of their numbers."""

    conversation: Row
    branches: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    blocks: list[Row] = field(default_factory=list)
    summaries: list[Row] = field(default_factory=list)

    def parts(self) -> dict[str, list[Row]]:
        """The lists by the kinds of their rows, in the order in which they are written."""
        return {
            "branch": self.branches,
            "turn": self.turns,
            "message": self.messages,
            "block": self.blocks,
            "summary": self.summaries,
        }


def rows(talk: Talk) -> Iterator[Row]:
    """Its rows for the file."""
    yield fields.TABLE.written("conversation", talk.conversation)
    for kind, parts in talk.parts().items():
        for part in parts:
            yield fields.TABLE.written(kind, part)


def talks(lines: Iterable[Row]) -> Iterator[Talk]:
    """The conversations of a file's rows, one after another; only one is in memory at a time.

    Raises:
        BackupRefused: a row is none of ours, or the rows of one do not fit together.
    """
    seen = set[Any]()
    talk: Talk | None = None
    count = 0
    for line in lines:
        kind, values = fields.read(line)
        count += 1
        if kind == "conversation":
            if talk is not None:
                yield _judged(talk)
            if values["id"] in seen:
                raise refused("have one twice")
            seen.add(values["id"])
            talk, count = Talk(values), 0
        elif talk is None or count > _MOST_ROWS:
            raise refused("have rows that belong to none")
        else:
            talk.parts()[kind].append(values)
    if talk is not None:
        yield _judged(talk)


def _judged(talk: Talk) -> Talk:
    """The conversation, if its rows fit together."""
    kind = talk.conversation["type"]
    if kind not in KINDS:
        raise refused("have one of a kind that this version of Jenny does not know")
    if (kind == "project") != _is_folder(talk.conversation["project"]):
        raise refused("have one inside a project that cannot be")
    branches, turns = _ids(talk.branches), _ids(talk.turns)
    messages = _ids(talk.messages)
    known = set[int]()
    for row in talk.branches:
        # A parent stands before its children, so that no circle can be.
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
    """Whether a project's folder may be called so."""
    plain = name not in ("", ".", "..") and "/" not in name and not names.unusable(name)
    return plain and not (names.unfit(name) or names.is_own(name) or names.is_git(name))


def _ids(rows: Sequence[Row]) -> set[int]:
    """The numbers of rows, which must count up."""
    found = [row["id"] for row in rows]
    if any(after <= before for before, after in itertools.pairwise(found)):
        raise refused("have rows in disorder")
    return set(found)


def _among(number: int | None, known: set[int]) -> None:
    if number is not None and number not in known:
        raise refused("have rows that speak of others which are not there")


def identities(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """What each message is known by wherever it goes: what was said, by whom, and when.
    Its number is another one on each machine."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for row in messages:
        said = row["text"].replace("\0", "\N{REPLACEMENT CHARACTER}")
        text = f"{row['kind']} {row['created_at'].timestamp():.6f} {said}"
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        seen[digest] = seen.get(digest, 0) + 1
        found.append(f"{digest}-{seen[digest]}")
    return found


@dataclass(frozen=True)
class Numbers:
    """Which of our numbers stands for which of theirs, where both count up alike."""

    ours: Mapping[int, int]
    _theirs: Sequence[int]

    @classmethod
    def of(cls, pairs: Mapping[int, int]) -> "Numbers":
        """*pairs*: ours by theirs."""
        return cls(pairs, sorted(pairs))

    def through(self, number: int) -> int:
        """For a number up to which something is done."""
        place = bisect_right(self._theirs, number)
        return self.ours[self._theirs[place - 1]] if place else 0

    def since(self, number: int) -> int:
        """For a number from which something begins; 0 stays."""
        if not number or not self._theirs:
            return 0
        place = bisect_left(self._theirs, number)
        if place < len(self._theirs):
            return self.ours[self._theirs[place]]
        return self.ours[self._theirs[-1]] + 1


def pointers(row: Row, numbers: Numbers) -> Row:
    """The pointers of a conversation or of a version of one, in our numbers."""
    since: Callable[[int], int] = numbers.since
    return {
        "summarised_through": numbers.through(row["summarised_through"]),
        "context_from": since(row["context_from"]),
        "session_from": since(row["session_from"]),
        "tokens_gone": row["tokens_gone"],
    }
