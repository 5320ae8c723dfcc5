"""A page of a wiki as HTML: its links lead to pages, its pictures are files of the wiki."""

import re
from urllib.parse import unquote

from jenny.markdown.around import Led, anchor
from jenny.markdown.render import Page as Rendered
from jenny.markdown.render import render_page
from wikis import addresses, pages
from wikis.index.known import Index, Known
from wikis.links.finding import Link, parse

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_FIRST_HEADING = re.compile(r"\A\s*# [^\n]*(?:\n|\Z)")
# What an author wrote for other authors.
_COMMENT = re.compile(r"^<!--.*?-->[ \t]*$\n?", re.DOTALL | re.MULTILINE)


class Neighbours:
    """What the page at *path* of a wiki has around it. *draws*: its diagrams have frames, which a
    text that is not saved yet cannot have."""

    def __init__(self, index: Index, known: Known, path: str, *, draws: bool = True) -> None:
        """Nothing is asked of the disk yet."""
        self._index = index
        self._known = known
        self._path = path
        self._draws = draws
        self.diagrams: list[str] = []

    def wiki_link(self, inner: str) -> Led:
        """Where ``[[inner]]`` leads: to a page, to the choice between some, or to a new one."""
        link = parse(inner)
        written = link.target + (f" › {link.anchor}" if link.anchor and link.target else "")
        text = link.label or written or link.anchor or inner.strip()
        found = self._index.resolve(self._known, self._path, link)
        here = self._known.name
        if found.target.path:
            at = anchor(link.anchor) if link.anchor else ""
            where = found.wiki or here
            if not pages.is_page(found.target.path):
                return Led("there", addresses.file(where, found.target.path), text)
            if where == here and found.target.path == self._path and at:
                return Led("there", f"#{at}", text)
            return Led("there", addresses.page(where, found.target.path, at), text)
        named = f"{link.wiki}:{link.target}" if link.wiki and not found.wiki else link.target
        where = found.wiki or here
        if found.target.candidates:
            hint = f"{len(found.target.candidates)} pages are called so. Choose one."
            return Led("unclear", addresses.act(where, "choose", page=named), text, hint)
        hint = f"There is no page “{named}” yet. Create it."
        return Led("missing", addresses.act(where, "new", page=named), text, hint)

    def near(self, address: str) -> str | None:
        """Where a relative address leads."""
        if address.startswith("#"):
            return f"#{anchor(unquote(address[1:]))}" if len(address) > 1 else None
        target, _, at = unquote(address).partition("#")
        path = self._found(target)
        if not path:
            return None
        if not pages.is_page(path):
            return addresses.file(self._known.name, path)
        return addresses.page(self._known.name, path, anchor(at) if at else "")

    def picture(self, address: str) -> str | None:
        """A picture of this wiki, by its relative path, or by the address of its file."""
        own = addresses.file(self._known.name, "")
        if address.startswith(own):
            path = unquote(address[len(own) :])
            path = path if path in self._known.files else ""
        else:
            path = self._found(unquote(address))
        if not path.lower().endswith(PICTURES):
            return None
        return addresses.raw(self._known.name, path)

    def diagram(self, source: str) -> str | None:
        """The frame that draws the next diagram of the page."""
        self.diagrams.append(source)
        if not self._draws:
            return None
        number = str(len(self.diagrams) - 1)
        return addresses.act(self._known.name, "diagram", self._path, n=number)

    def _found(self, target: str) -> str:
        if not target or _SCHEME.match(target) or target.startswith("/"):
            return ""
        link = Link("near", 0, 0, target)
        return self._known.resolver.resolve(link, self._path).path


def rendered(
    index: Index, known: Known, page: pages.Page, *, text: str | None = None
) -> tuple[Rendered, int]:
    """The page, or *text* in its place, as HTML, and how many diagrams it has. The first heading is
    left out where the page's own heading says the same."""
    around = Neighbours(index, known, page.path, draws=text is None)
    body = _COMMENT.sub("", page.body if text is None else text)
    found = _FIRST_HEADING.match(body)
    if found and pages.title_of(page.path, found[0]) == page.title:
        body = body[found.end() :]
    return render_page(body, around), len(around.diagrams)


def diagram(index: Index, known: Known, page: pages.Page, number: int) -> str | None:
    """The source of a page's diagram; ``None`` when it has none of that number."""
    around = Neighbours(index, known, page.path)
    render_page(_COMMENT.sub("", page.body), around)
    return around.diagrams[number] if 0 <= number < len(around.diagrams) else None
