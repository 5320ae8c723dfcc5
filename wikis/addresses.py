"""Where things of a wiki are looked at (``/wikis/…``) and done (``/wiki/…``)."""

from urllib.parse import quote, urlencode

from wikis import pages

_TOP = frozenset({pages.PAGES, pages.RAW, pages.LOG, pages.AUDIT})


def wiki(name: str) -> str:
    """A wiki's first page."""
    return f"/wikis/{quote(name, safe='')}/"


def page(name: str, path: str, anchor: str = "") -> str:
    """A page, or another file or folder, of a wiki; *path* from the wiki's folder.

    ``wiki/`` is left out, unless what follows would then be taken for one of its neighbours.
    """
    short = path.removeprefix(f"{pages.PAGES}/")
    if short.partition("/")[0] in _TOP:
        short = path
    return wiki(name) + quote(short) + (f"#{quote(anchor)}" if anchor else "")


def act(name: str, what: str, path: str = "", **query: str) -> str:
    """The page that does *what* (``edit``, ``rename`` …) with a wiki, or with something in it."""
    where = f"/wiki/{what}/{quote(name, safe='')}/"
    where += f"{quote(path)}/" if path else ""
    return where + (f"?{urlencode(query)}" if query else "")


def file(name: str, path: str) -> str:
    """A file in the file browser."""
    return f"/workspace/{quote(f'{pages.WIKIS}/{name}/{path}')}"


def raw(name: str, path: str) -> str:
    """A file's bytes, such as a picture's."""
    return f"/files/raw/{quote(f'{pages.WIKIS}/{name}/{path}')}/"


def to_path(rest: str) -> tuple[str, ...]:
    """The paths that the part of an address behind the wiki's name may mean, likeliest first."""
    plain = rest.strip("/")
    inside = f"{pages.PAGES}/{plain}" if plain else pages.PAGES
    return (plain, inside) if plain.partition("/")[0] in _TOP else (inside,)
