"""Which entries of a batch say nothing that the files do not say already."""

from collections.abc import Iterator
from pathlib import Path

from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.rules import Actor
from memory import facts, files, near
from memory.dream.values import Batch, BatchEntry
from memory.history import marks


def in_files(root: Path, batch: Batch) -> frozenset[int]:
    """Entries of which every fact to be kept stands in a memory file or a skill, in these or
    nearly these words."""
    tagged = [(row.cursor, list(_facts(row))) for row in batch.entries]
    if not any(found for _, found in tagged):
        return frozenset()
    index = near.Index(_stated(root))
    return frozenset(
        cursor
        for cursor, found in tagged
        if found and all(index.find(fact) is not None for fact in found)
    )


def _facts(row: BatchEntry) -> Iterator[str]:
    for line in row.text.split("\n"):
        mark = marks.mark_of(line)
        if mark in marks.KEPT_MARKS:
            yield line.partition("]")[2].strip(" *_`:")


def _stated(root: Path) -> Iterator[str]:
    """Each fact in the files, and each of its sentences."""
    workspace = open_workspace(root, Actor("pipeline"))
    for path in (*files.BY_PATH, *_skills(workspace)):
        try:
            data = workspace.read(path).data
        except WorkspaceError:
            continue
        for fact in facts.stated(data):
            yield fact.text
            yield from facts.units(fact)


def _skills(workspace: Workspace) -> list[str]:
    try:
        found = workspace.list(files.SKILLS)
    except WorkspaceError:
        return []
    return [f"{row.path}/{files.SKILL_FILE}" for row in found if row.kind == "folder"]
