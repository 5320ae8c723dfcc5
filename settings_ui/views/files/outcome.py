"""Result of an action of the file browser: a sentence, and the effects of the memory's rules."""

import re
from dataclasses import dataclass

from jenny.workspace.trash import Item
from memory import archive
from memory import files as memory_files
from memory.suppression import Tombstone, list_tombstones
from settings_ui.browsing import folders
from settings_ui.views.files.base_context import WorkspaceContext
from wikis.page_rename import Moved

_RUN = re.compile(r"page:[0-9a-f]{12}")
# A file that was emptied may have left hundreds of lines; the archive lists them all.
MOST = 30


@dataclass(frozen=True)
class Traces:
    """Effects of one write: archived texts, and texts that are forgotten now."""

    archived: tuple[archive.Archived, ...] = ()
    forgotten: tuple[Tombstone, ...] = ()
    left_out: int = 0


def traces(ctx: WorkspaceContext, run: str) -> Traces:
    """Return the effects of the write named *run*; none for names that are not of these pages."""
    if not _RUN.fullmatch(run):
        return Traces()
    root = ctx.files.root
    kept = archive.removed_by(root, {run})
    dead = [row for row in list_tombstones(root) if row.run == run]
    more = max(0, len(kept) - MOST) + max(0, len(dead) - MOST)
    return Traces(kept[:MOST], tuple(dead[:MOST]), more)


def saved(ctx: WorkspaceContext, path: str) -> str:
    del ctx
    known = path in memory_files.BY_PATH or memory_files.skill_of(path) is not None
    more = " Jenny reads it from the next message on." if known else ""
    return f"{path} is saved.{more}"


def moved(old: str, done: Moved) -> str:
    new, count = done.path, done.links
    is_renamed = old.rpartition("/")[0] == new.rpartition("/")[0]
    said = f"called {new.rpartition('/')[2]} now" if is_renamed else f"now {new}"
    links = f" {count:,} link{'' if count == 1 else 's'} changed with it." if count else ""
    return f"{old} is {said}.{links}"


def thrown(ctx: WorkspaceContext, item: Item) -> str:
    goes = ctx.local(item.purge_at)
    return f"{item.path} is in the trash, and stays there until {goes:%-d %B %Y}."


def before_delete(path: str) -> str:
    """Return a warning to show before *path* is deleted; empty for ordinary files."""
    if path in memory_files.BY_PATH:
        return f"Jenny reads this file at every message. {folders.PURPOSES[path]}"
    if memory_files.skill_of(path) is not None or path == memory_files.SKILLS:
        return "Jenny can do what this skill describes only as long as it is here."
    return ""
