"""What is wrong with a wiki, in words, with the cure; nothing here changes anything."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from jenny.workspace.stamped import Kept
from wikis import listing, names, pages
from wikis.index.entries import Entry
from wikis.index.known import Index, Known
from wikis.index.relations import Relations, relations

type Kind = Literal[
    "scope", "unreadable", "header", "dead", "unclear", "wanted", "orphan", "unindexed", "duplicate"
]
# What each is called on the page, in the order they are shown.
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
    """One thing to put right. ``path`` from the wiki's folder; ``target``: what a link names;
    ``pages``: others that it is about."""

    kind: Kind
    path: str
    sentence: str
    target: str = ""
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All findings of a wiki, and how many pages were looked at."""

    name: str
    looked_at: int
    findings: tuple[Finding, ...]

    def by_kind(self) -> list[tuple[Kind, str, list[Finding]]]:
        """Kinds that there are findings of, with their names."""
        table: dict[Kind, list[Finding]] = defaultdict(list)
        for finding in self.findings:
            table[finding.kind].append(finding)
        return [(kind, label, table[kind]) for kind, label in KINDS.items() if table[kind]]


# What was found is so for as long as the wiki's references are the same.
_KEPT: Kept[tuple[Relations, tuple[Finding, ...]]] = Kept(8)


def lint(index: Index, known: Known) -> Report:
    """Everything that is wrong with the wiki as it is known."""
    found = relations(index, known)
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


def _scope(index: Index, known: Known) -> Iterator[Finding]:
    wiki = next((one for one in listing.listing(index.root) if one.name == known.name), None)
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


def _unreadable(known: Known) -> Iterator[Finding]:
    for entry in known.entries.values():
        if entry.problem:
            yield Finding("unreadable", entry.path, entry.problem)
        if entry.header_problem:
            sentence = f"Its {entry.header_problem}. The page is shown without it."
            yield Finding("header", entry.path, sentence)
    for sentence in known.left_out:
        yield Finding("unreadable", "", sentence)


def _links(found: Relations) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for row in found.dead:
        named = f"{row.link.wiki}:{row.link.target}" if row.link.wiki else row.link.target
        if (row.source, named) in seen:
            continue
        seen.add((row.source, named))
        if row.target.candidates:
            sentence = (
                f"“{named}” is the name of {len(row.target.candidates)} pages. Write the path."
            )
            yield Finding("unclear", row.source, sentence, named, row.target.candidates)
        elif row.link.wiki and not row.wiki:
            sentence = f"There is neither a wiki “{row.link.wiki}” nor a page “{named}”."
            yield Finding("dead", row.source, sentence, named)
        else:
            yield Finding("dead", row.source, f"There is no page “{named}”.", named)


def _wanted(found: Relations) -> Iterator[Finding]:
    """Pages that several others link to and that nobody has written."""
    table: dict[str, tuple[str, dict[str, None]]] = {}
    for row in found.dead:
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
            sentence = f"{len(sources)} pages link to “{named}”, which nobody has written yet."
            yield Finding("wanted", "", sentence, named, tuple(sources))


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
    """Pages with the same text, or the same title."""
    by_text: dict[str, list[Entry]] = defaultdict(list)
    by_title: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_text[entry.digest].append(entry)
        if not _is_index(entry):
            by_title[names.plain(entry.title)].append(entry)
    told: set[frozenset[str]] = set()
    for rows, what in ((by_text, "text"), (by_title, "title")):
        for group in rows.values():
            same = frozenset(entry.path for entry in group)
            if len(group) < 2 or same in told:  # noqa: PLR2004  (two are a pair)
                continue
            if what == "text" and not group[0].words:
                continue
            told.add(same)
            paths = tuple(sorted(same))
            sentence = f"{len(paths)} pages have the same {what}."
            yield Finding("duplicate", paths[0], sentence, "", paths[1:])
