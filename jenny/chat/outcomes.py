"""What came of summarising a conversation, in words. Plain."""

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
    """Secrets of one *kind* that stand in a message of *speaker*'s (``user`` or ``assistant``)
    and were left out of what was kept."""

    kind: str
    count: int
    message: int
    speaker: str


def left_out(said: Sequence[Spoken]) -> tuple[LeftOut, ...]:
    """The secrets in what was said, message by message."""
    return tuple(
        LeftOut(hit.kind, hit.count, message.id, message.speaker)
        for message in said
        for hit in redact(transcript.raw([message])).hits
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """What a slice of *count* messages became: entries of the history (*cursors*), or, where no
    memory is left, a *text* of the conversation's own."""

    count: int = 0
    cursors: tuple[int, ...] = ()
    text: str = ""
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()

    @property
    def is_something(self) -> bool:
        """Whether anything was found worth keeping."""
        return bool(self.cursors or self.text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """*summaries* and *raw* entries were added; *secrets* were taken out of them before. *own*:
    they belong to the conversation and stand in no file."""

    ending: Ending = "nothing"
    summaries: int = 0
    raw: int = 0
    secrets: tuple[LeftOut, ...] = ()
    own: bool = False
    problem: str = ""

    @classmethod
    def of(cls, kept: Kept) -> Self:
        """What came of one slice."""
        return cls("done", kept.summaries, kept.raw, kept.secrets, bool(kept.text))

    def plus(self, other: Self) -> Self:
        """This, and then the other."""
        return replace(
            other,
            summaries=self.summaries + other.summaries,
            raw=self.raw + other.raw,
            secrets=self.secrets + other.secrets,
            own=self.own or other.own,
        )

    @property
    def sentence(self) -> str:
        """For whoever asked for it."""
        if self.ending == "failed":
            return self.problem
        if self.ending != "done":
            return _SENTENCES[self.ending]
        added = " ".join(self._added()) or "Nothing in it was worth an entry."
        return f"{added} The thread stays as it is; Jenny goes on with its last messages."

    def _added(self) -> list[str]:
        """What was kept, and what was left out of it."""
        parts = []
        whose = "this chat alone" if self.own else "Jenny’s memory"
        if self.summaries:
            parts.append(f"Summarised for {whose}: {_entries(self.summaries)}.")
        if self.raw:
            how = "In short" if self.own else "Kept word for word"
            parts.append(f"{how} for {whose}: {_entries(self.raw)}. The model gave no summary.")
        if parts and self.secrets:
            kinds = ", ".join(sorted({hit.kind for hit in self.secrets}))
            parts.append(f"Secrets were left out: {kinds}.")
        return parts


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
