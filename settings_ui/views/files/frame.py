"""What every page of the file browser shows around it: the way there, and the tree."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from jenny.accounts.management.desks import Desk, Told, desk
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.listing import Entry
from memory import files as memory_files
from settings_ui.browsing import folders

__all__ = ["Branch", "Desk", "Row", "address", "desk", "frame", "rows", "told"]

TREE_FOLDERS = 100
told = Told("files/problem.html")


@dataclass(frozen=True)
class Row:
    """A file or folder as a list shows it."""

    entry: Entry
    href: str
    changed: datetime
    purpose: str
    is_hidden: bool


@dataclass(frozen=True)
class Branch:
    """A folder of the tree. ``depth`` from 0; *is_open*: its folders are listed below it."""

    name: str
    href: str
    depth: int
    is_open: bool
    is_current: bool


def address(path: str, page: str = "workspace") -> str:
    """Where a path is looked at, or what *page* (``files/edit`` …) does with it."""
    end = "" if page == "workspace" or not path else "/"
    return f"/{page}/{quote(path)}{end}"


def rows(desk: Desk, entries: tuple[Entry, ...]) -> list[Row]:
    """Entries as a list shows them."""
    known = memory_files.BY_PATH
    return [
        Row(
            entry,
            address(entry.path),
            desk.local(entry.modified),
            known[entry.path].purpose if entry.path in known else "",
            folders.is_hidden(entry.path),
        )
        for entry in entries
    ]


def frame(desk: Desk, path: str, *, is_folder: bool) -> dict[str, Any]:
    """What every page about *path* shows around it: the way there, and the tree."""
    folder = path if is_folder else path.rpartition("/")[0]
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "crumbs": [(name, address(at)) for name, at in folders.crumbs(path)],
        "tree": list(_tree(desk, folder)),
        "up": address(path.rpartition("/")[0]),
        "links": {
            page: address(path, f"files/{page}")
            for page in ("edit", "raw", "download", "history", "move", "copy", "delete", "new")
        }
        | {"upload": address(path, "files/upload")},
    }


def _tree(desk: Desk, current: str, at: str = "", depth: int = 0) -> Any:
    """The folders on the way to *current*, each with its neighbours."""
    try:
        entries = desk.files.list(at)
    except WorkspaceError:
        return
    shown = [
        entry
        for entry in entries
        if entry.kind == "folder"
        and (desk.account.developer_mode or not folders.is_hidden(entry.path))
    ]
    for entry in shown[:TREE_FOLDERS]:
        is_open = current == entry.path or current.startswith(f"{entry.path}/")
        yield Branch(entry.name, address(entry.path), depth, is_open, current == entry.path)
        if is_open:
            yield from _tree(desk, current, entry.path, depth + 1)
