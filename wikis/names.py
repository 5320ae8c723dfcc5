"""Check names of new wikis, and compare names of wikis and pages.

An existing folder is a wiki under any name; these rules are for new ones.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, urlencode

from jenny import text_normalisation
from jenny.workspace import names as file_names
from wikis import pages
from wikis.errors import NameRefused

# Build the addresses of a wiki's pages (``/wikis/…``) and of its actions (``/wiki/…``).


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


NAME_CHARS = 64
SCOPE_CHARS = 500

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def folder_name(title: str) -> str:
    """Return the name of a wiki's folder, made from a title in any script."""
    title = title.strip()
    if _PLAIN.fullmatch(title):
        return title
    plain = text_normalisation.fold_accents(title)
    words = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in plain)
    return "-".join(words.split())[:NAME_CHARS].strip("-")


def refusal(name: str, taken: Iterable[str] = ()) -> str:
    """Return why no wiki can have this name, as the end of a sentence; empty when one can.

    *taken*: the existing names.
    """
    if not name:
        return "has no letter or digit"
    if len(name) > NAME_CHARS:
        return f"is longer than {NAME_CHARS} characters"
    if why := file_names.unfit(name):
        return why
    if twin := clash(name, taken):
        return f"means the same as {file_names.shown(twin)}, which exists"
    return ""


def clash(name: str, taken: Iterable[str]) -> str:
    """Return the one of *taken* that differs only in case, accents, spaces or dashes, or ""."""
    wanted = normal(name)
    return next((other for other in taken if normal(other) == wanted), "")


def checked(title: str, taken: Iterable[str] = ()) -> str:
    """Return the folder's name for *title* if a wiki can be made under it.

    Raises:
        NameRefused: the title gives no valid name.
    """
    name = folder_name(title)
    if why := refusal(name, taken):
        raise NameRefused(f"The name {file_names.shown(name or title)} {why}. Nothing was made.")
    return name


def checked_scope(text: str) -> str:
    """Return *text* as one line if it can be a wiki's scope.

    Raises:
        NameRefused: it is empty or too long.
    """
    scope = " ".join(text.split())
    if not scope:
        raise NameRefused("Say in one line what the wiki is about. Nothing was made.", "scope")
    if len(scope) > SCOPE_CHARS:
        message = (
            f"The scope has {len(scope):,} characters, more than {SCOPE_CHARS}. Nothing was made; "
            "shorten it."
        )
        raise NameRefused(message, "scope")
    return scope


@lru_cache(maxsize=32_768)
def slug(text: str) -> str:
    """Return a form that is equal for ``Bee Hives`` and ``bee-hives``. Slashes stay."""
    return "/".join(map(text_normalisation.slug, text.split("/")))


def normal(name: str) -> str:
    """Return the form that is equal for equivalent names of wikis."""
    return slug(name) or text_normalisation.fold_accents(name)
