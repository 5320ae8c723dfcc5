"""What each file's content was when its stamp was last seen, so that it need not be read again.

A cache beside the store: lost or damaged, it is made anew by reading every file. A file that was
written within the last seconds before it was read is not remembered, since on a disk whose clock
ticks slowly it could change again and bear the same stamp.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from jenny.workspace.git.objects import is_id
from jenny.workspace.snapshots.scan import Stamp

NAME = "stamps.json"
_DOUBT_NS = 2_000_000_000
_FORM = 1


class Stamps:
    """Paths with their stamps and the ids of their contents. ``tree``: the files of the snapshot
    that they were kept with, in which all these contents are."""

    def __init__(self, path: Path) -> None:
        """Read what is kept in the file *path*; whatever is wrong with it, it is then empty."""
        self._rows: dict[str, tuple[Stamp, str]] = {}
        self.tree = ""
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            kept = json.loads(path.read_bytes())
            if kept["form"] == _FORM:
                self._rows = {
                    name: (tuple(row[:6]), row[6])
                    for name, row in kept["files"].items()
                    if is_id(row[6])
                }
                self.tree = str(kept["tree"])

    def content_of(self, path: str, stamp: Stamp) -> str | None:
        """The id of the content that a file with this stamp had; ``None``: it must be read."""
        row = self._rows.get(path)
        return row[1] if row is not None and row[0] == stamp else None


def is_doubtful(stamp: Stamp, read_at: int) -> bool:
    """Whether a file that was read then, in nanoseconds since 1970, might have changed since and
    bear the same stamp."""
    return max(stamp[1], stamp[2]) + _DOUBT_NS >= read_at


def save(path: Path, tree: str, rows: Iterable[tuple[str, Stamp, str]]) -> None:
    """Keep in the file *path* what contents files had; failing is no loss. *tree*: the id of the
    snapshot's files."""
    files = {name: [*stamp, sha] for name, stamp, sha in rows}
    temp = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temp.write_text(json.dumps({"form": _FORM, "tree": tree, "files": files}), encoding="ascii")
        os.rename(temp, path)  # noqa: PTH104  (one call to watch)
    except OSError:
        with contextlib.suppress(OSError):
            temp.unlink()
