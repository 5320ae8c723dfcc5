"""A new page in the index: linked once, in the list of pages, above what is open."""

from wikis import making, pages
from wikis.links.finding import find
from wikis.links.resolving import Resolver
from wikis.project import sections

_SECTION, _BEFORE = "Pages", "Open"


def is_linked(text: str, resolver: Resolver, path: str) -> bool:
    """Whether the index, with this *text*, links to the page at *path* (from the wiki's folder)
    once that is there."""
    after = Resolver(resolver.paths | {path})
    return any(
        not link.wiki and after.resolve(link, pages.INDEX).path == path for link in find(text)
    )


def with_page(text: str, path: str, title: str) -> str:
    """The index with a line for the page at *path*."""
    target = pages.without_ending(path).removeprefix(f"{pages.PAGES}/")
    line = f"- [[{target}|{title.replace('|', ' ').replace(']', ')')}]]"
    return sections.with_line(text.replace(making.NO_PAGE, ""), _SECTION, line, before=_BEFORE)
