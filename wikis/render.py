"""Render a page of a wiki as HTML: links lead to pages, pictures are files of the wiki."""

import re
from collections.abc import Sequence
from urllib.parse import unquote

from jenny.markdown.comments import without_comments
from jenny.markdown.link_context import Heading, ResolvedLink, anchor, find_heading
from jenny.markdown.render import Page as Rendered
from jenny.markdown.render import render_page
from wikis import addresses, pages
from wikis.links import parse_address, parse_target, read_links
from wikis.page_index import SEARCH_SECONDS, Index, WikiIndex

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
# What people write in a file's name and not in words.
_FILE_NAME = re.compile(r"[-_/]|\.md$")
_FIRST_HEADING = re.compile(r"\A\s*# [^\n]*(?:\n|\Z)")


class Neighbours:
    """The link context of the page at *path* of a wiki.

    *draws*: its diagrams get frames, which a text that is not saved yet cannot have.
    """

    def __init__(
        self,
        index: Index,
        known: WikiIndex,
        path: str,
        *,
        draws: bool = True,
        headings: Sequence[Heading] | None = None,
    ) -> None:
        """*headings*: those of the page itself, when its text differs from the indexed one."""
        self._index = index
        self._headings = headings
        self._known = known
        self._path = path
        self._draws = draws
        self.diagrams: list[str] = []

    def wiki_link(self, inner: str) -> ResolvedLink:
        """Resolve ``[[inner]]``: to a page, to a choice of pages, or to a new one."""
        link = parse_target(inner)
        written = link.target + (f" › {link.anchor}" if link.anchor and link.target else "")
        text = link.label or written or link.anchor or inner.strip()
        found = self._index.resolve(self._known, self._path, link)
        here = self._known.name
        if found.target.path:
            where = found.wiki or here
            if not link.label and where == here:
                text = self._titled(found.target.path, link.target, text)
            at = self._anchor(where, found.target.path, link.anchor)
            if not pages.is_page(found.target.path):
                return ResolvedLink("there", addresses.file_url(where, found.target.path), text)
            if where == here and found.target.path == self._path and at:
                return ResolvedLink("there", f"#{at}", text)
            return ResolvedLink("there", addresses.page_url(where, found.target.path, at), text)
        named = f"{link.wiki}:{link.target}" if link.wiki and not found.wiki else link.target
        where = found.wiki or here
        if found.target.candidates:
            hint = f"{len(found.target.candidates)} pages are called so. Choose one."
            return ResolvedLink(
                "unclear", addresses.action_url(where, "choose", page=named), text, hint
            )
        hint = f"There is no page “{named}” yet. Create it."
        return ResolvedLink("missing", addresses.action_url(where, "new", page=named), text, hint)

    def near(self, address: str) -> str | None:
        here = self._known.name
        if address.startswith("#"):
            at = self._anchor(here, self._path, unquote(address[1:]))
            return f"#{at}" if at else None
        link = parse_address(address)
        path = self._found(address)
        if not path or link is None:
            return None
        if not pages.is_page(path):
            return addresses.file_url(here, path)
        return addresses.page_url(here, path, self._anchor(here, path, link.anchor))

    def picture(self, address: str) -> str | None:
        """Return a picture of this wiki, by its relative path or by the address of its file."""
        own = addresses.file_url(self._known.name, "")
        if address.startswith(own):
            path = unquote(address[len(own) :])
            path = path if path in self._known.files else ""
        else:
            path = self._found(address)
        if not path.lower().endswith(PICTURES):
            return None
        return addresses.raw_url(self._known.name, path)

    def missing(self, address: str) -> bool:
        link = parse_address(address)
        return link is not None and bool(link.target) and not self._found(address)

    def diagram(self, source: str) -> str | None:
        """Return the frame that draws the next diagram of the page."""
        self.diagrams.append(source)
        if not self._draws:
            return None
        number = str(len(self.diagrams) - 1)
        return addresses.action_url(self._known.name, "diagram", self._path, n=number)

    def _titled(self, path: str, written: str, text: str) -> str:
        """Return *text* with the page's title where a file's name is *written*."""
        entry = self._known.entries.get(path)
        if entry is None or not written or not _FILE_NAME.search(written):
            return text
        return entry.title + text[len(written) :]

    def _found(self, address: str) -> str:
        link = parse_address(address)
        return self._known.resolver.resolve(link, self._path).path if link else ""

    def _anchor(self, wiki: str, path: str, written: str) -> str:
        """Return the id of the heading *written*, or the one it would have if there is none."""
        if not written:
            return ""
        headings: Sequence[Heading] = ()
        if self._headings is not None and (wiki, path) == (self._known.name, self._path):
            headings = self._headings
        else:
            is_own = wiki == self._known.name
            known = self._known if is_own else self._index.known(wiki, within=SEARCH_SECONDS)
            if path in known.entries:
                headings = known.entries[path].headings
        found = find_heading(headings, written)
        return found.id if found else anchor(written.rpartition("#")[2])


def rendered(
    index: Index, known: WikiIndex, page: pages.Page, *, text: str | None = None
) -> tuple[Rendered, int]:
    """Render the page, or *text* in its place, and count its diagrams.

    The first heading is left out where it equals the page's title.
    """
    body = without_comments(page.body if text is None else text)
    headings = None if text is None else read_links(text).headings
    around = Neighbours(index, known, page.path, draws=text is None, headings=headings)
    found = _FIRST_HEADING.match(body)
    is_title = found is not None and pages.title_of(page.path, found[0]) == page.title
    return render_page(body, around, without_title=is_title), len(around.diagrams)


def diagram(index: Index, known: WikiIndex, page: pages.Page, number: int) -> str | None:
    """Return the source of a page's diagram; ``None`` when it has none of that number."""
    around = Neighbours(index, known, page.path)
    render_page(without_comments(page.body), around)
    return around.diagrams[number] if 0 <= number < len(around.diagrams) else None
