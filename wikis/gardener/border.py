"""The gardener's border: pages of a project, and nothing else; and what it wrote there."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from jenny.workspace import diffs, names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.files import Change
from wikis import pages

ACTOR = "gardener"
_PARTS = 4  # wikis/<name>/wiki/<page>


def guard(change: Change) -> None:
    """Refuse what the gardener would write beside a wiki's pages. A write rule.

    Raises:
        WriteRefused: with rule ``protected``.
    """
    if change.actor.kind != ACTOR:
        return
    parts = change.path.split("/")
    is_page = len(parts) >= _PARTS and parts[0] == pages.WIKIS and parts[2] == pages.PAGES
    if not is_page or not pages.is_page(change.path):
        message = (
            f"{names.shown(change.path)} was not written: the gardener writes pages below "
            f"{pages.PAGES}/ and nothing else."
        )
        raise WriteRefused(message, "protected")


@dataclass(slots=True)
class Written:
    """What one run wrote: contents before and after, by path."""

    files: dict[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)

    def diff(self, limit: int) -> str:
        """All of it as a unified diff of about *limit* characters at most."""
        rows = [
            diffs.unified(path, old, new)
            for path, (old, new) in sorted(self.files.items())
            if old != new
        ]
        return diffs.bounded("".join(rows), limit)


_RUNS: dict[str, Written] = {}
_LOCK = threading.Lock()


@contextmanager
def watched(run: str) -> Iterator[Written]:
    """Note what the run of that name writes while the block lasts."""
    written = Written()
    with _LOCK:
        _RUNS[run] = written
    try:
        yield written
    finally:
        with _LOCK:
            _RUNS.pop(run, None)


def note(changes: Sequence[Change]) -> None:
    """See an act right before it lands (``jenny.workspace.rules.register_act_rule``)."""
    for change in changes:
        written = _RUNS.get(change.actor.run) if change.actor.kind == ACTOR else None
        if written is not None:
            first = written.files.get(change.path, (change.old, None))[0]
            written.files[change.path] = (first, change.new)
