"""Find the links of a page, and resolve their words to pages.

The text is parsed by the renderer's parser (``jenny.markdown.links``), so that both agree on what
is a link. In a header, ``[[page]]`` in any value is a link, too.

Words are resolved in this order: exact → the folder's index → with ``.md`` → other case, accents,
spaces and dashes → the end of a path, in any folder → an alias. A link with a name that several
pages have leads to the one nearest to its page.
"""

import os
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from jenny.markdown import front_matter
from jenny.markdown.comments import blank_comments
from jenny.markdown.link_context import Heading
from jenny.markdown.links import FoundLink, Scan, scan
from jenny.markdown.render import normalise_text
from jenny.text_normalisation import canonical
from jenny.workspace import names as file_names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.write_rules import Change
from wikis import names, pages

MOST_LINKS = 5_000

_WIKI = re.compile(r"\[\[([^\[\]\n]{1,400})\]\]")
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/#?]|\Z")
_YAML_COMMENT = re.compile(r"(?:^|[ \t])#.*", re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_LINK_OR_HEADING = re.compile(r"\[|#|\n[ >]*(?:=|-)")


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a text.

    ``start`` and ``end``: the position of the target's name, in characters; ``wiki``: the name of
    another wiki before a colon. A ``near`` one is Markdown's own, relative to the page; the others
    are relative to the wiki's ``wiki/``.
    """

    kind: Literal["wiki", "near"]
    start: int
    end: int
    target: str
    anchor: str = ""
    label: str = ""
    wiki: str = ""


@dataclass(frozen=True, slots=True)
class PageLinks:
    links: tuple[Link, ...]
    headings: tuple[Heading, ...]


def parse_target(inner: str) -> Link:
    """Parse ``[[inner]]``. A bar may be escaped, as it must be in a table."""
    named, _, label = inner.replace("\\|", "|").partition("|")
    target, _, anchor = named.partition("#")
    wiki = ""
    if ":" in target:
        wiki, _, target = target.partition(":")
    return Link("wiki", 0, 0, target.strip(), anchor.strip(), label.strip(), wiki.strip())


def parse_address(address: str) -> Link | None:
    """Parse the relative address of a Markdown link.

    Returns ``None`` for one with a scheme, a rooted one, and one that names no file.
    """
    if _ELSEWHERE.match(address):
        return None
    target, _, anchor = address.partition("#")
    return Link("near", 0, 0, unquote(target.partition("?")[0]), unquote(anchor))


def find_links(text: str) -> tuple[Link, ...]:
    """Return the links of a page's whole *text*, including its header, in order."""
    return read_links(text).links


def read_links(text: str) -> PageLinks:
    """Return the links and headings of a page's whole *text*."""
    plain = normalise_text(text)
    header = front_matter.read_front_matter(plain)
    start = len(plain) - len(header.body)
    found = (
        scan(blank_comments(header.body, is_page=True))
        if _LINK_OR_HEADING.search(header.body)
        else Scan((), ())
    )
    links = [*_header_links(plain[:start]), *_body_links(found.links, start)][:MOST_LINKS]
    if "\r\n" in text:
        # The positions of removed carriage returns, in the text without them.
        left_out = [at.start() - number for number, at in enumerate(re.finditer("\r\n", text))]
        links = [
            replace(
                link,
                start=link.start + bisect_right(left_out, link.start - 1),
                end=link.end + bisect_right(left_out, link.end - 1),
            )
            for link in links
        ]
    return PageLinks(tuple(links), found.headings)


def _body_links(found: tuple[FoundLink, ...], offset: int) -> Iterator[Link]:
    for one in found:
        link = parse_target(one.inner) if one.inner else parse_address(one.address)
        if link is not None and (link.target or link.anchor or link.wiki):
            yield replace(link, start=one.start + offset, end=one.end + offset)


def _header_links(header: str) -> Iterator[Link]:
    """Yield the wiki links in the values of a header; comments contain none."""
    if "[[" not in header or len(header) > front_matter.MAX_CHARS:
        return
    # A quoted # begins no comment.
    masked = _QUOTED.sub(lambda found: found[0].replace("#", "x"), header)
    comments = [found.span() for found in _YAML_COMMENT.finditer(masked)]
    for found in _WIKI.finditer(header):
        if any(first <= found.start() < end for first, end in comments):
            continue
        link = parse_target(found[1])
        if link.target or link.anchor or link.wiki:
            end = found.start(1) + len(found[1].replace("\\|", "|").partition("|")[0])
            yield replace(link, start=found.start(1), end=end)


MOST_CANDIDATES = 20
_PREFIX = f"{pages.PAGES}/"
# Characters that would end a wiki link, or the header's value around it.
_UNFIT = re.compile(r"[\[\]|#\"'\\]|^\s|\s$")


@dataclass(frozen=True, slots=True)
class Target:
    """The result of resolving a link.

    ``path`` from the wiki's folder, of an ambiguous name that of the nearest page; ``candidates``:
    all pages of an ambiguous name. Neither when there is no such page.
    """

    path: str = ""
    candidates: tuple[str, ...] = ()


NOWHERE = Target()


class Resolver:
    """The pages (and other files) of one wiki, by every form in which a link may name them."""

    def __init__(
        self, paths: Iterable[str], aliases: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """*paths* from the wiki's folder; *aliases*: other names of pages, by their path."""
        self.paths = frozenset(paths)
        self.aliases = aliases or {}
        self._choices: dict[tuple[str, str], _Choice] = {}

    def resolve(self, link: Link, source: str = "") -> Target:
        """Return the target of *link* in the page *source*. A wiki in the link is ignored."""
        if link.kind == "near":
            return self._near(link.target, source)
        return self.named(link.target, source) if link.target else Target(source)

    def named(self, target: str, source: str = "") -> Target:
        """Return the page or file that *target* names, seen from the page *source*.

        Without a source, an ambiguous name has no nearest page, and a page of the top folder goes
        before others of its name.
        """
        plain = target.strip().strip("/").removeprefix(_PREFIX)
        if not plain:
            return NOWHERE
        # A name without a folder is that of the nearest page; only an index is the wiki's own.
        is_bare = bool(source) and "/" not in target.strip()
        is_bare = is_bare and pages.without_ending(plain).lower() != "index"
        is_elsewhere = plain.partition("/")[0] in _OTHER_FOLDERS
        written = [_PREFIX + way for way in (plain, f"{plain}/index.md", f"{plain}.md")]
        written += [plain, f"{plain}.md"] if is_elsewhere else []
        for path in written:
            if found := self.exact(path):
                is_named = is_bare and pages.is_page(found) and found.count("/") == 1
                return self._nearest("file", found, source) if is_named else Target(found)
        slug = names.slug(pages.without_ending(plain))
        if not slug:
            return NOWHERE
        kind = "name" if is_bare else "path"
        found_pages = self._nearest(kind, slug, source)
        if found_pages is not NOWHERE:
            return found_pages
        return self._nearest("other", canonical(plain).casefold(), source)

    def _nearest(self, kind: str, name: str, source: str) -> Target:
        choice = self._choices.get((kind, name)) or _Choice(self._candidates(kind, name))
        if choice.is_open:
            self._choices[kind, name] = choice
        return choice.nearest(source)

    def _candidates(self, kind: str, name: str) -> tuple[str, ...]:
        """Return what *name* may mean: a page of the top folder by its path, a page by a slug
        without folders (``name``) or with them (``path``), or a file that is no page."""
        if kind == "other":
            return self._file_endings.get(name, ())
        if kind == "file":
            stem = names.slug(pages.without_ending(name.removeprefix(_PREFIX)))
            own = canonical(name.rpartition("/")[2])
            alike = self._endings.get(stem, ())
            return tuple(one for one in alike if canonical(one.rpartition("/")[2]) == own) or (
                name,
            )
        there = self._slugs.get(name, ())
        if kind == "name" and there and _page_slug(there[0]) == name:
            there = ()
        return there or self._endings.get(name, ()) or self._other_names.get(name, ())

    def namesakes(self, path: str) -> tuple[str, ...]:
        """Return the other pages whose file has the same name as the page's; none for an index."""
        stem = names.slug(pages.without_ending(path.rpartition("/")[2]))
        found = () if stem == "index" else self._endings.get(stem, ())
        return tuple(islice((one for one in found if one != path), MOST_CANDIDATES))

    def _near(self, target: str, source: str) -> Target:
        """Resolve a relative address, as in Markdown: from the page's own folder."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        for ending in ("", ".md", "/index.md"):
            if found := self.exact(path + ending):
                return Target(found)
        return NOWHERE

    def exact(self, path: str) -> str:
        """Return the file at *path* in any Unicode normalisation; "" when there is none."""
        if path in self.paths:
            return path
        return "" if path.isascii() else self._canonical.get(canonical(path), "")

    def twin(self, path: str) -> str:
        """Return another page of the same folder with an equivalent name; "" when there is none.

        *path* need not exist.
        """
        slug = names.slug(pages.without_ending(path.removeprefix(_PREFIX)))
        folder, _, name = slug.rpartition("/")
        found = (other for other in self._slugs.get(slug, ()) if name and other != path)
        return next((one for one in found if _is_in(one, folder)), "")

    def shortest(self, path: str) -> str:
        """Return the shortest words by which a wiki link can name the page at *path*."""
        plain = path.removeprefix(_PREFIX)
        stem = pages.without_ending(plain)
        for words in (stem.rpartition("/")[2], stem, plain, names.slug(stem), _PREFIX + stem):
            is_fit = words != "index" and not _UNFIT.search(words)
            if is_fit and self.named(words, path) == Target(path):
                return words
        return plain

    @cached_property
    def _canonical(self) -> dict[str, str]:
        return {canonical(path): path for path in self.paths if not path.isascii()}

    @cached_property
    def _pages(self) -> tuple[str, ...]:
        return tuple(
            sorted(path for path in self.paths if path.startswith(_PREFIX) and pages.is_page(path))
        )

    @cached_property
    def _slugs(self) -> dict[str, tuple[str, ...]]:
        """Pages by the slug of their whole path; a folder's index also by the folder's."""
        every: dict[str, list[str]] = {}
        for path in self._pages:
            every.setdefault(_page_slug(path), []).append(path)
        table = {slug: tuple(found) for slug, found in every.items()}
        for path in self._pages:
            slug = _page_slug(path)
            folder, slash, last = slug.rpartition("/")
            if slash and last == "index" and folder not in table:
                table[folder] = (path,)
        return table

    @cached_property
    def _endings(self) -> dict[str, tuple[str, ...]]:
        """Pages by the slug of each end of their path: the file's name, and that in folders."""
        return _by_endings((_page_slug(path), path) for path in self._pages)

    @cached_property
    def _other_names(self) -> dict[str, tuple[str, ...]]:
        """Pages by the slugs of their aliases."""
        table: dict[str, dict[str, None]] = {}
        for path in self._pages:
            for name in self.aliases.get(path, ()):
                table.setdefault(names.slug(name), {})[path] = None
        return {slug: tuple(found) for slug, found in table.items()}

    @cached_property
    def _file_endings(self) -> dict[str, tuple[str, ...]]:
        """Files that are not pages by each end of their path, without its case."""
        others = (path for path in sorted(self.paths) if not pages.is_page(path))
        return _by_endings((canonical(path).casefold(), path) for path in others)


def _by_endings(named: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for name, path in named:
        while name:
            table.setdefault(name, []).append(path)
            name = name.partition("/")[2]  # noqa: PLW2901 - the next shorter end
    return {name: tuple(found) for name, found in table.items()}


def _page_slug(path: str) -> str:
    return names.slug(pages.without_ending(path.removeprefix(_PREFIX)))


def refuse_twins(changes: Sequence[Change]) -> list[Change]:
    """Refuse a new page with the name of another page of its folder, whichever way it is written.

    A companion: it is asked for every write, and adds nothing to it.

    Raises:
        WriteRefused: with rule ``twin``.
    """
    gone = {change.path for change in changes if change.new is None}
    for change in changes:
        if change.old is not None or change.new is None or change.actor.kind in _BRINGING_BACK:
            continue
        top, _, rest = change.path.partition("/")
        wiki, _, path = rest.partition("/")
        if top != pages.WIKIS or not path.startswith(_PREFIX) or not pages.is_page(path):
            continue
        base = f"{pages.WIKIS}/{wiki}"
        there = _pages_beside(change.workspace / base, path)
        twin = Resolver(one for one in there if f"{base}/{one}" not in gone).twin(path)
        if twin:
            message = (
                f"The page {file_names.shown(twin)} has this name already, but for case, spaces, "
                "dashes or accents. Nothing was written. Change that page, or choose another name."
            )
            raise WriteRefused(message, "twin")
    return []


def _pages_beside(wiki: Path, path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    try:
        with os.scandir(wiki / folder) as entries:
            yield from [f"{folder}/{entry.name}" for entry in entries]
    except OSError:
        return


# What comes back as it was is not refused for its name.
_BRINGING_BACK = frozenset({"restore", "setup", "outside", "pipeline"})
_OTHER_FOLDERS = frozenset({pages.RAW, pages.LOG, pages.AUDIT})


def _is_in(path: str, folder: str) -> bool:
    """True when the page is in a folder, which is given as a slug."""
    return names.slug(path.removeprefix(_PREFIX)).rpartition("/")[0] == folder


class _Choice:
    """The pages or files of one name, of which the nearest to a page is found in a few steps."""

    def __init__(self, found: tuple[str, ...]) -> None:
        self._found = found
        self.is_open = len(found) > 1

    def nearest(self, source: str) -> Target:
        """Return the only one, or the one with the shortest way from *source*."""
        found = self._found
        if not self.is_open:
            return Target(found[0]) if found else NOWHERE
        if not source:
            return Target("", found[:MOST_CANDIDATES])
        here = tuple(source.split("/")[:-1])
        best = (
            (len(here) - 2 * depth + first[0], *first)
            for depth in range(len(here) + 1)
            if (first := self._first.get(here[:depth])) is not None
        )
        return Target(min(best)[-1], found[:MOST_CANDIDATES])

    @cached_property
    def _first(self) -> dict[tuple[str, ...], tuple[int, str]]:
        """For each folder, the highest one of them below it."""
        table: dict[tuple[str, ...], tuple[int, str]] = {}
        for path in self._found:
            folder = tuple(path.split("/")[:-1])
            for depth in range(len(folder) + 1):
                one = len(folder), path
                table[folder[:depth]] = min(table.get(folder[:depth], one), one)
        return table
