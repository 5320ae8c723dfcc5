"""What a person undid lately in files of which no archive is kept: SOUL.md and the skills."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from jenny.workspace import diffs
from jenny.workspace.errors import VersionsOff
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import open_history
from memory import files, suppression
from memory.facts import normal

MOST = 20
# Versions that are looked at, newest first: some days of runs.
_LOOKED_AT = 40


def lines(root: Path) -> tuple[tuple[str, str], ...]:
    """Each line with its file; what stands in the file again, or was forgotten, is none of them.
    *root*: the workspace's real folder."""
    try:
        found = dict.fromkeys(_lines(root))
    except VersionsOff:
        return ()
    return tuple(row for row in found if suppression.match(root, row[1]) is None)[:MOST]


def _lines(root: Path) -> Iterator[tuple[str, str]]:
    with open_history(root) as history:
        for version in islice(history.walk(), _LOOKED_AT):
            for change in history.changes(version) if version.undoes else ():
                if not _is_unarchived(change.path):
                    continue
                now = tracked_files.read_tracked_file(root, change.path)
                standing = {normal(line) for line in diffs.added_lines(None, now)}
                for line in diffs.added_lines(change.new, change.old):
                    if line.strip() and normal(line) not in standing:
                        yield change.path, line.strip()


def _is_unarchived(path: str) -> bool:
    file = files.BY_PATH.get(path)
    return not file.archived if file is not None else files.skill_of(path) is not None
