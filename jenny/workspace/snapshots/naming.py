"""How names of files stand in the store's trees.

Git gives names that look like its own a meaning when a tree is checked out, and its checks refuse
some of them. A workspace may hold any name, so those that look like git's, in any of the
disguises it knows, are written with their telling characters as ``%XX``.
"""

import re

from jenny.workspace.names import disguised

_TELLING = re.compile(r"[.~\\:]")
_CODED = re.compile(r"%([0-9A-F]{2})")


def to_stored(name: str) -> str:
    """The name as it stands in a tree."""
    plain = name.replace("%", "%25")
    if name.isascii() and "git" not in name.lower() and "~" not in name:
        return plain  # most names
    if not any(_is_gits(part) for part in re.split(r"[\\:]", name)):
        return plain
    return _TELLING.sub(lambda found: f"%{ord(found[0]):02X}", plain)


def from_stored(name: str) -> str:
    """The name of the file."""
    return _CODED.sub(lambda found: chr(int(found[1], 16)), name) if "%" in name else name


def _is_gits(part: str) -> bool:
    """Whether git might take it for one of its own names (``.git``, ``.gitmodules``, …)."""
    plain = disguised(part)
    return plain.startswith(".git") or (plain.startswith("gi") and "~" in plain)
