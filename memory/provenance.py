"""Origins of the lines of memory files.

A table has a row for every line that was added, moved, reworded or removed: the SHA-256 of its
normal form, the file, the author and run, and the history entries on which the write rests. It
holds no texts. Writes note their rows in the workspace first (``record_origins``), and
``memory.services.origins`` stores them. Noting stops no write: the blame of the versions finds
later what was not noted. The note of a write that a crash prevented is harmless, since rows are
found by a line's text.
"""

import base64
import datetime as dt
import logging
import secrets
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from jenny.workspace import diffs, line_files
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.versions.messages import Version
from jenny.workspace.write_rules import Change
from memory import files
from memory.facts import Fact, decoded, digest, digests, facts
from memory.history.entries import HistoryEntry
from memory.message_sources import SourceConversation
from memory.text_similarity import Index, is_typo_of

__all__ = [
    "NAME",
    "Origin",
    "Why",
    "WhyEntry",
    "Writing",
    "derive_origins",
    "record_origins",
    "record_outside_origins",
]


type Relation = Literal["added", "moved", "reworded", "replaced", "removed"]

# With more lines on one side only equal ones are paired: the file was rewritten.
_COMPARED = 2_000
_ALIKE = 5
# A line replaces at most so many.
_REPLACED = 8
_LOOKED_AT = 40


@dataclass(frozen=True, slots=True)
class Origin:
    """A line's part in a write: the digest of its normal form; *was*: digests of the lines that
    it replaces, in the file *was_path* (empty: the same file)."""

    path: str
    digest: str
    relation: Relation
    was: tuple[str, ...] = ()
    was_path: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    path: str
    fact: Fact
    digest: str


def derive_origins(changes: Sequence[Change]) -> list[Origin]:
    """Return each line that the *changes* add, with what it replaces."""
    came: list[_Line] = []
    left: list[_Line] = []
    for change in changes:
        old, new = _lines(change.path, change.old), _lines(change.path, change.new)
        came += _without(new, old)
        left += _without(old, new)
    pairs = _Pairs(left, changes)
    found = [pairs.origin(line) for line in came]
    found += [Origin(line.path, line.digest, "removed") for line in pairs.rest()]
    return found


def _lines(path: str, data: bytes | None) -> list[_Line]:
    return [
        _Line(path, fact, digest(fact.text))
        for fact in facts(decoded(data))
        if fact.has_content and fact.kind != "comment"
    ]


def _without(lines: list[_Line], others: list[_Line]) -> list[_Line]:
    """Return the lines that are not among the others, counting repetitions."""
    there = Counter(line.digest for line in others)
    found = []
    for line in lines:
        if there[line.digest]:
            there[line.digest] -= 1
        else:
            found.append(line)
    return found


class _Pairs:
    """The removed lines of a write; each is paired with at most one added line."""

    def __init__(self, left: list[_Line], changes: Sequence[Change]) -> None:
        self._left = left
        self._free = set(range(len(left)))
        self._index = Index(line.fact.text for line in left) if len(left) <= _COMPARED else None
        self._places = {change.path: _replaced(change) for change in changes}
        self._same: dict[str, list[int]] = {}
        self._at: dict[tuple[str, int], int] = {}
        for number, line in enumerate(left):
            self._same.setdefault(line.digest, []).append(number)
            self._at[line.path, line.fact.first] = number

    def origin(self, line: _Line) -> Origin:
        same = self._same.get(line.digest, [])
        while same:
            at = same.pop(0)
            if at in self._free:
                return self._made(line, "moved", [at])
        near = self._near(line)
        if near is not None:
            return self._made(line, "reworded", [near])
        rows = self._places[line.path].get(line.fact.first, range(0))
        found = (self._at.get((line.path, row)) for row in rows)
        gone = [at for at in found if at in self._free]
        if gone:
            return self._made(line, "replaced", gone[:_REPLACED])
        return Origin(line.path, line.digest, "added")

    def rest(self) -> list[_Line]:
        return [self._left[at] for at in sorted(self._free)]

    def _near(self, line: _Line) -> int | None:
        if self._index is None:
            return None
        at = self._index.find(line.fact.text)
        if at is not None and at in self._free:
            return at
        alike = self._index.alike(line.fact.text, _ALIKE)
        text = line.fact.text
        return next(
            (n for n in alike if n in self._free and is_typo_of(self._left[n].fact.text, text)),
            None,
        )

    def _made(self, line: _Line, relation: Relation, at: list[int]) -> Origin:
        old = [self._left[number] for number in at]
        self._free.difference_update(at)
        was_path = old[0].path if old[0].path != line.path else ""
        return Origin(
            line.path,
            line.digest,
            relation,
            tuple(one for row in old for one in digests(row.fact.text)),
            was_path,
        )


def _replaced(change: Change) -> dict[int, range]:
    """Map each added line of a file to the lines that it replaces; from 1."""
    old, new = diffs.lines_of(change.old), diffs.lines_of(change.new)
    found: dict[int, range] = {}
    if not old or not new:
        return found
    for tag, i, j, k, m in diffs.opcodes(old, new):
        if tag != "replace":
            continue
        for number in range(k, m):
            # With equally many lines, each replaces one.
            at = i + number - k
            rows = range(at, at + 1) if j - i == m - k else range(i, min(j, i + _LOOKED_AT))
            found[number + 1] = range(rows.start + 1, rows.stop + 1)
    return found


logger = logging.getLogger(__name__)

NAME = "origins.jsonl"
# Changes of chat turns and of the pages are kept with their contents, so that they can be shown and
# reverted.
TURN = "turn:"
PAGE = "page:"
KEPT_BYTES = 1_000_000


def record_origins(changes: Sequence[Change]) -> None:
    """Note a write. A rule about whole writes (``register_act_rule``)."""
    watched = [change for change in changes if is_watched(change)]
    if not watched:
        return
    try:
        line_files.add(watched[0].workspace, NAME, _rows(watched))
    except (OSError, WorkspaceError) as error:
        logger.warning("origin of lines not noted: %s", error)


def record_outside_origins(changes: Sequence[Change]) -> None:
    """Note edits that were found on disk. A listener of
    ``jenny.workspace.versions.commits``, which may report the same edits twice."""
    record_origins(changes)


def is_watched(change: Change) -> bool:
    if files.skill_of(change.path) is not None:
        return True
    return files.memory_file(change.workspace, change.path) is not None


def _rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    origins = derive_origins(changes)
    at = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
    return [
        {
            "act": secrets.token_hex(12),
            "at": at,
            "path": change.path,
            "actor": change.actor.kind,
            "account": change.actor.account,
            "run": change.actor.run,
            "sources": list(change.actor.sources),
            "reason": change.actor.reason,
            "lines": [
                [row.digest, row.relation, list(row.was), row.was_path]
                for row in origins
                if row.path == change.path
            ],
            **_contents(change),
        }
        for change in changes
    ]


def _contents(change: Change) -> dict[str, Any]:
    if not change.actor.run.startswith((TURN, PAGE)):
        return {}
    if max(len(change.old or b""), len(change.new or b"")) > KEPT_BYTES:
        return {}
    return {"before": pack_content(change.old), "after": pack_content(change.new)}


def pack_content(data: bytes | None) -> str | None:
    """Encode a content as text; ``None``: there is no file."""
    return None if data is None else base64.b64encode(zlib.compress(data, 1)).decode("ascii")


def unpack_content(text: str | None) -> bytes | None:
    """Decode a text of ``packed``.

    Raises:
        ValueError, zlib.error: it is damaged.
    """
    return None if text is None else zlib.decompress(base64.b64decode(text, validate=True))


@dataclass(frozen=True, slots=True)
class Writing:
    """A write that added the line or one of its predecessors: author, run, entries on which it
    rests (*missing*: those that the history lacked), and what it replaced. *is_own*: it added
    the line itself."""

    path: str
    relation: Relation
    actor: str
    run: str
    account: int | None
    sources: tuple[int, ...]
    missing: tuple[int, ...]
    reason: str
    at: datetime
    was_path: str = ""
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class WhyEntry:
    """A history entry on which a write rests; ``None``: the history no longer has it."""

    cursor: int
    entry: HistoryEntry | None
    speech: SourceConversation | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The explanation of a line. *writes* are newest first. *version* added the line when no
    write is recorded. *speech* are the messages of the chat turns that wrote it."""

    path: str
    line: int
    text: str
    writes: tuple[Writing, ...] = ()
    entries: tuple[WhyEntry, ...] = ()
    speech: tuple[SourceConversation, ...] = ()
    version: Version | None = None
    message: str = ""
