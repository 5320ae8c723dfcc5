"""What a hunk is, in plain values."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

type Mode = Literal["off", "removals", "all"]
"""``agents.defaults.dream.approve``: what of Dream's writes waits for a person."""

type Kind = Literal["add", "change", "remove", "skill"]
"""Lines that come; lines in place of others; lines that go; a skill's file as a whole."""

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
"""``conflict``: it waits, and its place has changed meanwhile. ``settled``: the file came to say
the same without it. ``superseded``: a later run of Dream put something else in its place. ``void``:
the workspace was restored."""

SETTING = "agents.defaults.dream.approve"


@dataclass(frozen=True, slots=True)
class Piece:
    """One change of one file, by lines without their ends.

    *before* are the lines it takes out, *after* those it puts there; of a skill the whole file.
    *heading* is the title of the section it stands in, *title* that section's own line where the
    file has none yet. *previous* and *following* are the nearest lines beside it that say
    something (empty: the file's beginning or end), *gap* and *gap_after* the empty lines between,
    *at* the line (from 0) before which it stands. All of that says where it belongs.
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
        """What it does, wherever that is, and however many empty lines go along."""
        return (self.kind, "\n".join(self.before).strip("\n"), "\n".join(self.after).strip("\n"))

    @property
    def growth(self) -> int:
        """By how many characters it makes its file longer."""
        return sum(len(line) + 1 for line in self.after) - sum(
            len(line) + 1 for line in self.before
        )


@dataclass(frozen=True, slots=True)
class Staged:
    """A piece that waits: its number, its file, and the entries of the history it rests on."""

    id: int
    path: str
    piece: Piece
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a workspace has waiting, in the order in which it is put together, and the wordings
    (and removals) that a person rejected, newest first."""

    staged: tuple[Staged, ...] = ()
    rejected: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def of(self, path: str) -> tuple[Staged, ...]:
        """What waits for one file."""
        return tuple(row for row in self.staged if row.path == path)


class Shelf(Protocol):
    """Where a run's hand puts what is to wait; the database, behind a door."""

    mode: Mode

    def waiting(self) -> Waiting:
        """What waits now; asked under the workspace's lock."""

    def act(self) -> AbstractContextManager[None]:
        """What is put in the block is kept when it ends well, and not at all when it does not."""

    def put(
        self, path: str, pieces: Sequence[Piece], *, sources: Sequence[int], reason: str, actor: str
    ) -> int:
        """These pieces, and no others, wait for the file from now on; how many are new. Those that
        waited already keep their number, run and sources."""

    def count(self) -> int:
        """How many pieces of the run wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One change that waits (or waited), for a page or a command.

    *before*: what it would take out, *after*: what it would put there. *context*: the lines beside
    its place as it was when it was made, above and below. *now*: of a conflict, what stands in its
    place today. *sources*: entries of the history. *text*: what a person had written instead.
    *together_with*: hunks decided together with it, since they are one move. *offered*: entries
    that Dream is shown again because of the verdict.
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
    text: str | None = None
    together_with: tuple[int, ...] = ()
    offered: tuple[int, ...] = ()
    staged_at: datetime | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a verdict: whether the hunk is now as was asked, and a sentence for a person.
    *offered*: entries that Dream is shown again because of it. *hunk*: as it is now."""

    ok: bool
    sentence: str
    hunk: Hunk | None = None
    offered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """A line that a run took out of a file. *archive_id*: empty where its file has no archive."""

    text: str
    heading: str = ""
    kind: str = "bullet"
    archive_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """A run that took much out of a file: *chars* characters of *size*, in these lines."""

    run_id: int
    path: str
    chars: int
    size: int
    lines: tuple[Pruned, ...] = field(default=())

    @property
    def archive_ids(self) -> tuple[str, ...]:
        """Where the lines lie in the archive."""
        return tuple(line.archive_id for line in self.lines if line.archive_id)

    @property
    def sentence(self) -> str:
        """What the notice says of it."""
        share = round(100 * self.chars / self.size) if self.size else 0
        count = len(self.lines)
        what = "1 entry" if count == 1 else f"{count} entries"
        return f"Dream took {what} out of {self.path} ({share} % of it) in run {self.run_id}."
