"""Formats the outcome of a consolidation in words. Plain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from jenny.workspace.redact import redact
from memory.history import transcript
from memory.history.transcript import Spoken

type Ending = Literal["done", "nothing", "busy", "claimed", "failed"]

_SENTENCES: dict[Ending, str] = {
    "nothing": "There is nothing to summarise: what was said here was summarised already.",
    "busy": "An answer is being written. Nothing was summarised; try again when it is there.",
    "claimed": "This conversation is being summarised already.",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Redacted secrets of one *kind* in one message of *speaker* (``user`` or ``assistant``)."""

    kind: str
    count: int
    message: int
    speaker: str


def left_out(said: Sequence[Spoken]) -> tuple[LeftOut, ...]:
    """Return the secrets in what was said, message by message."""
    return tuple(
        LeftOut(hit.kind, hit.count, message.id, message.speaker)
        for message in said
        for hit in redact(transcript.raw([message])).hits
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored result of a slice of *count* messages.

    *cursors* are its history entries; *text* is the summary of a conversation that leaves no
    memory. *untagged* counts facts without a fact tag.
    """

    count: int = 0
    cursors: tuple[int, ...] = ()
    text: str = ""
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()
    untagged: int = 0

    @property
    def is_something(self) -> bool:
        return bool(self.cursors or self.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a consolidation.

    *summaries* and *raw* count the added entries; *secrets* were redacted before. *own*: the
    summaries belong to the conversation and are in no file.
    """

    ending: Ending = "nothing"
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()
    own: bool = False
    problem: str = ""
    untagged: int = 0

    @classmethod
    def of(cls, kept: Kept) -> Self:
        return cls(
            "done",
            kept.summaries,
            kept.raw,
            kept.secrets,
            bool(kept.text),
            untagged=kept.untagged,
        )

    def plus(self, other: Self) -> Self:
        return replace(
            other,
            summaries=self.summaries + other.summaries,
            raw=self.raw + other.raw,
            secrets=self.secrets + other.secrets,
            own=self.own or other.own,
            untagged=self.untagged + other.untagged,
        )

    @property
    def message(self) -> str:
        if self.ending == "failed":
            return self.problem
        if self.ending != "done":
            return _SENTENCES[self.ending]
        added = " ".join(self._added()) or "Nothing in it was worth a note."
        return f"{added} The thread stays as it is; Jenny goes on with its last messages."

    def _added(self) -> list[str]:
        parts = []
        whose = "this chat alone" if self.own else "Jenny’s memory"
        if self.summaries:
            parts.append(f"Summarised for {whose}: {_entries(self.summaries)}.")
        if self.raw:
            how = "In short" if self.own else "Kept word for word"
            parts.append(f"{how} for {whose}: {_entries(self.raw)}. The model gave no summary.")
        if self.untagged:
            parts.append(
                "The model gave 1 fact no tag; it counts as durable."
                if self.untagged == 1
                else f"The model gave {self.untagged:,} facts no tag; they count as durable."
            )
        if parts and self.secrets:
            kinds = ", ".join(sorted({hit.kind for hit in self.secrets}))
            parts.append(f"Secrets were left out: {kinds}.")
        return parts


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
