"""Where Dream may read and write: the memory files, skills, and (to read) the archive.

A path counts by what it leads to. A link, or another spelling of a path, is refused even where it
leads to a file that Dream may write: what is asked for and what is changed are the same.
"""

import re
from pathlib import PurePosixPath

from jenny.agent.errors import ToolProblem
from jenny.workspace import names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change, Workspace
from memory import files

ARCHIVE = "memory/archive"

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SLUG_CHARS = 64
WRITABLE_WORDS = f"{', '.join(files.BY_PATH)} and skills/<slug>/SKILL.md"


def writable(workspace: Workspace, path: str) -> str:
    """The path from the workspace's folder, if Dream may write there.

    Raises:
        WriteRefused: it may not; the rule is ``protected``.
        PathRefused: no file can have that path, or it leads out.
    """
    real = _real(workspace, path)
    if is_writable(real):
        return real
    if (slug := files.skill_of(real)) is not None:
        raise WriteRefused(f"{unfit_slug(slug)} Nothing was written.", "protected")
    message = (
        f"{names.shown(real)} is not Dream's to write: it writes {WRITABLE_WORDS}, and nothing "
        "else. Nothing was written."
    )
    raise WriteRefused(message, "protected")


def is_writable(path: str) -> bool:
    """Whether Dream may write the file at this resolved path."""
    if path in files.BY_PATH:
        return True
    match path.split("/"):
        case [files.SKILLS, slug, files.SKILL_FILE]:
            return not unfit_slug(slug)
    return False


def readable(workspace: Workspace, path: str) -> str:
    """The path from the workspace's folder, if Dream may read there.

    Raises:
        ToolProblem: it may not.
        PathRefused: no file can have that path, or it leads out.
    """
    real = workspace.relative(path)
    first = real.split("/", 1)[0]
    is_fact = PurePosixPath(real).parent == PurePosixPath(ARCHIVE) and real.endswith(".md")
    if real in files.BY_PATH or (first == files.SKILLS and real != first) or is_fact:
        return real
    message = (
        f"{names.shown(real)} is not Dream's to read: it reads {', '.join(files.BY_PATH)}, skills, "
        f"and {ARCHIVE}/<file>.md."
    )
    raise ToolProblem(message)


def is_skill(path: str) -> bool:
    """Whether a resolved path is a skill's file."""
    return path not in files.BY_PATH


def unfit_slug(slug: str) -> str:
    """Why Dream may not give a skill this name, as a sentence; empty when it may."""
    shown = names.shown(slug)
    if len(slug) > _SLUG_CHARS:
        return f"{shown} is no name for a skill: it has more than {_SLUG_CHARS} characters."
    if not _SLUG.fullmatch(slug):
        return (
            f"{shown} is no name for a skill: take small letters a–z, digits, and single hyphens "
            "between them."
        )
    if why := names.unfit(slug):
        return f"{shown} is no name for a skill: it {why}."
    return ""


def guard(change: Change) -> None:
    """Refuse what Dream or a review writes elsewhere, whatever its tools let through. A write
    rule (``jenny.workspace.write_rules``).

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.is_unattended and not is_writable(change.path):
        message = f"{names.shown(change.path)} is not Dream's to write. Nothing was written."
        raise WriteRefused(message, "protected")


def _real(workspace: Workspace, path: str) -> str:
    """What the path leads to, which must be what it says."""
    real = workspace.relative(path)
    asked = PurePosixPath(path)
    if asked.is_absolute() and asked.is_relative_to(workspace.root):
        asked = asked.relative_to(workspace.root)
    if str(asked) != real:
        message = (
            f"{names.shown(path)} leads to {names.shown(real)}; Dream follows no links. Nothing "
            f"was written. It writes {WRITABLE_WORDS}."
        )
        raise WriteRefused(message, "protected")
    workspace.resolve(path, writing=True)
    return real
