"""Build the addresses of a wiki's pages (``/wikis/…``) and of its actions (``/wiki/…``)."""

from urllib.parse import quote, urlencode

from wikis import pages

_TOP = frozenset({pages.PAGES, pages.RAW, pages.LOG, pages.AUDIT})


def wiki_url(name: str) -> str:
    return f"/wikis/{quote(name, safe='')}/"


def page_url(name: str, path: str, anchor: str = "") -> str:
    """Return the address of a page, file or folder of a wiki; *path* from the wiki's folder.

    ``wiki/`` is left out, unless the rest would then be taken for another of the wiki's folders.
    """
    short = path.removeprefix(f"{pages.PAGES}/")
    if short.partition("/")[0] in _TOP:
        short = path
    return wiki_url(name) + quote(short) + (f"#{quote(anchor)}" if anchor else "")


def action_url(name: str, what: str, path: str = "", **query: str) -> str:
    """Return the address of the action *what* (``edit``, ``rename`` …) on a wiki or a
    part of it.
    """
    where = f"/wiki/{what}/{quote(name, safe='')}/"
    where += f"{quote(path)}/" if path else ""
    return where + (f"?{urlencode(query)}" if query else "")


def search_url(name: str, query: str) -> str:
    """Return the address of a search in a wiki."""
    return f"/wiki/search/?{urlencode({'wiki': name, 'q': query})}"


def file_url(name: str, path: str) -> str:
    """Return the address of a file in the file browser."""
    return f"/workspace/{quote(f'{pages.WIKIS}/{name}/{path}')}"


def raw_url(name: str, path: str) -> str:
    """Return the address of a file's bytes, such as a picture's."""
    return f"/files/raw/{quote(f'{pages.WIKIS}/{name}/{path}')}/"


def to_path(rest: str) -> tuple[str, ...]:
    """Return the paths that the address after the wiki's name may mean, the most likely first."""
    plain = rest.strip("/")
    inside = f"{pages.PAGES}/{plain}" if plain else pages.PAGES
    return (plain, inside) if plain.partition("/")[0] in _TOP else (inside,)
