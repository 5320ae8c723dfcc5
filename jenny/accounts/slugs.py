"""Slugs: the names of workspace folders."""

import itertools
import re
from collections.abc import Iterator

from jenny.text_normalisation import fold_accents

LONGEST = 40
_OTHER = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """Return *name* as lower-case letters, digits and single hyphens; at least ``workspace``."""
    plain = fold_accents(name).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", plain).strip("-")[:LONGEST].strip("-") or "workspace"


def candidates(name: str) -> Iterator[str]:
    """Yield the slug of *name*, then the same with -2, -3 … without end."""
    first = slug(name)
    yield first
    for number in itertools.count(2):
        yield f"{first}-{number}"
