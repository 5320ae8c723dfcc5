"""Report problems of a wiki in words, with the cure; nothing is changed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from jenny.text_normalisation import fold_accents
from jenny.workspace.file_cache import Kept
from wikis import names, pages, wikis_block
from wikis.index_entries import Entry
from wikis.page_index import Index, Relations, WikiIndex, read_relations

type Kind = Literal[
    "scope", "unreadable", "header", "dead", "unclear", "wanted", "orphan", "unindexed", "duplicate"
]
# Display names of the kinds, in the order of the page.
KINDS: dict[Kind, str] = {
    "scope": "No scope",
    "unreadable": "Unreadable files",
    "header": "Headers that are not understood",
    "dead": "Dead links",
    "unclear": "Links that may mean several pages",
    "wanted": "Wanted pages",
    "orphan": "Orphans",
    "unindexed": "Pages that are not in the index",
    "duplicate": "Duplicates",
}
WANTED = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem.

    ``path`` from the wiki's folder; ``target``: the target of the link; ``pages``: other pages that
    it is about.
    """

    kind: Kind
    path: str
    message: str
    target: str = ""
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All findings of a wiki, and the number of pages checked."""

    name: str
    looked_at: int
    findings: tuple[Finding, ...]

    def by_kind(self) -> list[tuple[Kind, str, list[Finding]]]:
        """Return the kinds with findings, with their names."""
        table: dict[Kind, list[Finding]] = defaultdict(list)
        for finding in self.findings:
            table[finding.kind].append(finding)
        return [(kind, label, table[kind]) for kind, label in KINDS.items() if table[kind]]


# Findings stay valid while the wiki's references are the same.
_KEPT: Kept[tuple[Relations, tuple[Finding, ...]]] = Kept(8)


def lint(index: Index, known: WikiIndex) -> Report:
    found = read_relations(index, known)
    key = f"{index.root}\0{known.name}"
    kept = _KEPT.get(key)
    if kept is None or kept[0] is not found:
        rows = (
            *_unreadable(known),
            *_links(found),
            *_wanted(found),
            *_lonely(found),
            *_duplicates(known.pages),
        )
        kept = found, rows
        _KEPT.put(key, kept)
    return Report(known.name, len(known.pages), (*_scope(index, known), *kept[1]))


def _scope(index: Index, known: WikiIndex) -> Iterator[Finding]:
    wiki = next((one for one in wikis_block.listing(index.root) if one.name == known.name), None)
    if wiki is not None and wiki.problem:
        yield Finding("header", pages.GUIDE, wiki.problem)
    if wiki is None or not wiki.scope:
        yield Finding(
            "scope",
            pages.GUIDE,
            "AGENTS.md has no summary. One line there tells you and Jenny what the wiki is about.",
        )
    if pages.INDEX not in known.entries:
        yield Finding("scope", pages.INDEX, "There is no wiki/index.md, which would lead the way.")


def _unreadable(known: WikiIndex) -> Iterator[Finding]:
    for entry in known.entries.values():
        if entry.problem:
            yield Finding("unreadable", entry.path, entry.problem)
        if entry.header_problem:
            message = f"Its {entry.header_problem}. The page is shown without it."
            yield Finding("header", entry.path, message)
    for message in known.left_out:
        yield Finding("unreadable", "", message)


def _links(found: Relations) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for row in found.doubtful:
        named = f"{row.link.wiki}:{row.link.target}" if row.link.wiki else row.link.target
        if (row.source, named) in seen:
            continue
        seen.add((row.source, named))
        if row.target.candidates:
            message = f"“{named}” is the name of {len(row.target.candidates)} pages. " + (
                "The nearest one is opened; write the path to be sure."
                if row.target.path
                else "Write the path."
            )
            yield Finding("unclear", row.source, message, named, row.target.candidates)
        elif row.link.wiki and not row.wiki:
            message = f"There is neither a wiki “{row.link.wiki}” nor a page “{named}”."
            yield Finding("dead", row.source, message, named)
        else:
            what = "file" if row.link.kind == "near" and _is_file(row.link.target) else "page"
            yield Finding("dead", row.source, f"There is no {what} “{named}”.", named)


def _is_file(target: str) -> bool:
    return bool(PurePosixPath(target).suffix) and not pages.is_page(target)


def _wanted(found: Relations) -> Iterator[Finding]:
    """Yield missing pages that several others link to."""
    table: dict[str, tuple[str, dict[str, None]]] = {}
    for row in found.doubtful:
        if (
            row.target.candidates
            or row.link.kind != "wiki"
            or row.wiki not in ("", found.known.name)
        ):
            continue
        named = f"{row.link.wiki}:{row.link.target}" if row.link.wiki else row.link.target
        table.setdefault(names.slug(named), (named, {}))[1][row.source] = None
    for named, sources in sorted(table.values(), key=lambda one: (-len(one[1]), one[0])):
        if len(sources) >= WANTED:
            message = f"{len(sources)} pages link to “{named}”, which nobody has written yet."
            yield Finding("wanted", "", message, named, tuple(sources))


def _lonely(found: Relations) -> Iterator[Finding]:
    indexed: set[str] = set()
    indexes = [entry.path for entry in found.known.pages if _is_index(entry)]
    for path in indexes:
        indexed |= set(found.outgoing.get(path, ()))
    for entry in found.known.pages:
        if entry.path == pages.INDEX:
            continue
        if entry.path not in found.incoming:
            yield Finding("orphan", entry.path, "No page links here.")
        if indexes and entry.path not in indexed:
            yield Finding("unindexed", entry.path, "No index page links here.")


def _is_index(entry: Entry) -> bool:
    return entry.path.rpartition("/")[2].lower() == "index.md"


def _duplicates(entries: Iterable[Entry]) -> Iterator[Finding]:
    """Yield pages with the same text, or the same title."""
    by_text: dict[str, list[Entry]] = defaultdict(list)
    by_title: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_text[entry.digest].append(entry)
        if not _is_index(entry):
            by_title[fold_accents(entry.title)].append(entry)
    reported: set[frozenset[str]] = set()
    for rows, what in ((by_text, "text"), (by_title, "title")):
        for group in rows.values():
            same = frozenset(entry.path for entry in group)
            if len(group) < 2 or same in reported:  # noqa: PLR2004  (two are a pair)
                continue
            if what == "text" and not group[0].words:
                continue
            reported.add(same)
            paths = tuple(sorted(same))
            message = f"{len(paths)} pages have the same {what}."
            yield Finding("duplicate", paths[0], message, "", paths[1:])
