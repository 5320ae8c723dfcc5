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

    def resolve(self, link: Link, source: str = "") -> Target:
        """Return the target of *link* in the page *source*. A wiki in the link is ignored."""
        if link.kind == "near":
            return self._near(link.target, source)
        return self.named(link.target, source) if link.target else Target(source)

    def named(self, target: str, source: str = "") -> Target:
        """Return the page or file that *target* names, seen from the page *source*.

        Without a source, an ambiguous name has no nearest page.
        """
        plain = target.strip().strip("/").removeprefix(_PREFIX)
        if not plain:
            return NOWHERE
        is_elsewhere = plain.partition("/")[0] in _OTHER_FOLDERS
        written = [_PREFIX + way for way in (plain, f"{plain}/index.md", f"{plain}.md")]
        written += [plain, f"{plain}.md"] if is_elsewhere else []
        for path in written:
            if found := self.exact(path):
                return Target(found)
        slug = names.slug(pages.without_ending(plain))
        if not slug:
            return NOWHERE
        pages_there = self._slugs.get(slug) or self._ending_in(slug)
        pages_there = pages_there or self._other_names.get(slug, ())
        return _nearest(pages_there or self._files_ending_in(plain), source)

    def namesakes(self, path: str) -> tuple[str, ...]:
        """Return the other pages whose file has the same name as the page's; none for an index."""
        stem = names.slug(pages.without_ending(path.rpartition("/")[2]))
        found = () if stem == "index" else self._stems.get(stem, ())
        return tuple(one for one in found if one != path)[:MOST_CANDIDATES]

    def _ending_in(self, slug: str) -> tuple[str, ...]:
        """Return the pages whose path ends in these words: a file's name, or that in a folder."""
        found = self._stems.get(slug.rpartition("/")[2], ())
        return tuple(
            path for path in found if "/" not in slug or _page_slug(path).endswith(f"/{slug}")
        )

    def _files_ending_in(self, plain: str) -> tuple[str, ...]:
        """Return the files other than pages whose path ends in *plain*, in any case."""
        wanted = f"/{canonical(plain).casefold()}"
        found = self._file_names.get(wanted.rpartition("/")[2], ())
        return tuple(path for path in found if canonical(path).casefold().endswith(wanted))

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
        for words in (stem.rpartition("/")[2], stem, plain, names.slug(stem)):
            is_fit = words != "index" and not _UNFIT.search(words)
            if is_fit and self.named(words).path == path:
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
        table: dict[str, tuple[str, ...]] = {}
        for path in self._pages:
            slug = _page_slug(path)
            table[slug] = (*table.get(slug, ()), path)
        for path in self._pages:
            slug = _page_slug(path)
            folder, slash, last = slug.rpartition("/")
            if slash and last == "index" and folder not in table:
                table[folder] = (path,)
        return table

    @cached_property
    def _stems(self) -> dict[str, tuple[str, ...]]:
        """Pages by the slug of their file name alone."""
        table: dict[str, list[str]] = {}
        for path in self._pages:
            stem = names.slug(pages.without_ending(path.rpartition("/")[2]))
            table.setdefault(stem, []).append(path)
        return {stem: tuple(found) for stem, found in table.items()}

    @cached_property
    def _other_names(self) -> dict[str, tuple[str, ...]]:
        """Pages by the slugs of their aliases."""
        table: dict[str, dict[str, None]] = {}
        for path in self._pages:
            for name in self.aliases.get(path, ()):
                table.setdefault(names.slug(name), {})[path] = None
        return {slug: tuple(found) for slug, found in table.items()}

    @cached_property
    def _file_names(self) -> dict[str, tuple[str, ...]]:
        """Files that are not pages by the name of the file, without its case."""
        table: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            if not pages.is_page(path):
                name = canonical(path.rpartition("/")[2]).casefold()
                table.setdefault(name, []).append(path)
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


def _nearest(found: tuple[str, ...], source: str) -> Target:
    """Return the only page of a name, or the one with the shortest way from *source*."""
    if len(found) < 2:  # noqa: PLR2004 - two are a choice
        return Target(found[0]) if found else NOWHERE
    here = source.split("/")[:-1]

    def way(path: str) -> tuple[int, int, str]:
        there = path.split("/")[:-1]
        shared = len(posixpath.commonprefix([here, there]))
        return len(here) + len(there) - 2 * shared, len(there), path

    return Target(min(found, key=way) if source else "", found[:MOST_CANDIDATES])
