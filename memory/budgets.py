"""Budgets of the memory files: how long unattended writers may make them, in characters.

0 is no budget: the file is measured and never refused. Other writers are not bound: a chat never
fails because a file is full.
"""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import config, names, paths
from jenny.workspace.errors import PathRefused, WriteRefused
from jenny.workspace.rules import Change
from jenny.workspace.versions import scan
from memory import files
from memory.files import MemoryFile

UNATTENDED = frozenset({"dream", "review"})
NEAR = 0.8
HELD = 0.9


@dataclass(frozen=True, slots=True)
class Gauge:
    """How full a memory file is. ``chars``: its characters, 0 when it is missing, ``None`` when it
    cannot be read. ``budget`` 0: none."""

    file: MemoryFile
    chars: int | None
    budget: int

    @property
    def share(self) -> float:
        """Of its budget; 0 where there is none."""
        return (self.chars or 0) / self.budget if self.budget else 0.0

    @property
    def near(self) -> bool:
        """From here on room is made before anything is added (80 %)."""
        return self.share >= NEAR

    @property
    def held_mark(self) -> bool:
        """From here on a run that adds nothing is not believed (90 %)."""
        return self.share >= HELD

    @property
    def over(self) -> int:
        """How many characters it is over its budget."""
        return max((self.chars or 0) - self.budget, 0) if self.budget else 0

    @property
    def sentence(self) -> str:
        """``USER.md: 2,400 of 3,000 characters (80 %)``."""
        if self.chars is None:
            return f"{self.file.path}: cannot be read"
        if not self.budget:
            return f"{self.file.path}: {self.chars:,} characters, no budget"
        share = int(self.share * 100)
        return f"{self.file.path}: {self.chars:,} of {self.budget:,} characters ({share} %)"


def gauge(root: Path) -> tuple[Gauge, ...]:
    """Every memory file's gauge, from disk."""
    real = paths.real_root(root)
    settings = config.load(real)
    return tuple(
        Gauge(file, _measured(real, file), settings.get(file.budget_key))
        for file in files.MEMORY_FILES
    )


def characters(data: bytes | None) -> int:
    """How long a file is: characters without the byte order mark; bytes that are no UTF-8 do not
    count, a missing file has none."""
    return len((data or b"").decode("utf-8", "ignore").removeprefix("\ufeff"))


def guard(change: Change) -> None:
    """Refuse unattended writers a file over its budget that is not smaller than on disk now. A
    write rule; it is asked under the lock, for every write.

    Raises:
        WriteRefused: with rule ``budget``.
    """
    if change.actor.kind not in UNATTENDED:
        return
    file = files.memory_file(change.workspace, change.path)
    if file is None:
        return
    budget = config.load(change.workspace).get(file.budget_key)
    size = characters(change.new)
    if not budget or size <= budget or size < characters(change.old):
        return
    message = (
        f"{names.shown(file.path)} was not written: it would have {size:,} characters, "
        f"{size - budget:,} over its budget of {budget:,}. Nothing was written. Make room first: "
        "shorten or merge lines of this file, move them where they belong better, or take out "
        "what is stale (it is archived). A write that makes the file smaller is never refused."
    )
    raise WriteRefused(message, "budget")


def _measured(root: Path, file: MemoryFile) -> int | None:
    try:
        place = paths.locate(root, file.path)
        return characters(scan.content(root, place.relative))
    except (OSError, PathRefused):
        return None
