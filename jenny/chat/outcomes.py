"""What came of summarising a conversation, in words. Plain."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from jenny.workspace.redact import Hit

type Ending = Literal["done", "nothing", "busy", "claimed", "failed"]

_SENTENCES: dict[Ending, str] = {
    "nothing": "There is nothing to summarise: what was said here is in the history already.",
    "busy": "An answer is being written. Nothing was summarised; try again when it is there.",
    "claimed": "This conversation is being summarised already.",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """*summaries* and *raw* entries were added; *secrets* were taken out of them before."""

    ending: Ending = "nothing"
    summaries: int = 0
    raw: int = 0
    secrets: tuple[Hit, ...] = ()
    problem: str = ""

    def plus(self, other: Self) -> Self:
        """This, and then the other."""
        return replace(
            other,
            summaries=self.summaries + other.summaries,
            raw=self.raw + other.raw,
            secrets=self.secrets + other.secrets,
        )

    @property
    def divider(self) -> str:
        """The words that stand in the thread; empty when nothing was added."""
        parts = []
        if self.summaries:
            parts.append(f"Summarised for Jenny’s memory: {_entries(self.summaries)}.")
        if self.raw:
            parts.append(
                f"Kept word for word for Jenny’s memory: {_entries(self.raw)}. "
                "The model gave no summary."
            )
        if parts and self.secrets:
            kinds = ", ".join(sorted({hit.kind for hit in self.secrets}))
            parts.append(f"Secrets were left out: {kinds}.")
        return " ".join(parts)

    @property
    def sentence(self) -> str:
        """For whoever asked for it."""
        if self.ending == "failed":
            return self.problem
        if self.ending != "done":
            return _SENTENCES[self.ending]
        kept = "The thread stays as it is; Jenny goes on with its last messages."
        return f"{self.divider or 'Nothing in it was worth an entry.'} {kept}"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
