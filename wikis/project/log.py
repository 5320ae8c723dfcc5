"""A project's log: one file a day, ``log/YYYYMMDD.md``, one line a fact, only added to.

What a conversation notes, and what is left of it when it is summarised, stands there until the
gardener (or a person) makes pages of it.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jenny.workspace import names
from jenny.workspace.files import Workspace
from wikis import pages

# Characters of one line; what a person or a model notes is a fact, not a page.
LINE_CHARS = 1_000
_SPACE = re.compile(r"\s+")
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_MARK = re.compile(r"^\[\w+\][:]?\s*")


def path_of(day: datetime) -> str:
    """The log of a day, from the wiki's folder. *day*: in the person's zone."""
    return f"{pages.LOG}/{day:%Y%m%d}.md"


def line(fact: str, now: datetime) -> str:
    """A fact as a line of the log, with the time of day; empty when it says nothing."""
    text = _MARK.sub("", _SPACE.sub(" ", _BULLET.sub("", fact)).strip()).strip()
    if not text:
        return ""
    if len(text) > LINE_CHARS:
        text = text[: LINE_CHARS - 1].rstrip() + "…"
    return f"- {now:%H:%M} — {text}"


def add(workspace: Workspace, facts: Sequence[str], now: datetime, *, mark: str = "") -> str:
    """Add facts to the log of the day *now*; its path from the workspace, empty when nothing was
    added. *workspace* is opened within the project's folder.

    *mark*: what the lines come from. Lines with the same mark are not added twice, on any of the
    log's last days.

    Raises:
        WorkspaceError: nothing was added.
    """
    lines = [made for fact in facts if (made := line(fact, now))]
    if not lines:
        return ""
    note = f"<!-- {mark} -->" if mark else ""
    path = path_of(now)
    if note and any(note in text for text in _newest(workspace)):
        return ""

    def added(old: bytes | None) -> bytes:
        before = old or f"# {now:%Y-%m-%d}\n\n".encode()
        if not before.endswith(b"\n"):
            before += b"\n"
        return before + "".join(f"{one}\n" for one in (*lines, *([note] if note else []))).encode()

    written = workspace.edit(path, added)
    return written.path if written is not None else ""


def days(workspace: Workspace) -> list[str]:
    """The files of the log, from the workspace, oldest first."""
    if not workspace.exists(pages.LOG):
        return []
    found = [entry for entry in workspace.list(pages.LOG) if entry.kind == "file"]
    return sorted(entry.path for entry in found if Path(entry.path).suffix == ".md")


def unread(workspace: Workspace) -> list[str]:
    """What is called like a file of the log and is none, each with what it is, in a sentence."""
    if not workspace.exists(pages.LOG):
        return []
    found = [
        entry
        for entry in workspace.list(pages.LOG)
        if Path(entry.path).suffix == ".md" and entry.kind != "file"
    ]
    return [
        f"{names.shown(entry.path)} is a {entry.kind} and no file, so nothing in it was read."
        for entry in sorted(found, key=lambda entry: entry.path)
    ]


def _newest(workspace: Workspace, count: int = 3) -> list[str]:
    newest = (workspace.read(path).data for path in days(workspace)[-count:])
    return [data.decode("utf-8", "replace") for data in newest]
