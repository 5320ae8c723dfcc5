"""Values of approvals: pieces, staged changes, hunks and results."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

type Mode = Literal["off", "removals", "all"]
"""``agents.defaults.dream.approve``: the writes of Dream's that wait for a person."""

type Kind = Literal["add", "change", "remove", "skill"]
"""Added lines; replaced lines; removed lines; a skill's file as a whole."""

type State = Literal[
    "waiting",
    "conflict",
    "accepted",
    "rejected",
    "never",
    "settled",
    "superseded",
    "void",
]
"""``conflict``: it waits, and its place has changed. ``settled``: the file says the same already.
``superseded``: a later Dream run replaced it. ``void``: the workspace was restored."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One change of one file, by lines without their ends.

    *before* are the removed lines, *after* the added ones; for a skill, the whole file. *heading*
    is the title of the section, *title* its heading line when the file has none yet. *previous*
    and *following* are the nearest lines with content (empty: the file's beginning or end), *gap*
    and *gap_after* the empty lines between, *at* the index of the line before which it is placed.
    All of that locates the piece.
    """

    kind: Kind
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    heading: str = ""
    title: str = ""
    previous: str = ""
    following: str = ""
    gap: int = 0
    gap_after: int = 0
    at: int = 0

    @property
    def content(self) -> tuple[Kind, str, str]:
        """Return the change without its place and surrounding empty lines."""
        return (self.kind, "\n".join(self.before).strip("\n"), "\n".join(self.after).strip("\n"))

    @property
    def growth(self) -> int:
        """Return by how many characters the file grows."""
        return sum(len(line) + 1 for line in self.after) - sum(
            len(line) + 1 for line in self.before
        )


@dataclass(frozen=True, slots=True)
class Staged:
    """A pending piece: its number, its file, and the history entries on which it rests."""

    id: int
    path: str
    piece: Piece
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A workspace's pending changes in their order, and the wordings (and removals) that a person
    rejected, newest first."""

    staged: tuple[Staged, ...] = ()
    rejected: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def of(self, path: str) -> tuple[Staged, ...]:
        return tuple(row for row in self.staged if row.path == path)


@dataclass(frozen=True, slots=True)
class ProposalAct:
    """The write that stages pieces: its entries, reason and author.

    *unplaced* are pending pieces of the file that had no place in the edited text.
    """

    sources: Sequence[int] = ()
    reason: str = ""
    actor: str = "dream"
    unplaced: frozenset[int] = frozenset()


class ProposalStore(Protocol):
    """Storage of proposals as a run's tools use it; implemented over the database."""

    mode: Mode

    def waiting(self) -> Waiting:
        """Return what is pending; called under the workspace's lock."""

    def act(self) -> AbstractContextManager[None]:
        """Store everything of the block, or nothing when it raises."""

    def put(self, path: str, pieces: Sequence[Piece], act: ProposalAct) -> int:
        """Stage these pieces and ``act.unplaced`` for the file and return how many are new.

        Pieces that were pending already keep number, run and sources. Replaced pieces are
        accounted for when the block of ``act`` ends.
        """

    def count(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One pending or decided change, for a page or a command.

    *before* are the removed lines, *after* the added ones. *context* are the lines above and
    below at the time it was made. *now* is the present text at its place in a conflict. *sources*
    are history entries. *text* is a person's own wording. *together_with* are hunks of the same
    move, which are decided together. *offered* are entries that Dream is shown again because of
    the decision. *is_wish*: a person asked in a conversation to have it forgotten.
    """

    id: int
    run_id: int | None
    path: str
    kind: Kind
    before: str
    after: str
    context: tuple[str, str] = ("", "")
    heading: str = ""
    sources: tuple[int, ...] = ()
    state: State = "waiting"
    why: str = ""
    now: str = ""
    reason: str = ""
    by_review: bool = False
    is_wish: bool = False
    text: str | None = None
    together_with: tuple[int, ...] = ()
    offered: tuple[int, ...] = ()
    staged_at: datetime | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """The result of a decision: whether the hunk is now as asked, and a sentence.

    *offered* are entries that Dream is shown again because of it; *hunk* is its present state.
    *is_forgotten*: it was not accepted since it was forgotten; the person may have it remembered
    after all.
    """

    ok: bool
    message: str
    hunk: Hunk | None = None
    offered: tuple[int, ...] = ()
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Pruned:
    """A line that a run removed from a file. *archive_id* is empty when the file has no archive."""

    text: str
    heading: str = ""
    kind: str = "bullet"
    archive_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargePruneNotice:
    """A run that removed much from a file: *chars* characters of *size*, in these lines."""

    run_id: int
    path: str
    chars: int
    size: int
    lines: tuple[Pruned, ...] = field(default=())

    @property
    def archive_ids(self) -> tuple[str, ...]:
        return tuple(line.archive_id for line in self.lines if line.archive_id)

    @property
    def message(self) -> str:
        share = round(100 * self.chars / self.size) if self.size else 0
        count = len(self.lines)
        what = "1 entry" if count == 1 else f"{count} entries"
        return f"Dream took {what} out of {self.path} ({share} % of it) in run {self.run_id}."
