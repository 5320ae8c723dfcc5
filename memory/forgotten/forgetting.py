"""Forgetting on request: the lines go from every file, and the tombstones say they stay away."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import acts
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.rules import Actor
from memory import files, ledger, skills
from memory.errors import NotForgotten
from memory.facts import Fact, fold, normal, stated, units
from memory.forgotten import stones
from memory.forgotten.stones import Tombstone
from memory.near import is_near

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# Words that stand in more lines than this are no description of one thing.
MOST_LINES = 5
MOST_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Forgot:
    """What came of it: the lines removed, by file; the ids of the tombstones; a sentence."""

    removed: dict[str, tuple[str, ...]]
    ids: tuple[str, ...]
    sentence: str


def forget(root: Path, text: str, actor: Actor) -> Forgot:
    """Take what says *text* out of the memory files and skills, and keep it from coming back.

    *text* is a statement, or words that stand in the lines meant. What goes is archived, so that
    it can be brought back.

    Raises:
        NotForgotten: there is nothing in *text*, or its words stand in too many lines.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    wanted = " ".join(clean(text).split())
    if not any(map(str.isalnum, wanted)) or len(wanted) > MOST_CHARS:
        what = "say what is to be forgotten" if len(wanted) <= MOST_CHARS else "say it shorter"
        raise NotForgotten(f"Nothing was forgotten: {what}.")
    workspace = open_workspace(root, replace(actor, reason=actor.reason or "forgotten"))
    with acts.locked(workspace.root):
        found = _found(workspace, wanted)
        new, removed = _taken_out(workspace, found)
        dead = [
            stones.tombstone(unit, path=path, heading=fact.heading)
            for path, rows in found.items()
            for fact, parts in rows
            for unit in parts
        ]
        if not dead or _is_statement(wanted):
            dead.append(stones.tombstone(wanted))
        ids = tuple(dict.fromkeys(row.id for row in dead))
        first = stones.burying(workspace.root, dead, actor)
        if new:
            workspace.write_many(new, first=first)
        elif first:
            ledger.land(workspace.root, first)
    return Forgot(removed, ids, _told(removed, dead))


type _Found = dict[str, list[tuple[Fact, tuple[str, ...]]]]


def _found(workspace: Workspace, wanted: str) -> _Found:
    """The facts that say it, with the sentences of them that do; else those in which its words
    stand."""
    near: _Found = {}
    words: _Found = {}
    sought = [fold(word) for word in normal(wanted).split()]
    for path in _paths(workspace):
        for fact in stated(_data(workspace, path)):
            if fact.kind == "comment":
                continue
            parts = tuple(unit for unit in units(fact) if is_near(unit, wanted))
            if is_near(fact.text, wanted):
                near.setdefault(path, []).append((fact, units(fact)))
            elif parts:
                near.setdefault(path, []).append((fact, parts))
            else:
                parts = tuple(unit for unit in units(fact) if _has_all(unit, sought))
                if parts:
                    words.setdefault(path, []).append((fact, parts))
    if near:
        return near
    lines = [fact for rows in words.values() for fact, _ in rows]
    if len(lines) > MOST_LINES:
        shown = "; ".join(f"“{' '.join(fact.text.split())[:60]}”" for fact in lines[:MOST_LINES])
        message = (
            f"Nothing was forgotten: these words stand in {len(lines)} lines, such as {shown}. "
            "Say which one, as it stands there."
        )
        raise NotForgotten(message)
    return words


def _has_all(unit: str, sought: list[str]) -> bool:
    there = set(normal(unit).split())
    return all(word in there for word in sought)


def _paths(workspace: Workspace) -> Iterator[str]:
    yield from files.BY_PATH
    for skill in skills.listing(workspace.root):
        if workspace.exists(skill.path):
            yield skill.path


def _data(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.read(path, limit=64_000_000).data if workspace.exists(path) else None
    except WorkspaceError:
        return None


def _taken_out(
    workspace: Workspace, found: _Found
) -> tuple[Mapping[str, bytes], dict[str, tuple[str, ...]]]:
    """The files without what is to go, and what goes."""
    new, removed = {}, {}
    for path, rows in found.items():
        lines: list[bytes] = _LINE.findall(_data(workspace, path) or b"")
        for fact, parts in rows:
            _take_out(lines, fact, parts)
        new[path] = b"".join(lines)
        removed[path] = tuple(unit for _, parts in rows for unit in parts)
    return new, removed


def _take_out(lines: list[bytes], fact: Fact, parts: tuple[str, ...]) -> None:
    """Take a fact's lines out, or, where it stands on one line, only the sentences that go."""
    first, last = fact.first - 1, fact.last
    kept = [unit for unit in units(fact) if unit not in parts]
    line = b"".join(lines[first:last])
    rest = b""
    if kept and last - first == 1:
        rest = line.replace(fact.text.encode(), " ".join(kept).encode())
        rest = b"" if rest == line else rest
    lines[first:last] = [rest, *([b""] * (last - first - 1))]


def _is_statement(text: str) -> bool:
    """Whether the words may be a fact by themselves, and not only name one."""
    return len(normal(text).split()) > 2  # noqa: PLR2004 - two words name a thing


def _told(removed: Mapping[str, tuple[str, ...]], dead: list[Tombstone]) -> str:
    count = sum(map(len, removed.values()))
    if not count:
        return (
            "No memory file says this. It is noted as forgotten, so Jenny does not learn it again "
            "by herself."
        )
    where = ", ".join(removed)
    lines = "1 line" if count == 1 else f"{count} lines"
    newest = dead[0].id
    return (
        f"Forgotten: {lines} in {where}. Jenny does not learn it again by herself. A copy is kept "
        f"so that it can be undone ({newest})."
    )
