"""Raw entries are summarised when Dream reaches them: their facts stand in for them in the batch.

A summariser that gives no answer is asked again, four times in all; then the entry is shown as it
is. What it gave is kept until Dream is done with the entry, so that nobody pays for it twice. Of a
long text that became several entries, the first one that a run asks about stands for all:
those before it may have been shown by an earlier run as they are. A provider that
cannot be reached is no failure of the entry's: the run ends, and the entry waits. The history's
file is not written to.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from jenny.agent.cancellation import CancellationToken
from jenny.agent.prompt import SystemPrompt
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.workspace.write_rules import Actor
from memory.dream.model_turn import OF_THE_REQUEST
from memory.history import consolidator, digest, log, upcoming
from memory.history.consolidator import CHUNK_CHARS, Reply
from memory.history.entries import HistoryEntry, NewHistoryEntry
from memory.suppression import note_wish, without_forgotten

logger = logging.getLogger(__name__)

NOTHING = "(nothing worth keeping was found in it)"
_GOES_ON = "(the rest of the text of entry {}, with which its facts stand)"


class Digests(Protocol):
    """What is kept of it from run to run (``memory.dream.batching.selection.RunStore``)."""

    def digest(self, key: str) -> str | None:
        """What was made of the text with this key; ``None``: nothing yet."""

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
        self._book = store
        self._done: dict[str, tuple[int, str | None]] = {}
        self.usage = Usage()

    def __call__(self, entry: HistoryEntry) -> str | None:
        """The facts in a raw entry; ``None``: it is to be shown as it is.

        Raises:
            AgentError: the provider cannot be asked.
            Cancelled: the process is to end.
        """
        parts = digest.of_group(self._root, entry)
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
        kept = self._book.digest(key)
        if kept is None:
            kept = self._asked_for(entries)
            if kept is None:
                return None
            self._book.keep_digest(key, entries[-1].cursor, kept)
        # Something may have been forgotten since, which the text said in other words.
        rows = without_forgotten(self._root, [replace(entries[0], content=kept)])
        return rows[0].content if rows else NOTHING

    def _asked_for(self, entries: Sequence[HistoryEntry]) -> str | None:
        """What the summariser makes of it; ``None``: four times nothing."""
        found = digest.digest(
            entries,
            self._ask,
            is_answer=lambda error: error.kind in OF_THE_REQUEST,
            chunk_chars=self._chunk_chars,
        )
        if isinstance(found, digest.Digested):
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
        lines = upcoming.dated_lines(text)
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
        self._book.spent(reply.usage)
        return reply


def _key(entries: Sequence[HistoryEntry]) -> str:
    """What a text is known by: another wording, or one part less, is another text."""
    parts = "\0".join(f"{entry.cursor} {entry.timestamp} {entry.content}" for entry in entries)
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
