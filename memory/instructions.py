"""The table of files that instruct a model. ``memory.write_guards`` decides by it who may write
them.

SOUL.md is not in it, though it says how Jenny speaks: it is a memory file, which chats and Dream
write like the others.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import names
from memory import files


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A kind of such files.

    *pattern* is its path, where ``*`` stands for one folder; *why* says what a change of it does.
    *only_always*: it instructs only with ``always: true``.
    """

    pattern: str
    why: str
    only_always: bool = False


INSTRUCTION_FILES = (
    InstructionFile(files.INSTRUCTIONS, "changes how Jenny works"),
    InstructionFile(files.GUIDE, "changes how Jenny works"),
    InstructionFile(
        "wikis/*/AGENTS.md",
        "changes how Jenny works in that project, and its summary stands in every conversation",
    ),
    InstructionFile(
        f"{files.SKILLS}/*/{files.SKILL_FILE}",
        "is a skill that is read in every conversation",
        only_always=True,
    ),
)


def of_path(path: str) -> InstructionFile | None:
    """Return the row of a path in any spelling that some disk takes for the same; ``None`` when a
    file there instructs nobody."""
    parts = [names.disguised(part) for part in path.split("/")]
    return next((row for row in INSTRUCTION_FILES if _fits(row, parts)), None)


def of_file(root: Path, path: str) -> InstructionFile | None:
    """Return the row of the file at a resolved path, also when a prompt reads it through a link."""
    if (found := of_path(path)) is not None:
        return found
    target = os.path.realpath(root / path)
    for row in INSTRUCTION_FILES:
        for named in _behind_links(root, row.pattern):
            if os.path.realpath(named) == target:
                return row
    return None


def _fits(row: InstructionFile, parts: list[str]) -> bool:
    pattern = row.pattern.split("/")
    return len(parts) == len(pattern) and all(
        wanted in ("*", part) or names.disguised(wanted) == part
        for wanted, part in zip(pattern, parts, strict=True)
    )


def _behind_links(root: Path, pattern: str) -> Iterator[Path]:
    """Yield the paths of the pattern that lead through a link."""
    found = [(root, False)]
    for part in pattern.split("/"):
        found = [
            (child, through or child.is_symlink())
            for folder, through in found
            for child in (_children(folder) if part == "*" else [folder / part])
        ]
    yield from (path for path, through in found if through)


def _children(folder: Path) -> list[Path]:
    try:
        return [folder / entry.name for entry in os.scandir(folder) if not entry.is_file()]
    except OSError:
        return []
