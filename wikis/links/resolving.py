"""From a link's words to a page, in one order.

Exact → the folder's index → with ``.md`` → other case, accents, spaces and dashes → the file's
name alone, wherever it lies. A name that several pages have stays unresolved.
"""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from wikis import names, pages
from wikis.links.finding import Link

MOST_CANDIDATES = 20
_PREFIX = f"{pages.PAGES}/"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads: ``path`` from the wiki's folder, or ``candidates`` that its name might
    mean; neither when there is no such page."""

    path: str = ""
    candidates: tuple[str, ...] = ()


NOWHERE = Target()


class Resolver:
    """The pages (and other files) of one wiki, by every form in which a link may name them."""

    def __init__(self, paths: Iterable[str]) -> None:
        """*paths* from the wiki's folder; files that are no pages are found by their exact path."""
        self.paths = frozenset(paths)

    def resolve(self, link: Link, source: str = "") -> Target:
        """Where *link* leads, which stands in the page *source*. The wiki that it names is none of
        this one's business."""
        if link.kind == "near":
            return self._near(link.target, source)
        return self.named(link.target) if link.target else Target(source)

    def named(self, target: str) -> Target:
        """Where the words of a wiki link lead."""
        plain = target.strip().strip("/").removeprefix(_PREFIX)
        if not plain:
            return NOWHERE
        is_elsewhere = plain.partition("/")[0] in _OTHER_FOLDERS
        written = [_PREFIX + way for way in (plain, f"{plain}/index.md", f"{plain}.md")]
        written += [plain, f"{plain}.md"] if is_elsewhere else []
        for path in written:
            if path in self.paths:
                return Target(path)
        slug = names.slug(pages.without_ending(plain))
        found = self._slugs.get(slug) or (() if "/" in slug else self._stems.get(slug, ()))
        return _one(found) if found and slug else NOWHERE

    def _near(self, target: str, source: str) -> Target:
        """A relative address, as Markdown has it: from the page's own folder."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path in self.paths:
            return Target(path)
        for ending in (".md", "/index.md"):
            if path + ending in self.paths:
                return Target(path + ending)
        return NOWHERE

    def shortest(self, path: str) -> str:
        """The shortest words that a link may name the page at *path* by."""
        plain = path.removeprefix(_PREFIX)
        stem = pages.without_ending(plain)
        for words in (stem.rpartition("/")[2], stem, plain):
            if words != "index" and "#" not in words and self.named(words).path == path:
                return words
        return plain

    @cached_property
    def _pages(self) -> tuple[str, ...]:
        return tuple(
            sorted(path for path in self.paths if path.startswith(_PREFIX) and pages.is_page(path))
        )

    @cached_property
    def _slugs(self) -> dict[str, tuple[str, ...]]:
        """Pages by their whole path as a slug; a folder's index also by the folder's."""
        table: dict[str, tuple[str, ...]] = {}
        for path in self._pages:
            slug = names.slug(pages.without_ending(path[len(_PREFIX) :]))
            table[slug] = (*table.get(slug, ()), path)
        for path in self._pages:
            slug = names.slug(pages.without_ending(path[len(_PREFIX) :]))
            folder, slash, last = slug.rpartition("/")
            if slash and last == "index" and folder not in table:
                table[folder] = (path,)
        return table

    @cached_property
    def _stems(self) -> dict[str, tuple[str, ...]]:
        """Pages by the name of their file alone, as a slug."""
        table: dict[str, list[str]] = {}
        for path in self._pages:
            stem = names.slug(pages.without_ending(path.rpartition("/")[2]))
            table.setdefault(stem, []).append(path)
        return {stem: tuple(found) for stem, found in table.items()}


_OTHER_FOLDERS = frozenset({pages.RAW, pages.LOG, pages.AUDIT})


def _one(found: tuple[str, ...]) -> Target:
    """The page, when the name is one page's."""
    return Target(found[0]) if len(found) == 1 else Target("", found[:MOST_CANDIDATES])
