"""What a run took out of the memory files, and whether that was much: more than 30 % of a file's
characters, or 8 entries.

Looked up in what the run left behind: the archive for files that have one, its versions for the
others. What was reworded, moved, or stands in a memory file again was not taken out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace.errors import VersionsOff
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import FileChange, open_history
from memory import archive, budgets, files
from memory.approvals.diff import is_alike
from memory.approvals.values import Pruned
from memory.archive import write_rule
from memory.facts import normal, stated

SHARE = 0.3
ENTRIES = 8


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run took out of one file: *chars* characters of the *size* it had before."""

    path: str
    chars: int
    size: int
    lines: tuple[Pruned, ...]

    @property
    def is_large(self) -> bool:
        return len(self.lines) >= ENTRIES or self.chars > SHARE * max(self.size, 1)


def of_run(root: Path, runs: Collection[str], commits: Sequence[str]) -> tuple[Taken, ...]:
    """What a run took out of the memory files, by the names of its parts and its versions, in
    order."""
    changes = _changes(root, commits)
    standing = _standing(root)
    found = []
    for file in files.MEMORY_FILES:
        own = [change for change in changes if change.path == file.path]
        lines = _archived(root, runs, file.path) if file.archived else _left(own)
        came = [fact.text for row in own for fact in write_rule.leaving_facts(row.new, row.old)]
        lines = [
            line
            for line in lines
            if normal(line.text) not in standing
            and not any(is_alike([line.text], [text]) for text in came)
        ]
        if not lines:
            continue
        lines = _in_order(lines, own)
        chars = sum(len(line.text) for line in lines)
        now = budgets.characters(_on_disk(root, file.path))
        size = budgets.characters(own[0].old) if own else now + chars
        found.append(Taken(file.path, chars, size, tuple(lines)))
    return tuple(found)


def _archived(root: Path, runs: Collection[str], path: str) -> list[Pruned]:
    """What of a file the run moved to the archive."""
    return [
        Pruned(row.text, row.heading, row.kind, row.id)
        for row in archive.removed_by(root, runs)
        if row.source == path
    ]


def _in_order(lines: list[Pruned], changes: Sequence[FileChange]) -> list[Pruned]:
    """The lines as they stood in the file, as far as its versions tell."""
    places = {normal(fact.text): at for row in changes for at, fact in enumerate(stated(row.old))}
    return sorted(lines, key=lambda line: places.get(normal(line.text), 0))


def _left(changes: Sequence[FileChange]) -> list[Pruned]:
    """What left a file that has no archive, by the run's versions."""
    return [
        Pruned(fact.text, fact.heading, fact.kind)
        for change in changes
        for fact in write_rule.leaving_facts(change.old, change.new)
    ]


def _changes(root: Path, commits: Sequence[str]) -> list[FileChange]:
    if not commits:
        return []
    try:
        with open_history(root) as history:
            return [row for sha in commits for row in history.changes(history.version(sha))]
    except VersionsOff:
        return []


def _standing(root: Path) -> set[str]:
    return {normal(fact.text) for path in files.BY_PATH for fact in stated(_on_disk(root, path))}


def _on_disk(root: Path, path: str) -> bytes | None:
    try:
        return tracked_files.read_tracked_file(root, path)
    except OSError:
        return None
