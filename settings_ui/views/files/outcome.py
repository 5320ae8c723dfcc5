"""What an act of the file browser brought about, in a sentence."""

from jenny.workspace.trash import Item
from memory import files as memory_files
from settings_ui.views.files.frame import Desk


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
