"""Folder pages: hidden entries, filter, order and pagination."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jenny.workspace import names
from jenny.workspace.files import Entry, is_hidden

PAGE = 200
# What the files and folders of every workspace are for, in a person's words.
PURPOSES = {
    "AGENTS.md": "How Jenny is to work: your standing instructions, read in every chat.",
    "SOUL.md": "Who Jenny is: her character and her voice.",
    "USER.md": "What stays true about you: who you are, your habits, how you like to be answered.",
    "config.json": "The settings. Change them in Settings.",
    "memory": "What Jenny knows, her notes of what was said, and the archive.",
    "memory/MEMORY.md": "What stays true about your work: projects, decisions, open questions.",
    "memory/archive": "What left the memory files. Memory → Archive brings it back.",
    "memory/history.jsonl": "Notes of what was said, until Dream has read them.",
    "output": "What Jenny writes for you: notes, lists, drafts.",
    "prompts": "Your own instructions for Dream, the nightly clean-up of memory.",
    "prompts/dream.md": "Your own instructions for Dream, in place of the built-in ones.",
    "skills": "Ways of doing something that Jenny has learnt, a folder each.",
    "wikis": "Your wikis, a folder of pages each.",
}
type Order = Literal["name", "size", "changed"]
ORDERS: tuple[Order, ...] = ("name", "size", "changed")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a folder.

    *total* counts the entries that pass the filter, *hidden* those that are left out as hidden.
    *number* of *count* is the page.
    """

    entries: tuple[Entry, ...]
    total: int
    hidden: int
    number: int
    count: int


def is_managed_file(path: str) -> bool:
    """True for files that the memory pipeline maintains; pages show them and nobody edits them."""
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
    """Return a page of a folder without hidden entries, filtered by name, folders first.

    An entry passes when its name contains every word of *words*.
    """
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
    """List (name, path) of the folders from the top down to *path*."""
    parts = [part for part in path.split("/") if part]
    return [(part, "/".join(parts[: end + 1])) for end, part in enumerate(parts)]
