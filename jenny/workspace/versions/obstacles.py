"""What stands where a file is to be written or removed."""

import stat
from collections.abc import Iterable
from pathlib import Path

from jenny.workspace import names
from jenny.workspace.errors import UndoRefused


def refuse_in_the_way(root: Path, files: Iterable[str]) -> None:
    """Refuse when something else than a plain file is where one is to be written or removed.

    Raises:
        UndoRefused: says what stands there.
    """
    problems = [why for path in files if (why := in_the_way(root, path))]
    if problems:
        raise UndoRefused(f"{' '.join(problems)} Nothing was changed.")


def in_the_way(root: Path, path: str) -> str:
    """What stands in the way of writing *path*, as a sentence; empty when nothing does."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        part = root.joinpath(*parts[:depth])
        try:
            mode = part.lstat().st_mode
        except FileNotFoundError:
            return ""
        except OSError:
            return f"{names.shown(path)} cannot be looked at."
        shown = names.shown("/".join(parts[:depth]))
        if stat.S_ISLNK(mode):
            return f"{shown} is a link now."
        if depth < len(parts) and not stat.S_ISDIR(mode):
            return f"{shown} is a file now where a folder was."
        if depth == len(parts) and not stat.S_ISREG(mode):
            return f"{shown} is {'a folder' if stat.S_ISDIR(mode) else 'no plain file'} now."
    return ""
