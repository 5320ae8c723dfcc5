"""List a wiki's files as a tree, and build breadcrumbs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jenny.workspace import names
from wikis import pages
from wikis.index_entries import FOLDERS
from wikis.names import file_url, page_url, wiki_url
from wikis.page_index import WikiIndex

# The tree lists at most this many entries of a folder; the folder's own page lists all.
MOST_SIBLINGS = 100
LABELS = {pages.PAGES: "Pages", pages.RAW: "Sources", pages.LOG: "Log"}


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree. ``kind``: folder, page, file, or the number of further entries."""

    label: str
    href: str
    depth: int
    kind: str
    is_open: bool = False
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Child:
    """An entry of a folder. ``title`` of a page; ``count`` of files in a folder."""

    name: str
    path: str
    href: str
    kind: str
    title: str = ""
    count: int = 0
    modified: float = 0.0


def children(known: WikiIndex, folder: str) -> list[Child]:
    """List a folder of the wiki, folders first, by name."""
    prefix = f"{folder}/"
    folders: dict[str, int] = {}
    found: list[Child] = []
    for path, entry in known.entries.items():
        if not path.startswith(prefix):
            continue
        name, slash, _ = path[len(prefix) :].partition("/")
        if slash:
            folders[name] = folders.get(name, 0) + 1
        else:
            href = page_url(known.name, path)
            found.append(Child(name, path, href, "page", entry.title, modified=entry.modified))
    for path in known.files:
        if path.startswith(prefix):
            name, slash, _ = path[len(prefix) :].partition("/")
            if slash:
                folders[name] = folders.get(name, 0) + 1
            else:
                found.append(Child(name, path, file_url(known.name, path), "file"))
    inner = [
        Child(name, prefix + name, f"{page_url(known.name, prefix + name)}/", "folder",
              count=count)
        for name, count in folders.items()
    ]  # fmt: skip
    return [*sorted(inner, key=_by_name), *sorted(found, key=_by_name)]


def branches(known: WikiIndex, current: str) -> list[Branch]:
    """Return the parent folders of *current*, each with its siblings."""
    rows: list[Branch] = []
    for top in FOLDERS:
        label = LABELS[top]
        if top == pages.PAGES:
            rows += _below(known, top, current, 0)
        elif any(path.startswith(f"{top}/") for path in (*known.entries, *known.files)):
            is_open = current == top or current.startswith(f"{top}/")
            href = f"{page_url(known.name, top)}/"
            rows.append(Branch(label, href, 0, "folder", is_open, current == top))
            if is_open:
                rows += _below(known, top, current, 1)
    return rows


def _below(known: WikiIndex, folder: str, current: str, depth: int) -> Iterator[Branch]:
    rows = children(known, folder)
    shown = rows[:MOST_SIBLINGS]
    shown += [row for row in rows[MOST_SIBLINGS:] if _holds(row, current)]
    for row in shown:
        is_open = row.kind == "folder" and _holds(row, current)
        label = row.title or row.name
        yield Branch(label, row.href, depth, row.kind, is_open, row.path == current)
        if is_open:
            yield from _below(known, row.path, current, depth + 1)
    if len(rows) > len(shown):
        href = f"{page_url(known.name, folder)}/"
        yield Branch(f"{len(rows) - len(shown):,} more", href, depth, "more")


def crumbs(known: WikiIndex, path: str) -> list[tuple[str, str]]:
    """Return the breadcrumbs of *path*, itself the last: (label, address)."""
    parts = [part for part in path.split("/") if part]
    rows = [(known.title, wiki_url(known.name))]
    for end in range(len(parts)):
        inside = "/".join(parts[: end + 1])
        if inside in (pages.PAGES, pages.INDEX):
            continue
        is_last = end == len(parts) - 1
        label = LABELS.get(inside, pages.without_ending(parts[end]) if is_last else parts[end])
        if inside in known.entries:
            label = known.entries[inside].title
        href = page_url(known.name, inside) + ("" if is_last else "/")
        rows.append((label, href))
    return rows


def _holds(row: Child, current: str) -> bool:
    return current == row.path or current.startswith(f"{row.path}/")


def _by_name(row: Child) -> tuple[str, str]:
    return names.folded(row.name), row.name


def folders(known: WikiIndex) -> Iterable[str]:
    """Return the folders of pages, relative to ``wiki/``."""
    return sorted({entry.folder for entry in known.pages if entry.folder})
