"""Template context of every page of the file browser: breadcrumbs and folder tree."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from jenny.accounts.services.workspace_context import (
    WorkspaceContext,
    WorkspaceErrorPage,
    get_workspace_context,
)
from jenny.workspace import files
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Entry
from settings_ui.browsing import folders

__all__ = [
    "Branch",
    "Row",
    "WorkspaceContext",
    "address",
    "base_context",
    "get_workspace_context",
    "rows",
    "workspace_error_page",
]

TREE_FOLDERS = 100
workspace_error_page = WorkspaceErrorPage("files/problem.html")


@dataclass(frozen=True)
class Row:
    entry: Entry
    href: str
    changed: datetime
    purpose: str
    is_hidden: bool


@dataclass(frozen=True)
class Branch:
    """A folder of the tree. ``depth`` starts at 0; *is_open*: its subfolders are shown."""

    name: str
    href: str
    depth: int
    is_open: bool
    is_current: bool


def address(path: str, page: str = "workspace") -> str:
    """Return the address of a path, or of another *page* about it (``files/edit`` …)."""
    end = "" if page == "workspace" or not path else "/"
    return f"/{page}/{quote(path)}{end}"


def rows(ctx: WorkspaceContext, entries: tuple[Entry, ...]) -> list[Row]:
    return [
        Row(
            entry,
            address(entry.path),
            ctx.local(entry.modified),
            folders.PURPOSES.get(entry.path, ""),
            files.is_hidden(entry.path),
        )
        for entry in entries
    ]


def base_context(ctx: WorkspaceContext, path: str, *, is_folder: bool) -> dict[str, Any]:
    folder = path if is_folder else path.rpartition("/")[0]
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "purpose": folders.PURPOSES.get(path, ""),
        "crumbs": [(name, address(at)) for name, at in folders.crumbs(path)],
        "tree": list(_tree(ctx, folder)),
        "up": address(path.rpartition("/")[0]),
        "links": {
            page: address(path, f"files/{page}")
            for page in ("edit", "raw", "download", "history", "move", "copy", "delete", "new")
        }
        | {"upload": address(path, "files/upload")},
    }


def _tree(ctx: WorkspaceContext, current: str, at: str = "", depth: int = 0) -> Any:
    try:
        entries = ctx.files.list(at)
    except WorkspaceError:
        return
    shown = [
        entry
        for entry in entries
        if entry.kind == "folder"
        and (ctx.account.developer_mode or not files.is_hidden(entry.path))
    ]
    for entry in shown[:TREE_FOLDERS]:
        is_open = current == entry.path or current.startswith(f"{entry.path}/")
        yield Branch(entry.name, address(entry.path), depth, is_open, current == entry.path)
        if is_open:
            yield from _tree(ctx, current, entry.path, depth + 1)
