"""One act of a run before it lands: what it makes of each file, and what holds of any text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jenny.workspace import diffs
from jenny.workspace.redact import redact
from memory import artifacts, injection_scan
from memory.dream.tools import allowed_paths
from memory.dream.values import Attempt

# More than this is never added by one call.
MAX_ADDED_CHARS = 8_000
# Kept of a line in the records, and so many lines.
LINE_CHARS = 2_000
_LINES = 400


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one file. *change* makes the new text of the old one (``None``: no file);
    *added* and *removed* are the lines it is about, should it come to nothing."""

    path: str
    change: Callable[[str | None], str]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Landed:
    """What one act did to one file. *waits*: (part of) it waits for a person's approval."""

    path: str
    old: str | None
    new: str
    attempt: Attempt
    waits: bool = False


@dataclass(slots=True)
class Draft:
    """What an act makes of one file, before it lands.

    *data* and *old* are what it is made from: the file, and where writes wait for approval the file
    with all that waits. *disk* is the file then, and *landing* what of the act may land at once.
    """

    path: str
    data: bytes | None
    old: str | None
    new: str | None
    disk: str | None = None
    landing: str | None = None
    waits: bool = False

    @property
    def text(self) -> str:
        """The new text."""
        return self.new or ""

    @property
    def came(self) -> str:
        """All that comes, whole: what a rule is asked about."""
        return "\n".join(diffs.added_lines(self.data, self.text.encode()))

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that come, as they are kept on record."""
        return recorded_lines(diffs.added_lines(self.data, self.text.encode()))

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that go, as they are kept on record."""
        return recorded_lines(diffs.added_lines(self.text.encode(), self.data))


class Refusal(Exception):
    """An act that came to nothing: the rule, what the model is told, and the file at fault."""

    is_logged = False

    def __init__(self, rule: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.path = path


def check_draft(draft: Draft) -> None:
    """What holds of any text that Dream writes.

    Raises:
        Refusal: it does not.
    """
    text = draft.came
    grows = len(draft.text) > len(draft.old or "")
    if len(text) > MAX_ADDED_CHARS and grows and not allowed_paths.is_skill(draft.path):
        raise Refusal(
            "edit",
            f"Nothing was written: {len(text):,} characters at once are too many for "
            f"{draft.path}; at most {MAX_ADDED_CHARS:,} are added by one call. Memory files "
            "hold single facts.",
            draft.path,
        )
    if found := injection_scan.invisible(text):
        raise Refusal(
            "edit",
            f"Nothing was written: the text for {draft.path} holds invisible characters "
            f"({found}). Write it without them.",
            draft.path,
        )
    if line := artifacts.find_record(text):
        raise Refusal(
            "edit",
            f"Nothing was written: “{line[:120]}” for {draft.path} is a line of the record word "
            "for word. Write the fact that follows from it, in a sentence of its own.",
            draft.path,
        )
    if hits := redact(text).hits:
        raise Refusal(
            "secret",
            f"Nothing was written: the text for {draft.path} holds what looks like a secret "
            f"({hits[0].kind}). Secrets are never kept in these files.",
            draft.path,
        )


def landed_attempt(tool: str, draft: Draft, sources: tuple[int, ...]) -> Attempt:
    """The record of an act that landed as it was meant."""
    return Attempt(
        tool,
        draft.path,
        sources,
        ok=True,
        added=draft.added,
        removed=draft.removed,
        grew=len(draft.text) - len(draft.old or ""),
    )


def recorded_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that say something, bounded."""
    return tuple(line[:LINE_CHARS] for line in lines if line.strip())[:_LINES]
