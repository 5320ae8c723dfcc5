"""Slugs: what names a workspace's folder."""

import itertools
import re
import unicodedata
from collections.abc import Iterator

LONGEST = 40
_OTHER = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """*name* as lower-case letters, digits and single hyphens; ``workspace`` when none is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _OTHER.sub("-", plain).strip("-")[:LONGEST].strip("-") or "workspace"


def candidates(name: str) -> Iterator[str]:
    """The slug of *name*, then the same with -2, -3 … without end."""
    first = slug(name)
    yield first
    for number in itertools.count(2):
        yield f"{first}-{number}"
