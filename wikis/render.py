"""Render a page of a wiki as HTML: links lead to pages, pictures are files of the wiki."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import unquote

from jenny.markdown import limits
from jenny.markdown.blocks import formatted_length
from jenny.markdown.comments import without_comments
from jenny.markdown.extensions import BLOCK_PREFIX
from jenny.markdown.link_context import (
    Heading,
    HeadingIndex,
    ResolvedLink,
    anchor,
    frame_name,
)
from jenny.markdown.render import Page as Rendered
from jenny.markdown.render import framed_code, normalise_text, render_embed, render_page
from jenny.markdown.sections import Sections
from jenny.workspace.errors import WorkspaceError
from wikis import names, pages
from wikis.links import parse_address, parse_target, read_links
from wikis.page_index import SEARCH_SECONDS, Index, WikiIndex

PICTURES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"),
    *(".heic", ".heif", ".tif", ".tiff"),
)
# What people write in a file's name and not in words.
_FILE_NAME = re.compile(r"[-_/]|\.md$")
_FIRST_HEADING = re.compile(r"\A\s*# [^\n]*(?:\n|\Z)")

EMBED_DEPTH = 3
"""How deep pages are shown within pages; deeper ones are links."""

MOST_EMBEDS = 40
EMBED_CHARS = 200_000
"""Most pages that are shown within one, and characters of them; more are links.

The texts that are read for them are together no longer than one that is formatted
(``jenny.markdown.limits``).
"""


@dataclass(frozen=True, slots=True)
class _EmbeddedPage:
    title: str
    sections: Sections


@dataclass
class _EmbedBudget:
    """The pages that were read to be shown within one, and the rest for more of them."""

    count: int = MOST_EMBEDS
    chars: int = EMBED_CHARS
    lines: int = limits.LINES
    read_chars: int = 0
    read_lines: int = 0
    pages: dict[tuple[str, str], _EmbeddedPage] = field(default_factory=dict)

    def begin(self) -> bool:
        self.count -= 1
        return self.count >= 0

    def affords(self, part: str) -> bool:
        lines = part.count("\n")
        if len(part) > self.chars or lines > self.lines:
            return False
        self.chars -= len(part)
        self.lines -= lines
        return True

    def page(self, root: Path, wiki: str, path: str) -> _EmbeddedPage:
        """Return a page, as far as it is formatted; it is read and parsed once.

        Raises:
            WorkspaceError: it cannot be read.
        """
        if (found := self.pages.get((wiki, path))) is not None:
            return found
        page = pages.read_page(pages.open_wiki(root, wiki), path)
        end = formatted_length(page.body, self.read_chars, self.read_lines)
        text = page.body[:end]
        self.read_chars += len(text)
        self.read_lines += text.count("\n")
        text = normalise_text(without_comments(text, is_page=True))
        title = page.head.title or pages.title_of(path, text)
        found = _EmbeddedPage(title, Sections(text, is_cut=page.is_cut or end < len(page.body)))
        self.pages[wiki, path] = found
        return found


class Neighbours:
    """The link context of the page at *path* of a wiki.

    *draws*: its diagrams and previews get frames, which a text that is not saved yet cannot have.
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
        self._known = known
        self._path = path
        self._draws = draws
        # The pages and parts around this one, outermost first.
        self._chain: tuple[tuple[str, str, str], ...] = ((known.name, path, ""),)
        # The links by which each of them shows the next one.
        self._shown: tuple[str, ...] = ()
        self._budget = _EmbedBudget()
        self._headings: dict[tuple[str, str], HeadingIndex] = {}
        if headings is not None:
            self._headings[known.name, path] = HeadingIndex(headings)
        self.frames: dict[str, tuple[str, str]] = {}

    def wiki_link(self, inner: str) -> ResolvedLink:
        """Resolve ``[[inner]]``: to a page, to a choice of pages, or to a new one."""
        link = parse_target(inner)
        is_block = link.anchor.startswith("^")
        more = f" › {link.anchor}" if link.anchor and link.target and not is_block else ""
        written = link.target + more
        text = link.label or written or link.anchor or inner.strip()
        found = self._index.resolve(self._known, self._path, link)
        here = self._known.name
        if found.target.path:
            where = found.wiki or here
            if not link.label and where == here:
                text = self._titled(found.target.path, link.target, text)
            at = self._anchor(where, found.target.path, link.anchor)
            if not pages.is_page(found.target.path):
                return ResolvedLink("there", names.file_url(where, found.target.path), text)
            is_own = where == here and found.target.path == self._path
            if is_own and at and not self._shown:
                return ResolvedLink("there", f"#{at}", text)
            address = names.page_url(where, found.target.path, at)
            if found.target.candidates:
                number = len(found.target.candidates)
                hint = f"{number} pages are called so. This is the nearest; it names the others."
                return ResolvedLink("unclear", address, text, hint)
            return ResolvedLink("there", address, text)
        named = f"{link.wiki}:{link.target}" if link.wiki and not found.wiki else link.target
        where = found.wiki or here
        if found.target.candidates:
            hint = f"{len(found.target.candidates)} pages are called so. Choose one."
            return ResolvedLink(
                "unclear", names.action_url(where, "choose", page=named), text, hint
            )
        hint = f"There is no page “{named}” yet. Create it."
        return ResolvedLink("missing", names.action_url(where, "new", page=named), text, hint)

    def near(self, address: str) -> str | None:
        here = self._known.name
        if address.startswith("#"):
            at = self._anchor(here, self._path, unquote(address[1:]))
            if at and self._shown:
                return names.page_url(here, self._path, at)
            return f"#{at}" if at else None
        link = parse_address(address)
        path = self._found(address)
        if not path or link is None:
            return None
        if not pages.is_page(path):
            return names.file_url(here, path)
        return names.page_url(here, path, self._anchor(here, path, link.anchor))

    def picture(self, address: str) -> str | None:
        """Return a picture of this wiki, by its relative path or by the address of its file."""
        own = names.file_url(self._known.name, "")
        if address.startswith(own):
            path = unquote(address[len(own) :])
            path = path if path in self._known.files else ""
        else:
            path = self._found(address)
        if not path.lower().endswith(PICTURES):
            return None
        return names.raw_url(self._known.name, path)

    def missing(self, address: str) -> bool:
        link = parse_address(address)
        return link is not None and bool(link.target) and not self._found(address)

    def frame(self, language: str, source: str) -> str | None:
        """Return the frame that shows a diagram or a preview of the page."""
        name = frame_name(language, source)
        self.frames[name] = language, source
        if not self._draws:
            return None
        return names.action_url(self._known.name, "frame", self._path, n=name)

    def tag(self, name: str) -> str:
        return names.search_url(self._known.name, name)

    def embed(self, inner: str) -> str | None:
        """Return another page, or a part of one, as it is shown within this one.

        A page is never shown within itself.
        """
        link = parse_target(inner)
        found = self._index.resolve(self._known, self._path, link)
        path, where = found.target.path, found.wiki or self._known.name
        if not pages.is_page(path) or len(self._chain) > EMBED_DEPTH or not self._budget.begin():
            return None
        try:
            at = self._anchor(where, path, link.anchor)
            page = self._budget.page(self._index.root, where, path)
            known = self._index.known(where, within=SEARCH_SECONDS)
        except WorkspaceError:
            return None
        key, shown = (where, path, at), (*self._shown, inner)
        part = page.sections.find(link.anchor)
        if part is None or key in self._chain:
            return None
        for around, written in zip(self._chain, shown, strict=True):
            # The part contains the link that shows it.
            if around[:2] == key[:2] and f"![[{written}]]" in part:
                return None
        if not self._budget.affords(part):
            return None
        inside = Neighbours(self._index, known, path, draws=self._draws)
        inside._chain, inside._shown = (*self._chain, key), shown
        inside._budget, inside._headings = self._budget, self._headings
        html = render_embed(part, inside, f"e{MOST_EMBEDS - self._budget.count}-")
        address = names.page_url(where, path, at)
        title = escape(link.label or page.title, quote=False)
        head = f'<a class="wiki-link" href="{escape(address)}">{title}</a>'
        return f'<div class="embed"><p class="embed-title">{head}</p>{html}</div>\n'

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
        if written.startswith("^"):
            return BLOCK_PREFIX + written[1:]
        key = wiki, path
        if key not in self._headings:
            is_own = wiki == self._known.name
            known = self._known if is_own else self._index.known(wiki, within=SEARCH_SECONDS)
            entry = known.entries.get(path)
            self._headings[key] = HeadingIndex(entry.headings if entry else ())
        found = self._headings[key].find(written)
        return found.id if found else anchor(written.rpartition("#")[2])


def rendered(
    index: Index, known: WikiIndex, page: pages.Page, *, text: str | None = None
) -> tuple[Rendered, int]:
    """Render the page, or *text* in its place, and count its frames.

    The first heading is left out where it equals the page's title.
    """
    body = without_comments(page.body if text is None else text, is_page=True)
    headings = None if text is None else read_links(text).headings
    around = Neighbours(index, known, page.path, draws=text is None, headings=headings)
    found = _FIRST_HEADING.match(body)
    is_title = found is not None and pages.title_of(page.path, found[0]) == page.title
    return render_page(body, around, without_title=is_title), len(around.frames)


def frame_content(page: pages.Page, name: str) -> tuple[str, str] | None:
    """Return language and source of the block of a page whose frame has this *name*."""
    # Frames of pages within it have addresses of their own.
    code = framed_code(without_comments(page.body, is_page=True), is_page=True)
    return next((block for block in code if frame_name(*block) == name), None)
