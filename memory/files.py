"""The memory files: one table that everything about them is read from."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jenny.workspace import names


@dataclass(frozen=True)
class MemoryFile:
    """A file that holds what Jenny remembers.

    ``name`` is what code and tables call it, ``title`` what pages do. ``budget_key`` is the setting
    that bounds what Dream writes to it. ``template`` is the path of the text it begins with
    (``jenny.workspace.seed``). ``archived``: what leaves it is kept under ``memory/archive``.
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
        purpose="What stays true about the person: identity, preferences, ways of speaking.",
        budget_key="agents.defaults.dream.userBudgetChars",
        template="USER.md",
        archived=True,
    ),
    MemoryFile(
        name="soul",
        title="SOUL.md",
        path="SOUL.md",
        purpose="How Jenny speaks and behaves.",
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

# What versions are kept of (``jenny.workspace.versions.tracked``) is exactly what Dream can write,
# with its cursor and guide: a test holds the two tables against each other.
_SPELLINGS = {names.disguised(path): path for path in (*BY_PATH, CURSOR, GUIDE, INSTRUCTIONS)}


def memory_file(root: Path, path: str) -> MemoryFile | None:
    """The memory file at *path* of the workspace in the real folder *root*, also where the file's
    own name is a link that leads there."""
    if (found := BY_PATH.get(path)) is not None:
        return found
    if is_book(path):
        return None
    for file in MEMORY_FILES:
        named = root / file.path
        if named.is_symlink() and os.path.realpath(named) == str(root / path):
            return file
    return None


def is_book(path: str) -> bool:
    """Whether it is one of the pipeline's own books: the history, the cursors, what was
    forgotten and pinned."""
    return path == HISTORY or path.startswith("memory/.")


@lru_cache(maxsize=4_096)
def skill_of(path: str) -> str | None:
    """The folder of the skill whose ``SKILL.md`` this is, in any spelling; else ``None``."""
    match [names.disguised(part) for part in path.split("/")]:
        case [folder, _, file] if (folder, file) == (SKILLS, SKILL_FILE.casefold()):
            return path.split("/")[1]
    return None


@lru_cache(maxsize=4_096)
def canonical(path: str) -> str:
    """The one right spelling of a file that this table knows; any other path as it is."""
    return _SPELLINGS.get("/".join(names.disguised(part) for part in path.split("/")), path)
