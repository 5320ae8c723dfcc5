"""What is wrong with the memory files and the skills, for ``check_workspace``."""

from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import config
from jenny.workspace.check import Finding
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import files, skills, suspect
from memory.dream.prompting import guide

SETTINGS = "Settings → Memory"


def check(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing to repair)
    """Memory files that cannot be read or are too long, and broken skills."""
    settings = config.load(root)
    for file in files.MEMORY_FILES:
        yield from _text(root, file.path, settings.get(file.budget_key))
    yield from _text(root, files.INSTRUCTIONS, 0)
    yield from _text(root, files.GUIDE, guide.MAX_CHARS)
    yield from _skills(root)


def _skills(root: Path) -> Iterator[Finding]:
    """Skills that are broken, that wait for a yes, or that should be looked at."""
    waiting = {skill.path for skill in skills.waiting(root)}
    for skill in skills.listing(root):
        if skill.problem:
            sentence = f"The skill is broken and not loaded: {skill.problem}."
            yield Finding(skill.path, sentence, "Correct the file; it was left as it is.")
        if skill.path in waiting:
            sentence = "Dream wrote it to be read in every conversation; it is only listed."
            cure = (
                "Take “made-by: dream” out of its header to make it yours, or “always: true” to "
                "leave it listed."
            )
            yield Finding(skill.path, sentence, cure, "note")
        if skill.suspect:
            sentence = f"It may not be what it seems: {skill.suspect}."
            yield Finding(skill.path, sentence, "Look at the file; it was left as it is.", "note")


def _text(root: Path, path: str, bound: int) -> Iterator[Finding]:
    """A text file's state; *bound*: characters it should not exceed, 0 for none."""
    try:
        text = open_workspace(root, Actor("command")).read(path).text
    except FileMissing:
        return
    except WorkspaceError as error:
        yield Finding(path, error.sentence, "Put a readable text file in its place.")
        return
    if found := suspect.invisible(text):
        sentence = f"It holds invisible characters ({found}), which Jenny reads all the same."
        yield Finding(path, sentence, "Look at the file in an editor that shows them.", "note")
    if bound and len(text) > bound:
        sentence = f"It has {len(text):,} characters, {len(text) - bound:,} over its {bound:,}."
        cure = f"Shorten it, or raise its budget in {SETTINGS}."
        if path == files.GUIDE:
            cure = "Shorten it; what is beyond is cut."
        yield Finding(path, sentence, cure, "note")
