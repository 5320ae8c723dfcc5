"""Dream's toolbox: the context of its tools, and every call on record."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jenny.agent.tools import Tool, Toolbox, ToolContext, ToolOutcome
from memory.dream.tools import gauges
from memory.dream.tools.drafts import Landed
from memory.dream.tools.hand import Hand

# What a model sent is repeated in a refusal, up to so many characters.
_SENTENCE_CHARS = 4_000


@dataclass(slots=True)
class Desk(ToolContext):
    """The tools' context in a Dream run."""

    hand: Hand = field(kw_only=True)


class HandBox(Toolbox):
    """Dream's toolbox: a call that writes and came to nothing is always on record."""

    def __init__(self, tools: Sequence[Tool], desk: Desk, *, writers: frozenset[str]) -> None:
        super().__init__(tools, desk)
        self._hand = desk.hand
        self._writers = writers

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        hand = self._hand
        before = len(hand.attempts)
        outcome = super().call(name, arguments)
        if not outcome.ok and len(outcome.content) > _SENTENCE_CHARS:
            # What the model sent is repeated in it.
            outcome = replace(outcome, content=f"{outcome.content[:_SENTENCE_CHARS]}…")
        if name in self._writers and not outcome.ok and len(hand.attempts) == before:
            hand.refuse(name, _path_in(arguments), "edit", outcome.content)
        return outcome

    def _spill(self, name: str, text: str) -> str:
        """Nothing is kept beside the files that Dream may write."""
        del name, text
        return ""


def _path_in(arguments: object) -> str:
    """The one path that a call named which could not be read; empty: none, or several."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    rows = edits if isinstance(edits, list) else [arguments]
    paths = {row.get("path") for row in rows if isinstance(row, dict)}
    path = paths.pop() if len(paths) == 1 else ""
    return path if isinstance(path, str) else ""


def told(landed: Sequence[Landed], hand: Hand) -> str:
    """What a write did, for the model: the lines that came and went, and how full the file is."""
    parts = []
    for row in landed:
        lines = [f"- {line[:300]}" for line in row.attempt.removed[:20]]
        lines += [f"+ {line[:300]}" for line in row.attempt.added[:20]]
        verb = "Made" if row.old is None else "Changed"
        gauge = gauges.sentence(hand.workspace.root, row.path)
        parts.append("\n".join([f"{verb} {row.path}:", *lines, *([gauge] if gauge else [])]))
    return "\n\n".join(parts)
