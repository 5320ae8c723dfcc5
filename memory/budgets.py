"""Budgets of the memory files: how many characters unattended writers may fill.

0 is no budget: the file is measured and never refused. Other writers are not limited: a chat
never fails because a file is full.
"""

from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import config, names, paths, seed
from jenny.workspace.errors import PathRefused, WriteRefused
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Change
from memory import files
from memory.files import MemoryFile

NEAR = 0.8
HELD = 0.9


@dataclass(frozen=True, slots=True)
class Gauge:
    """A memory file's size and budget. ``chars`` is 0 for a missing file and ``None`` for an
    unreadable one. ``budget`` 0: none."""

    file: MemoryFile
    chars: int | None
    budget: int

    @property
    def share(self) -> float:
        return (self.chars or 0) / self.budget if self.budget else 0.0

    @property
    def near(self) -> bool:
        """True from 80 % of the budget: room is made before anything is added."""
        return self.share >= NEAR

    @property
    def held_mark(self) -> bool:
        """True from 90 % of the budget: a run that adds nothing is not believed."""
        return self.share >= HELD

    @property
    def over(self) -> int:
        """Return how many characters the file is over its budget."""
        return max((self.chars or 0) - self.budget, 0) if self.budget else 0

    @property
    def message(self) -> str:
        """``USER.md: 2,400 of 3,000 characters (80 %)``."""
        if self.chars is None:
            return f"{self.file.path}: cannot be read"
        if not self.budget:
            return f"{self.file.path}: {self.chars:,} characters, no budget"
        share = int(self.share * 100)
        return f"{self.file.path}: {self.chars:,} of {self.budget:,} characters ({share} %)"


def budget_of(settings: config.Config, file: files.MemoryFile) -> int:
    """Return the characters that Dream may fill the file to; 0: no limit."""
    value = settings.values[file.budget_key]
    return value if isinstance(value, int) else 0


def gauge(root: Path) -> tuple[Gauge, ...]:
    """Measure every memory file on disk."""
    real = paths.real_root(root)
    settings = config.load_config(real)
    return tuple(
        Gauge(file, _measured(real, file), budget_of(settings, file)) for file in files.MEMORY_FILES
    )


def characters(data: bytes | None) -> int:
    """Count characters without byte order mark, template comments and bytes that are not UTF-8; a
    missing file has 0."""
    text = (data or b"").decode("utf-8", "ignore").removeprefix("\ufeff")
    return len(seed.strip_template_comments(text))


def guard(change: Change) -> None:
    """Refuse unattended writers a file over its budget unless it gets smaller. A write rule,
    asked under the lock for every write.

    Raises:
        WriteRefused: with rule ``budget``.
    """
    if not change.actor.is_unattended:
        return
    file = files.memory_file(change.workspace, change.path)
    if file is None:
        return
    budget = budget_of(config.load_config(change.workspace), file)
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
        return characters(tracked_files.read_tracked_file(root, place.relative))
    except (OSError, PathRefused):
        return None
