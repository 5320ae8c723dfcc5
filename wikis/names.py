"""Names: what a new wiki may be called, and when two names mean the same wiki or page.

A folder that is there already is a wiki under whatever name it has; these rules are for making
one.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from jenny.workspace import names as file_names
from wikis.errors import NameRefused

NAME_CHARS = 64
SCOPE_CHARS = 500

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LETTERS = re.compile(r"[^\w]+", re.UNICODE)


def refusal(name: str, taken: Iterable[str] = ()) -> str:
    """Why no wiki can be made under this name, as the end of a sentence; empty when one can.

    *taken*: the names that there are.
    """
    if not name:
        return "is empty"
    if len(name) > NAME_CHARS:
        return f"is longer than {NAME_CHARS} characters"
    if not _NAME.fullmatch(name):
        return (
            "may hold letters from a to z, digits, dots, dashes and underscores, and begins with "
            "a letter or a digit"
        )
    if why := file_names.unfit(name):
        return why
    if twin := clash(name, taken):
        return f"means the same as {file_names.shown(twin)}, which exists"
    return ""


def clash(name: str, taken: Iterable[str]) -> str:
    """The one of *taken* that is the same name but for case, accents, spaces and dashes, or ""."""
    wanted = normal(name)
    return next((other for other in taken if normal(other) == wanted), "")


def checked(name: str, taken: Iterable[str] = ()) -> str:
    """*name*, when a wiki can be made under it.

    Raises:
        NameRefused: it cannot.
    """
    name = name.strip()
    if why := refusal(name, taken):
        raise NameRefused(f"The name {file_names.shown(name)} {why}. Nothing was made.")
    return name


def checked_scope(text: str) -> str:
    """*text* as one line, when it can be a wiki's scope.

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


@lru_cache(maxsize=8_192)
def plain(text: str) -> str:
    """*text* in small letters, without accents: what a search compares."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


@lru_cache(maxsize=32_768)
def slug(text: str) -> str:
    """The form in which a link's words and a page's name are the same: ``Bee Hives`` and
    ``bee-hives``. Slashes stay."""
    return "/".join(
        _LETTERS.sub("-", plain(part).replace("_", "-")).strip("-") for part in text.split("/")
    )


def normal(name: str) -> str:
    """The form in which two names of wikis are the same."""
    return slug(name) or plain(name)
