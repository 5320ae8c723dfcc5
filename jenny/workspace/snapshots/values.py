"""Define snapshots and their parts as values."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from jenny.workspace import retention

# The reasons of snapshots, in words for a sentence.
TRIGGERS = {
    "dream": "before a memory update",
    "tidy": "before a project was tidied",
    "auto": "after a change",
    "daily": "once a day",
    "manual": "by hand",
    "restore": "before a restore",
    "import": "before an import",
    "export": "before an export",
    "upgrade": "before an upgrade",
    "delete": "before a deletion",
}

type Trigger = Literal[
    "dream", "tidy", "auto", "daily", "manual", "restore", "import", "export", "upgrade", "delete"
]
type What = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that a snapshot does not hold, or not as surely as the rest, with the reason."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The numbers of files that differ from the previous snapshot."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    def __str__(self) -> str:
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (self.added, "added"),
                (self.changed, "changed"),
                (self.removed, "removed"),
            )
            if count
        ]
        return ", ".join(parts) or "nothing changed"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The workspace at one moment.

    ``number`` counts up and gives the order; ``when`` is aware, in UTC; ``size`` is the bytes of
    all its ``files``; ``skipped`` the number of omitted files. ``before`` is the snapshot that
    ``changes`` are counted from, ``None`` for the first one. ``tree`` and ``commit`` are ids in the
    store.
    """

    id: str
    number: int
    when: datetime
    trigger: str
    label: str
    files: int
    size: int
    skipped: int
    before: str | None
    changes: Changes
    tree: str = field(repr=False)
    commit: str = field(repr=False)

    @property
    def why(self) -> str:
        """The reason of the snapshot, in words."""
        return TRIGGERS.get(self.trigger, self.trigger)


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt.

    ``snapshot`` is the new one, or with ``is_new`` false the one that holds the same already.
    ``fingerprint`` was taken before anything was read, so that a change in between is seen.
    """

    snapshot: Snapshot
    is_new: bool
    fingerprint: str
    skipped: tuple[Skipped, ...] = ()

    @property
    def message(self) -> str:
        shot = self.snapshot
        if self.is_new:
            said = (
                f"A snapshot was taken {shot.why}: {counted(shot.files, 'file')}, "
                f"{sized(shot.size)}; {shot.changes}."
            )
        else:
            said = "Nothing has changed since the newest snapshot; no new one was needed."
        if self.skipped:
            said += f" {counted(len(self.skipped), 'thing')} skipped or worth a note."
        return said


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file or folder in a snapshot.

    ``mode``: permission bits; ``modified``: nanoseconds since 1970 (UTC), ``None`` for folders and
    where it is unknown; ``sha``: the content's id in the store.
    """

    path: str
    is_folder: bool
    size: int
    mode: int
    modified: int | None
    sha: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs between two states; ids of its contents, ``None``: no file."""

    path: str
    what: What
    old: str | None = field(repr=False)
    new: str | None = field(repr=False)


@dataclass(frozen=True)
class Plan:
    """A plan for pruning; making it deletes nothing.

    ``keep_for`` is the horizon it was made with, ``thinned`` those that are more than one a day,
    ``expired`` those older than the horizon. Both oldest first.
    """

    keep_for: str
    thinned: tuple[Snapshot, ...]
    expired: tuple[Snapshot, ...]
    kept: int

    @property
    def goes(self) -> tuple[Snapshot, ...]:
        """All snapshots to delete, oldest first."""
        return tuple(sorted((*self.thinned, *self.expired), key=lambda shot: shot.number))

    @property
    def _staying(self) -> str:
        return f"{counted(self.kept, 'snapshot')} {'stays' if self.kept == 1 else 'stay'}"

    @property
    def message(self) -> str:
        if not self.goes:
            return f"Nothing is to be deleted; {self._staying}."
        parts = []
        if self.expired:
            oldest, newest = self.expired[0], self.expired[-1]
            parts.append(
                f"{counted(len(self.expired), 'snapshot')} from before the horizon "
                f"({oldest.when:%Y-%m-%d} to {newest.when:%Y-%m-%d})"
            )
        if self.thinned:
            parts.append(
                f"{counted(len(self.thinned), 'snapshot')} of days older than "
                f"{retention.in_words(retention.EACH_SNAPSHOT)}, of which "
                "the last one stays"
            )
        return f"To be deleted: {' and '.join(parts)}. {self._staying}."


@dataclass(frozen=True)
class Pruned:
    """Ids of deleted snapshots and freed bytes; ``kept`` were pinned meanwhile."""

    deleted: tuple[str, ...]
    kept: tuple[str, ...]
    freed: int

    @property
    def message(self) -> str:
        said = f"{counted(len(self.deleted), 'snapshot')} deleted, {sized(self.freed)} freed."
        if self.kept:
            said += f" {counted(len(self.kept), 'snapshot')} stayed, being in use."
        return said


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def sized(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":  # noqa: PLR2004  (the step between units)
            return f"{size:,} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError


def total(rows: Iterable[Difference]) -> Changes:
    counts = {"added": 0, "changed": 0, "removed": 0}
    for row in rows:
        counts[row.what] += 1
    return Changes(**counts)
