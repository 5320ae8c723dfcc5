"""What each file's content was when its stamp was last seen, so that it need not be read again.

A cache beside the store: lost or damaged, it is made anew by reading every file. A file that was
written within the last seconds before it was read is not remembered, since on a disk whose clock
ticks slowly it could change again and bear the same stamp.
"""

import contextlib
import json
import os
import secrets
from pathlib import Path

from jenny.workspace.git.objects import is_id
from jenny.workspace.snapshots.scan import Stamp

NAME = "stamps.json"
_DOUBT_NS = 2_000_000_000
_FORM = 1


class Stamps:
    """Paths with their stamps and the ids of their contents. ``tree``: the files of the snapshot
    that they were kept with."""

    def __init__(self, path: Path) -> None:
        """Read what is kept in the file *path*; whatever is wrong with it, it is then empty."""
        self._path = path
        self._rows: dict[str, tuple[Stamp, str]] = {}
        self._new: dict[str, tuple[Stamp, str]] = {}
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
        row = self._new.get(path) or self._rows.get(path)
        return row[1] if row is not None and row[0] == stamp else None

    def keep(self, path: str, stamp: Stamp, sha: str, read_at: int) -> None:
        """Remember what was read; *read_at*: when, in nanoseconds since 1970."""
        if max(stamp[1], stamp[2]) + _DOUBT_NS < read_at:
            self._new[path] = (stamp, sha)

    def carry(self, path: str, stamp: Stamp, sha: str) -> None:
        """Go on remembering what was remembered."""
        if self._rows.get(path) == (stamp, sha):
            self._new[path] = (stamp, sha)

    def save(self, tree: str) -> None:
        """Keep what was seen, unless nothing is new; failing is no loss. *tree*: the id of the
        snapshot's files, in which all these contents are."""
        if self._new == self._rows and tree == self.tree:
            return
        rows = {path: [*stamp, sha] for path, (stamp, sha) in self._new.items()}
        temp = self._path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            temp.write_text(
                json.dumps({"form": _FORM, "tree": tree, "files": rows}), encoding="ascii"
            )
            os.rename(temp, self._path)  # noqa: PTH104  (one call to watch)
        except OSError:
            with contextlib.suppress(OSError):
                temp.unlink()
