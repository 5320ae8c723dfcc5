"""Summarises raw entries when Dream reaches them: their facts stand in for them in the batch.

A summariser that gives no answer is asked again, four times in all; then the entry is shown as it
is. Its answer is kept until Dream is done with the entry, so that nobody pays for it twice. Of a
long text that became several entries, the first one that a run asks about stands for all: those
before it may have been shown by an earlier run as they are. A provider that cannot be reached is
no failure of the entry: the run ends, and the entry waits. The history file is not rewritten.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from jenny.agent import clock
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import OVERRUN, AgentError
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.workspace.write_rules import Actor
from memory.history import consolidator, dated_facts, log, reader, summary_answer
from memory.history.consolidator import CHUNK_CHARS, Ask, Reply
from memory.history.entries import HistoryEntry, NewHistoryEntry
from memory.suppression import note_wish, without_forgotten

# After so many tries the entries are shown as they are.
TRIES = 4
# Faults that are an answer to just this request: whoever sends it again gets them again. All
# others are the provider's or the network's, and say nothing about an entry.
OF_THE_REQUEST = frozenset(
    {"refused", "context_overflow", "too_large", "bad_request", "malformed", "too_long"}
)
_MESSAGE = re.compile(
    r"^\[(?:\d{4}-\d{2}-\d{2} \d{2}:\d{2}|no time)\] (?:USER|ASSISTANT): ", re.MULTILINE
)
_STAMP = re.compile(r"^\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})(?=\] (?:USER|ASSISTANT): )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Digested:
    """The facts, one tagged bullet a line; empty: nothing is worth keeping. *forget* are the facts
    that the person asked to have forgotten."""

    text: str
    forget: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotDigested:
    """No answer came after *tries* tries, with the last reason. The entries are shown as they
    are."""

    reason: str
    tries: int


def of_group(root: Path, entry: HistoryEntry) -> tuple[HistoryEntry, ...]:
    """Return all parts of the entry's group in order; the entry alone when it has no group or
    parts are missing.

    Raises:
        PathRefused: the history cannot be read.
    """
    if entry.part is None:
        return (entry,)
    number, count = entry.part
    first = entry.cursor - number + 1
    found = reader.find_by_cursor(root, range(first, first + count))
    parts = [found[cursor] for cursor in sorted(found) if found[cursor].group == entry.group]
    whole = [part.part for part in parts] == [(at, count) for at in range(1, count + 1)]
    # A write may hold summaries beside raw texts; only raw texts are digested.
    return tuple(part for part in parts if part.kind == "raw") if whole else (entry,)


def digest(
    entries: Sequence[HistoryEntry],
    ask: Ask,
    *,
    recorded: str = "",
    is_answer: Callable[[AgentError], bool] = lambda _: False,
    chunk_chars: int = CHUNK_CHARS,
) -> Digested | NotDigested:
    """Summarise raw entries that are one text, in parts when they are too long for a model.

    *is_answer* is true for provider errors that the request itself causes; these use up a try.

    Raises:
        AgentError: the provider cannot be asked; no try was used up.
        Cancelled: the process is ending.
    """
    facts: list[str] = []
    wishes: list[str] = []
    for text in _chunks(entries, chunk_chars):
        found = [_once(text, ask, recorded, is_answer)]
        if isinstance(found[0], NotDigested) and found[0].reason in OVERRUN:
            found = [_once(half, ask, recorded, is_answer) for half in consolidator.halves(text)]
        for part in found:
            if isinstance(part, NotDigested):
                return part
            facts.append(part.text)
            wishes += part.forget
    return Digested("\n".join(filter(None, facts)), tuple(wishes))


def _once(
    text: str, ask: Ask, recorded: str, is_answer: Callable[[AgentError], bool]
) -> Digested | NotDigested:
    reason = ""
    for _ in range(TRIES):
        try:
            found = consolidator.digest(text, ask, recorded=recorded)
        except AgentError as error:
            if not is_answer(error):
                raise
            reason = error.kind
            if reason in OVERRUN:
                break  # the same text would be too long again
            continue
        if isinstance(found, summary_answer.Answer):
            return Digested(found.text, found.forget)
        reason = found.reason
    return NotDigested(reason, TRIES)


def _with_weekday(stamp: re.Match[str]) -> str:
    return f"[{clock.with_weekday(stamp[1])}"


def _chunks(entries: Sequence[HistoryEntry], chars: int) -> Iterator[str]:
    """Split the text before messages where possible. Each part names the time of recording, the
    latest time at which its undated contents were said."""
    text = "".join(entry.content for entry in entries)
    stamp = entries[0].timestamp
    head = f"(recorded {clock.with_weekday(stamp)})\n" if stamp else ""
    at = 0
    while at < len(text):
        end = min(at + chars, len(text))
        if end < len(text):
            borders = [match.start() for match in _MESSAGE.finditer(text, at + 1, end)]
            end = borders[-1] if borders and borders[-1] > at else end
        yield head + _STAMP.sub(_with_weekday, text[at:end])
        at = end


logger = logging.getLogger(__name__)

NOTHING = "(nothing worth keeping was found in it)"
_GOES_ON = "(the rest of the text of entry {}, with which its facts stand)"


class Digests(Protocol):
    """The store of digests from run to run (``memory.dream.batch.RunStore``)."""

    def digest(self, key: str) -> str | None:
        """Return the digest of the text with this key; ``None``: there is none yet."""

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        """Keep it until Dream's place is past that entry."""

    def spent(self, usage: Usage) -> None:
        """Keep at once what a request used."""


class Digester:
    """Summarises raw entries for one run, unless an earlier one has, and adds up what that used."""

    def __init__(
        self,
        root: Path,
        provider: Callable[[], Provider],
        watch: CancellationToken,
        store: Digests,
        *,
        zone: str = "",
        chunk_chars: int = CHUNK_CHARS,
    ) -> None:
        self._chunk_chars = chunk_chars
        self._root = root
        self._zone = zone
        self._provider = provider
        self._watch = watch
        self._store = store
        self._done: dict[str, tuple[int, str | None]] = {}
        self.usage = Usage()

    def __call__(self, entry: HistoryEntry) -> str | None:
        """The facts in a raw entry; ``None``: it is to be shown as it is.

        Raises:
            AgentError: the provider cannot be asked.
            Cancelled: the process is to end.
        """
        parts = of_group(self._root, entry)
        if len(parts) == 1:
            return self._facts((entry,))
        if entry.group not in self._done:
            found = self._facts(without_forgotten(self._root, parts))
            self._done[entry.group] = (entry.cursor, found)
        first, facts = self._done[entry.group]
        return facts if facts is None or entry.cursor == first else _GOES_ON.format(first)

    def _facts(self, entries: Sequence[HistoryEntry]) -> str | None:
        if not entries:
            return NOTHING  # all of it was forgotten
        key = _key(entries)
        kept = self._store.digest(key)
        if kept is None:
            kept = self._asked_for(entries)
            if kept is None:
                return None
            self._store.keep_digest(key, entries[-1].cursor, kept)
        # Something may have been forgotten since, which the text said in other words.
        rows = without_forgotten(self._root, [replace(entries[0], content=kept)])
        return rows[0].content if rows else NOTHING

    def _asked_for(self, entries: Sequence[HistoryEntry]) -> str | None:
        """Ask the summariser; ``None``: it gave no answer four times."""
        found = digest(
            entries,
            self._ask,
            is_answer=lambda error: error.kind in OF_THE_REQUEST,
            chunk_chars=self._chunk_chars,
        )
        if isinstance(found, Digested):
            self._keep_dated(entries, found.text)
            for wish in found.forget:
                note_wish(self._root, wish, Actor("command"))
            return found.text or NOTHING
        cursors = [entry.cursor for entry in entries]
        logger.info("dream.not_digested", extra={"entries": cursors, "why": found.reason})
        return None

    def _keep_dated(self, entries: Sequence[HistoryEntry], text: str) -> None:
        """Add the facts that name a day to the history: the digest is gone with the run, and they
        stay before every chat until their day is over."""
        lines = dated_facts.dated_lines(text)
        if lines:
            first = entries[0]
            new = NewHistoryEntry(
                "\n".join(lines),
                conversation=first.conversation,
                messages=first.messages,
                prompt_visible=False,
            )
            log.append(self._root, [new], zone=self._zone)

    def _ask(self, system: SystemPrompt, text: str) -> Reply:
        asked = self._provider()
        # Thinking would use up the tokens that the facts may take.
        quick = Provider(asked.endpoint, replace(asked.preset, thinking="off"))
        reply = consolidator.asking(quick, self._watch)(system, text)
        self.usage += reply.usage
        self._store.spent(reply.usage)
        return reply


def _key(entries: Sequence[HistoryEntry]) -> str:
    """Return a text's key: another wording, or one part less, is another text."""
    parts = "\0".join(f"{entry.cursor} {entry.timestamp} {entry.content}" for entry in entries)
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
