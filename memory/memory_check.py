"""Findings about the memory files and the skills, for ``check_workspace``."""

from collections.abc import Iterator
from pathlib import Path

from jenny.workspace import config, seed
from jenny.workspace.check import Finding
from jenny.workspace.content import read_text
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import artifacts, files, injection_scan, skills
from memory.dream.prompts import guide

SETTINGS = "Settings → Memory updates"


def check_memory(root: Path, *, repair: bool) -> Iterator[Finding]:  # noqa: ARG001  (nothing to repair)
    settings = config.load_config(root)
    for file in files.MEMORY_FILES:
        yield from _text(root, file.path, settings.get(file.budget_key))
        yield from _lines(root, file.path)
    yield from _text(root, files.INSTRUCTIONS, 0)
    yield from _text(root, files.GUIDE, guide.MAX_CHARS)
    yield from _skills(root)


def _skills(root: Path) -> Iterator[Finding]:
    """Yield skills that are broken, wait for approval, or should be reviewed."""
    waiting = {skill.path for skill in skills.waiting(root)}
    for skill in skills.listing(root):
        if not skill.ships:
            yield from _lines(root, skill.path)
        if skill.problem:
            message = f"The skill is broken and not loaded: {skill.problem}."
            yield Finding(skill.path, message, "Correct the file; it was left as it is.")
        if skill.path in waiting:
            message = "Dream wrote it to be read in every conversation; it is only listed."
            cure = (
                "Take “made-by: dream” out of its header to make it yours, or “always: true” to "
                "leave it listed."
            )
            yield Finding(skill.path, message, cure, "note")
        if skill.suspect:
            message = f"It may not be what it seems: {skill.suspect}."
            yield Finding(skill.path, message, "Look at the file; it was left as it is.", "note")


def _lines(root: Path, path: str) -> Iterator[Finding]:
    """Yield lines that repeat the record or read like instructions to a model, and empty
    headings."""
    found = read_text(root, path)
    look = "Look at the file; it was left as it is."
    for number, what in artifacts.list_artifacts(found.text):
        yield Finding(path, f"Line {number} holds {what}.", f"Take it out. {look}", "note")
    if not path.endswith(files.SKILL_FILE):
        for number, line in enumerate(found.text.split("\n"), 1):
            if what := injection_scan.orders(line):
                message = f"Line {number} may not be what it seems: {what}."
                yield Finding(path, message, look, "note")
    if not seed.is_untouched(path, found.data):
        default = seed.template_lines(path)
        for number, title in artifacts.list_empty_headings(found.text):
            if not any(line.strip("# ") == title for line in default):
                message = f"Nothing stands below the heading “{title}” (line {number})."
                yield Finding(path, message, "Take it out, or leave it.", "note")


def _text(root: Path, path: str, bound: int) -> Iterator[Finding]:
    """Check a text file; *bound* is its limit in characters, 0 for none."""
    try:
        text = open_workspace(root, Actor("command")).read(path).text
    except FileMissing:
        return
    except WorkspaceError as error:
        yield Finding(path, error.message, "Put a readable text file in its place.")
        return
    if found := injection_scan.invisible(text):
        message = f"It holds invisible characters ({found}), which Jenny reads all the same."
        yield Finding(path, message, "Look at the file in an editor that shows them.", "note")
    if bound and len(text) > bound:
        message = f"It has {len(text):,} characters, {len(text) - bound:,} over its {bound:,}."
        cure = f"Shorten it, or raise its budget in {SETTINGS}."
        if path == files.GUIDE:
            cure = "Shorten it; what is beyond is cut."
        yield Finding(path, message, cure, "note")
