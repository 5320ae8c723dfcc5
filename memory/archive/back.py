"""Bringing an archived text back: it is written under its heading again, through the funnel."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import acts, names
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.rules import Actor
from memory import files, forgotten
from memory.archive import store
from memory.archive.form import Archived
from memory.errors import NotArchived
from memory.facts import decoded, facts, normal, stated

_LINE_END = re.compile(rb"\r\n|\r|\n")
DEFAULT = "memory/MEMORY.md"
# Who may bring back what was forgotten: a person, by a click or a command.
_PEOPLE = frozenset({"browser", "command"})
_BULLETS = frozenset({"bullet", "numbered"})


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """What came of it. ``path``, ``line``: where the text stands now; ``landed``: it was written
    just now and had not stood there already."""

    item: Archived
    path: str
    line: int
    landed: bool
    sentence: str


def bring_back(root: Path, prefix: str, actor: Actor) -> BroughtBack:
    """Write an archived text to its file again, under its heading (made anew where it is gone).

    *prefix*: the beginning of its id. What was forgotten comes back only for a person, whose
    asking for it lifts that.

    Raises:
        NotArchived: no text has this id, or several have, or it was forgotten.
        WriteRefused, WriteFailed, LockTimeout, …: as any write; nothing was changed.
    """
    item = _chosen(root, prefix)
    workspace = open_workspace(root, actor)
    path = item.source if item.source in files.BY_PATH else DEFAULT
    with acts.locked(workspace.root):
        first = []
        found = forgotten.match(workspace.root, item.text)
        if found is not None:
            if actor.kind not in _PEOPLE:
                message = (
                    f"{item.id} was forgotten on {found.day}, so it is not brought back. It comes "
                    "back when the user says it again, or on the Memory page."
                )
                raise NotArchived(message)
            first = forgotten.lifting(workspace.root, [found.id], actor, "brought back")
        data = _content(workspace, path)
        standing = _line_of(data, item)
        if standing:
            if first:
                forgotten.land(workspace.root, first)
            sentence = f"It stands in {path} already, line {standing}. Nothing was written."
            return BroughtBack(item, path, standing, landed=False, sentence=sentence)
        new = inserted(data, item)
        workspace.write_many({path: new}, first=first)
    line = _line_of(new, item)
    sentence = f"{item.id} is back in {path}, line {line}."
    return BroughtBack(item, path, line, landed=True, sentence=sentence)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a text stands: a memory file, and the line."""

    path: str
    line: int


def standing(root: Path, items: Iterable[Archived]) -> dict[str, Standing]:
    """Which of the texts stand in a memory file again, by id; a file that cannot be read is passed
    over."""
    workspace = open_workspace(root, Actor("browser"))
    where: dict[str, Standing] = {}
    for path in files.BY_PATH:
        try:
            found = stated(_content(workspace, path))
        except WorkspaceError:
            continue
        for fact in found:
            where.setdefault(normal(fact.text), Standing(path, fact.first))
    return {item.id: where[text] for item in items if (text := normal(item.text)) in where}


def inserted(data: bytes | None, item: Archived) -> bytes:
    """The file's bytes with the text under its heading; all else stays byte for byte."""
    old = data or b""
    end = b"\r\n" if b"\r\n" in old else b"\n"
    at, heading = _place(decoded(data), item)
    starts = [0, *(match.end() for match in _LINE_END.finditer(old))]
    offset = starts[at] if at < len(starts) else len(old)
    before, after = old[:offset], old[offset:]
    if before and not before.endswith((b"\n", b"\r")):
        before += end
    block = _written(item)
    if item.kind not in _BULLETS:
        block = ["", *block, *([""] if after.strip() else [])]
    if heading:
        block = [*([""] if before.strip() else []), heading, "", *block]
    return before + b"".join(line.encode("utf-8") + end for line in block) + after


def _place(text: str, item: Archived) -> tuple[int, str]:
    """Before which line (from 0) it goes, and the heading that must be made first, if one."""
    found = facts(text)
    if not item.heading:
        if not found:
            return text.count("\n") + 1, ""
        above = [fact for fact in found if not fact.heading and fact.kind != "heading"]
        return (above[-1].last, "") if above else (text.count("\n") + 1, "")
    section = [fact for fact in found if normal(fact.heading) == normal(item.heading)]
    if not section:
        return text.count("\n") + 1, f"## {item.heading}"
    last = section[0]
    for fact in found[found.index(section[0]) + 1 :]:
        if fact.kind == "heading":
            break
        # Guidance in a comment may stand before or behind what is said.
        if fact.kind != "comment" or last.kind in {"heading", "comment"}:
            last = fact
    return last.last, ""


def _written(item: Archived) -> list[str]:
    """The text as lines of a file."""
    first, *rest = item.text.split("\n")
    if item.kind in _BULLETS:
        return [f"- {first}", *(f"  {line}".rstrip() for line in rest)]
    return [first, *rest]


def _line_of(data: bytes | None, item: Archived) -> int:
    """The line in which the text stands; 0 when it does not."""
    sought = normal(item.text)
    found = facts(decoded(data))
    line = next((fact.first for fact in found if normal(fact.text) == sought), 0)
    if line or item.kind != "lines":
        return line
    return next((fact.first for fact in found if normal(fact.text) in sought), 0)


def _content(workspace: Workspace, path: str) -> bytes | None:
    if not workspace.exists(path):
        return None
    return workspace.read(path, limit=64_000_000).data


def _chosen(root: Path, prefix: str) -> Archived:
    found = store.find(root, prefix)
    if len(found) == 1:
        return found[0]
    shown = names.shown(prefix.strip())
    if not found:
        raise NotArchived(f"No archived text has an id that begins with {shown}.")
    ids = ", ".join(row.id for row in found[:10])
    raise NotArchived(f"Several archived texts have ids that begin with {shown}: {ids}.")
