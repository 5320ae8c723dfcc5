"""What a folder's page lists: hidden things, filter, order, pages of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jenny.workspace import names
from jenny.workspace.listing import Entry

PAGE = 200
type Order = Literal["name", "size", "changed"]
ORDERS: tuple[Order, ...] = ("name", "size", "changed")

# Folders at the top that older versions and other programs keep their own books in.
_HIDDEN_FOLDERS = frozenset({"agent", "cron", "sessions", "ui"})


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a folder. *total*: entries that pass the filter; *hidden*: those left out
    because they are hidden; *number* and *count*: which page of how many."""

    entries: tuple[Entry, ...]
    total: int
    hidden: int
    number: int
    count: int


def is_hidden(path: str) -> bool:
    """Whether the browser leaves this out of its lists, unless in developer mode.

    It only hides: who knows the address may look at it all the same.
    """
    first = path.partition("/")[0]
    if any(part.startswith(".") for part in path.split("/")):
        return True
    if names.is_settings(path):
        return True
    return names.folded(first) in _HIDDEN_FOLDERS


def is_book(path: str) -> bool:
    """Whether it is one of the pipeline's own books, which pages show and nobody edits."""
    plain = "/".join(names.disguised(part) for part in path.split("/"))
    return plain == "memory/history.jsonl" or plain.startswith("memory/.")


def page_of(
    entries: Sequence[Entry],
    *,
    words: str = "",
    order: Order = "name",
    number: int = 1,
    shows_hidden: bool = False,
) -> Page:
    """A page of what is in a folder: without hidden things, with every word of *words* in its
    name, folders first."""
    listed = [entry for entry in entries if shows_hidden or not is_hidden(entry.path)]
    hidden = len(entries) - len(listed)
    if wanted := names.folded(words).split():
        listed = [row for row in listed if all(word in names.folded(row.name) for word in wanted)]
    if order == "size":
        listed.sort(key=lambda row: (row.kind != "folder", -row.size, row.name))
    elif order == "changed":
        listed.sort(key=lambda row: (row.kind != "folder", -row.modified, row.name))
    else:
        listed.sort(key=lambda row: (row.kind != "folder", names.folded(row.name), row.name))
    count = max(1, -(-len(listed) // PAGE))
    number = min(max(1, number), count)
    start = (number - 1) * PAGE
    return Page(tuple(listed[start : start + PAGE]), len(listed), hidden, number, count)


def crumbs(path: str) -> list[tuple[str, str]]:
    """The folders on the way to *path*, itself the last: (name, path)."""
    parts = [part for part in path.split("/") if part]
    return [(part, "/".join(parts[: end + 1])) for end, part in enumerate(parts)]
