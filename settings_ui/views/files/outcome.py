"""What an act of the file browser brought about: a sentence, and what the memory's rules did."""

import re
from dataclasses import dataclass

from jenny.workspace.trash import Item
from memory import archive
from memory import files as memory_files
from memory.forgotten import Tombstone, tombstones
from settings_ui.views.files.frame import Desk

_RUN = re.compile(r"page:[0-9a-f]{12}")
# A file that was emptied may have left hundreds of lines; the archive lists them all.
MOST = 30


@dataclass(frozen=True)
class Traces:
    """What one act left behind: texts in the archive, and texts that are forgotten now."""

    archived: tuple[archive.Archived, ...] = ()
    forgotten: tuple[Tombstone, ...] = ()
    left_out: int = 0


def traces(desk: Desk, run: str) -> Traces:
    """What the act named *run* left behind; nothing for what names no act of these pages."""
    if not _RUN.fullmatch(run):
        return Traces()
    root = desk.files.root
    kept = [row for row in archive.listing(root) if any(event.run == run for event in row.events)]
    dead = [row for row in tombstones(root) if row.run == run]
    more = max(0, len(kept) - MOST) + max(0, len(dead) - MOST)
    return Traces(tuple(kept[:MOST]), tuple(dead[:MOST]), more)


def saved(desk: Desk, path: str) -> str:
    """What saving *path* did."""
    del desk
    known = path in memory_files.BY_PATH or memory_files.skill_of(path) is not None
    more = " Jenny reads it from the next message on." if known else ""
    return f"{path} is saved.{more}"


def moved(desk: Desk, old: str, new: str) -> str:
    """What moving a file or folder did."""
    del desk
    if old.rpartition("/")[0] == new.rpartition("/")[0]:
        return f"{old} is called {new.rpartition('/')[2]} now."
    return f"{old} is now {new}."


def thrown(desk: Desk, item: Item) -> str:
    """What deleting did."""
    goes = desk.local(item.goes_at)
    return f"{item.path} is in the trash, and stays there until {goes:%-d %B %Y}."


def before_delete(path: str) -> str:
    """What to know before deleting *path*; empty for what is nobody's but the person's."""
    file = memory_files.BY_PATH.get(path)
    if file is not None:
        return f"Jenny reads this file at every message. {file.purpose}"
    if memory_files.skill_of(path) is not None or path == memory_files.SKILLS:
        return "Jenny can do what this skill describes only as long as it is here."
    return ""
