"""The table of the memory files."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jenny.workspace import names


@dataclass(frozen=True)
class MemoryFile:
    """A file that holds what Jenny remembers.

    ``name`` is used in code and tables, ``title`` on pages. ``budget_key`` is the setting that
    limits what Dream writes to it. ``template`` is the path of its first text
    (``jenny.workspace.seed``). ``archived``: what is removed from it is kept under
    ``memory/archive``.
    """

    name: str
    title: str
    path: str
    purpose: str
    budget_key: str
    template: str
    archived: bool


MEMORY_FILES: tuple[MemoryFile, ...] = (
    MemoryFile(
        name="memory",
        title="MEMORY.md",
        path="memory/MEMORY.md",
        purpose="What stays true about the work: projects, decisions, setup, open questions.",
        budget_key="agents.defaults.dream.memoryBudgetChars",
        template="memory/MEMORY.md",
        archived=True,
    ),
    MemoryFile(
        name="user",
        title="USER.md",
        path="USER.md",
        purpose="What stays true about the person: identity, habits, how they like to be answered.",
        budget_key="agents.defaults.dream.userBudgetChars",
        template="USER.md",
        archived=True,
    ),
    MemoryFile(
        name="soul",
        title="SOUL.md",
        path="SOUL.md",
        purpose="Who Jenny is: her character and her voice.",
        budget_key="agents.defaults.dream.soulBudgetChars",
        template="SOUL.md",
        archived=False,
    ),
)

BY_PATH = {file.path: file for file in MEMORY_FILES}

INSTRUCTIONS = "AGENTS.md"
GUIDE = "prompts/dream.md"
SKILLS = "skills"
SKILL_FILE = "SKILL.md"
HISTORY = "memory/history.jsonl"
CURSOR = "memory/.dream_cursor"

# A test compares this with ``jenny.workspace.versions.tracked_files``: versions are kept of exactly
# what Dream can write, with its cursor and guide.
_SPELLINGS = {names.disguised(path): path for path in (*BY_PATH, CURSOR, GUIDE, INSTRUCTIONS)}


def memory_file(root: Path, path: str) -> MemoryFile | None:
    """Return the memory file at *path* of the real folder *root*, also when the file's own name
    is a link to it."""
    if (found := BY_PATH.get(path)) is not None:
        return found
    if is_managed_file(path):
        return None
    for file in MEMORY_FILES:
        named = root / file.path
        if named.is_symlink() and os.path.realpath(named) == str(root / path):
            return file
    return None


def is_managed_file(path: str) -> bool:
    """True for files that the pipeline maintains: history, cursors, tombstones, pins."""
    return path == HISTORY or path.startswith("memory/.")


@lru_cache(maxsize=4_096)
def skill_of(path: str) -> str | None:
    match [names.disguised(part) for part in path.split("/")]:
        case [folder, _, file] if (folder, file) == (SKILLS, SKILL_FILE.casefold()):
            return path.split("/")[1]
    return None


@lru_cache(maxsize=4_096)
def canonical(path: str) -> str:
    """Return the canonical spelling of a file in this table; any other path unchanged."""
    return _SPELLINGS.get("/".join(names.disguised(part) for part in path.split("/")), path)
