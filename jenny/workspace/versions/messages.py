"""Compose and parse the messages of versions.

Subject, then lines such as ``Actor: chat``, then the files with their counts, then a bounded diff.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from jenny.workspace import diffs
from jenny.workspace.git.objects import IDENTITY, Commit, is_id

type VersionKind = Literal["dream", "restore", "edits", "first", "foreign"]

UNDOABLE: tuple[VersionKind, ...] = ("dream", "restore")
SHORT = 8
DIFF_CHARS = 6000
EDITS = "chore: memory edits made outside a Dream run"
FIRST = "init: first version of the memory files"
BROUGHT_IN = "init: files brought in from outside"
UNDO_RUN = "undo:"
# The subject of a review's version, which is a part of a Dream run.
REVIEW = "dream: review pass"

_PREFIXES: dict[str, VersionKind] = {
    "dream:": "dream",
    "restore:": "restore",
    "chore:": "edits",
    "init:": "first",
}
_FILES_NAMED = 200


@dataclass(frozen=True, slots=True)
class Version:
    """A commit as the product sees it. ``when`` in seconds since 1970 (UTC).

    ``kind``: ``dream`` and ``restore`` can be undone; ``edits`` were made by ``actor`` outside
    Dream; ``first`` is the initial state; ``foreign`` was made by another program. ``cursor``:
    Dream's cursor at the beginning of the run, and after it. ``undoes``: the id of the version that
    this one reverted.
    """

    sha: str
    parent: str | None
    when: int
    kind: VersionKind
    subject: str
    body: str
    actor: str = ""
    runs: tuple[str, ...] = ()
    cursor: tuple[int, int | None] | None = None
    undoes: str | None = None

    @property
    def short(self) -> str:
        return self.sha[:SHORT]

    @property
    def can_be_undone(self) -> bool:
        """True when it is of a kind that can be undone, and has a version before it."""
        return self.kind in UNDOABLE and self.parent is not None


def compose(
    subject: str,
    facts: Sequence[tuple[str, str]],
    changes: Mapping[str, tuple[bytes | None, bytes | None]],
) -> str:
    """Compose a version's message; *changes* are contents before and after, by path."""
    rows, total = [], [0, 0]
    for path, (old, new) in sorted(changes.items()):
        found = diffs.counts(old, new)
        total = [total[0] + found.added, total[1] + found.removed]
        what = "binary or not UTF-8" if found.is_binary else f"+{found.added} -{found.removed}"
        mark = " (new)" if old is None else " (removed)" if new is None else ""
        rows.append(f"{diffs.plain_path(path)}: {what}{mark}")
    if len(rows) > _FILES_NAMED:
        rows[_FILES_NAMED:] = [f"… {len(rows) - _FILES_NAMED:,} more files"]
    count = f"{len(changes)} {'file' if len(changes) == 1 else 'files'}"
    parts = [
        subject,
        "\n".join(f"{name}: {value}" for name, value in facts),
        "\n".join([*rows, f"{count}, +{total[0]} -{total[1]}"] if rows else rows),
        _diff(changes),
    ]
    return "\n\n".join(part for part in parts if part)


def _diff(changes: Mapping[str, tuple[bytes | None, bytes | None]]) -> str:
    """Return the bounded diff in its fence; files that do not fit are left out."""
    text, left_out = "", 0
    for path, (old, new) in sorted(changes.items()):
        if len(text) >= DIFF_CHARS:
            left_out += 1
        else:
            text += diffs.unified(path, old, new)
    if not text:
        return ""
    text = diffs.bounded(text, DIFF_CHARS)
    if left_out:
        text += f"… {left_out:,} more {'file' if left_out == 1 else 'files'}\n"
    return diffs.fenced(text)


def parse_message(commit: Commit) -> Version:
    """Parse a commit as a version. Only lines before the first empty line of the body are read."""
    kind: VersionKind = "foreign"
    if commit.author == IDENTITY:
        kind = _PREFIXES.get(commit.subject.partition(" ")[0], "foreign")
    facts: dict[str, str] = {}
    if kind != "foreign":
        for line in commit.body.partition("\n\n")[0].split("\n"):
            name, _, value = line.partition(": ")
            facts.setdefault(name, value)
    undoes = facts.get("Undoes", "")
    runs = tuple(run for run in facts.get("Run", "").split(", ") if run)
    return Version(
        sha=commit.sha,
        parent=commit.parent,
        when=commit.when,
        kind=kind,
        subject=commit.subject,
        body=commit.body,
        actor=facts.get("Actor", ""),
        runs=runs,
        cursor=_cursor_in(facts.get("Cursor", "")),
        undoes=undoes if is_id(undoes) else None,
    )


def has_read(version: Version) -> bool:
    """True for a version of a run that read the history; a review does not."""
    return version.kind == "dream" and not version.subject.startswith(REVIEW)


def cursor_out(cursor: tuple[int, int | None]) -> str:
    return f"{cursor[0]}" if cursor[1] is None else f"{cursor[0]} to {cursor[1]}"


def _cursor_in(text: str) -> tuple[int, int | None] | None:
    """Parse the cursors; ``None`` when there are none."""
    found = re.fullmatch(r"(\d{1,18})(?: to (\d{1,18}))?", text, re.ASCII)
    return (int(found[1]), int(found[2]) if found[2] else None) if found else None
