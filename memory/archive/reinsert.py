"""Brings an archived text back: it is written under its heading through the write rules."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jenny.workspace import names, transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.write_rules import Actor
from memory import files, suppression
from memory.archive import store
from memory.archive.file_format import FORGOTTEN, Archived
from memory.errors import NotArchived
from memory.facts import decoded, facts, normal, stated
from memory.suppression import tombstones

_LINE_END = re.compile(rb"\r\n|\r|\n")
DEFAULT = "memory/MEMORY.md"
# Actors that may bring back forgotten texts: a person, by a click or a command.
_PEOPLE = frozenset({"browser", "command"})
_BULLETS = frozenset({"bullet", "numbered"})


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """The result: ``path`` and ``line`` of the text now; ``landed``: it was written just now."""

    item: Archived
    path: str
    line: int
    landed: bool
    message: str


def bring_back(root: Path, prefix: str, actor: Actor) -> BroughtBack:
    """Write an archived text back under its heading, which is created when it is missing.

    *prefix* is the beginning of its id. Forgotten texts come back only for a person and are
    unsuppressed.

    Raises:
        NotArchived: no text or several have this id, or it is forgotten.
        WriteRefused, WriteFailed, LockTimeout, …: as any write; nothing was changed.
    """
    item = _chosen(root, prefix)
    workspace = open_workspace(root, actor)
    path = item.source if item.source in files.BY_PATH else DEFAULT
    with transactions.lock_workspace(workspace.root):
        first = []
        found = suppression.match(workspace.root, item.as_fact)
        if found is not None:
            if actor.kind not in _PEOPLE:
                message = (
                    f"{item.id} was forgotten on {found.day}, so it is not brought back. It comes "
                    "back when the user says it again, or on the Memory page."
                )
                raise NotArchived(message)
            ids = tombstones.matching_ids(workspace.root, [item.as_fact])
            first = suppression.remove_tombstones(workspace.root, ids, actor, "brought back")
        data = _content(workspace, path)
        standing = _line_of(data, item)
        if standing:
            if first:
                suppression.land(workspace.root, first)
            sentence = f"It stands in {path} already, line {standing}. Nothing was written."
            return BroughtBack(item, path, standing, landed=False, message=sentence)
        new = _instead(data, item) or inserted(data, item)
        workspace.write_many({path: new}, first=first)
    line = _line_of(new, item)
    sentence = f"{item.id} is back in {path}, line {line}."
    return BroughtBack(item, path, line, landed=True, message=sentence)


@dataclass(frozen=True, slots=True)
class Standing:
    path: str
    line: int


def standing(root: Path, items: Iterable[Archived]) -> dict[str, Standing]:
    """Return where each text is in a memory file now, by id. Unreadable files are skipped."""
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


def _instead(data: bytes | None, item: Archived) -> bytes | None:
    """Return the file with the text in the place of the line that was left of it when a clause was
    forgotten; ``None`` when no such line stands there."""
    event = item.events[-1] if item.events else None
    if data is None or event is None or event.reason != FORGOTTEN or not event.now:
        return None
    standing = [fact for fact in stated(data) if normal(fact.text) == normal(event.now)]
    if len(standing) != 1 or "\n" in standing[0].text or "\n" in item.text:
        return None
    old, new = standing[0].text.encode(), item.text.encode()
    return data.replace(old, new, 1) if data.count(old) == 1 else None


def inserted(data: bytes | None, item: Archived) -> bytes:
    """Return the file with the text under its heading; all other bytes stay."""
    old = data or b""
    end = b"\r\n" if b"\r\n" in old else b"\n"
    at, heading = _insertion_point(decoded(data), item)
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


def _insertion_point(text: str, item: Archived) -> tuple[int, str]:
    """Return the index of the line before which the text is placed, and the heading to create, if
    any."""
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
        if fact.kind != "comment" or last.kind in {"heading", "comment"}:
            last = fact
    return last.last, ""


def _written(item: Archived) -> list[str]:
    first, *rest = item.text.split("\n")
    if item.kind in _BULLETS:
        return [f"- {first}", *(f"  {line}".rstrip() for line in rest)]
    return [first, *rest]


def _line_of(data: bytes | None, item: Archived) -> int:
    """Return the line of the text; 0 when it is not there."""
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
