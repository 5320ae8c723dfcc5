"""Write rules of forgetting: what a person removes gets a tombstone, what they write again loses
it, and unattended writers may not write it."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from jenny.workspace import names
from jenny.workspace.errors import UndoRefused, WriteRefused
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.undo import FilteredLines, LeftOut
from jenny.workspace.write_rules import Change
from memory import files
from memory.approvals.diff import find_replacements
from memory.facts import Fact, decoded, facts, normal, stated, units
from memory.paraphrases import ParaphraseMatcher
from memory.suppression import tombstones
from memory.suppression.hide import filtered
from memory.suppression.tombstones import PATH, State, Tombstone
from memory.text_similarity import Index, is_typo_of

_MARK = b"\xef\xbb\xbf"


def lifted(state: State, data: bytes | None) -> list[str]:
    """Return the ids of replaced texts that the restored content has."""
    replaced = [row for row in state.active if row.is_replaced]
    if not replaced:
        return []
    back = State(tuple(replaced))
    return [tombstone.id for fact in stated(data) if (tombstone := back.match(fact)) is not None]


def filter_forgotten(root: Path, path: str, data: bytes) -> FilteredLines:
    """Return a memory file's or skill's content without forgotten lines; other files unchanged.

    All other bytes stay, also invalid UTF-8.

    Raises:
        UndoRefused: the tombstones cannot be read now.
    """
    if files.memory_file(root, path) is None and files.skill_of(path) is None:
        return FilteredLines(data)
    return sifted(data, tombstones.state(root))


def sifted(data: bytes, state: State) -> FilteredLines:
    """Return the content without forgotten lines; lines that a person only replaced come back.

    Raises:
        UndoRefused: the tombstones cannot be read now.
    """
    if state.problem:
        message = f"{state.problem} Until it can be, nothing is undone. Nothing was changed."
        raise UndoRefused(message)
    mark = _MARK if data.startswith(_MARK) else b""
    found = filtered(state.for_restores, data.removeprefix(mark).decode("utf-8", "surrogateescape"))
    if not found.left_out:
        return FilteredLines(data)
    return FilteredLines(
        mark + found.text.encode("utf-8", "surrogateescape"),
        tuple(LeftOut(text, tombstone.id) for text, tombstone in found.left_out),
    )


# Actors whose removals add tombstones and whose additions lift them.
PEOPLE = frozenset({"browser", "outside"})
_SHOWN = 80
_STEP_WORDS = 4
_NO_FACTS = frozenset({"comment", "header"})
# With more pairs than this, typos are searched among the most similar lines only.
_ALIKE = 5


def guard(change: Change) -> None:
    """Refuse models what is forgotten: unattended writers everywhere, the chat in memory files and
    skills. A write rule.

    Raises:
        WriteRefused: with rule ``forgotten``; the answer is final.
    """
    is_asked = change.actor.is_unattended or (change.actor.kind == "chat" and is_watched(change))
    if change.new is None or not is_asked:
        return
    state = tombstones.state(change.workspace)
    if state.problem and change.actor.is_unattended:
        message = f"{state.problem} Until it can be, nothing is written here. Nothing was written."
        raise WriteRefused(message, "forgotten")
    if not state.active:
        return
    old = _said(change.old)
    before = {normal(unit) for fact in old for unit in (fact.text, *units(fact))}
    for fact in _said(change.new):
        if normal(fact.text) in before:
            continue
        if (found := state.match(fact)) is None:
            continue
        # A sentence counts under the heading where it stands.
        new = [row for row in _units(fact) if normal(row.text) not in before]
        said = next((row.text for row in new if state.match(row) is found), fact.text)
        if any(state.match(row) is not None for row in new) or len(new) == len(units(fact)):
            raise WriteRefused(_refusal(change, said, found), "forgotten")


def _units(fact: Fact) -> list[Fact]:
    return [replace(fact, text=unit) for unit in units(fact)]


def _said(data: bytes | None) -> list[Fact]:
    """Return what a file states, headings included, since models read these, too."""
    return [
        replace(fact, text=fact.text.strip("# ")) if fact.kind == "heading" else fact
        for fact in facts(decoded(data))
        if fact.kind != "rule"
    ]


def remember_removals(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of the tombstones by a person's write. It is asked for every write."""
    actor, root = changes[0].actor, changes[0].workspace
    if actor.kind not in PEOPLE | {"restore"} or any(row.path == PATH for row in changes):
        return []
    watched = [row for row in changes if is_watched(row)]
    if not watched:
        return []
    if actor.kind == "restore":
        now = tombstones.state(root)
        back = [one for row in watched for one in lifted(now, row.new)]
        return tombstones.remove_tombstones(root, back, actor, "restored")
    dead = [row for change in watched for row in _buried(change, changes)]
    found = tombstones.add_tombstones(root, dead, actor)
    state = tombstones.state(root)
    if state.active:
        said = _said_again(watched)
        texts = [*said, *(unit for fact in said for unit in _units(fact))]
        again = [row.id for text in texts if (row := state.match(text)) is not None]
        old = found[0] if found else None
        found = tombstones.remove_tombstones(root, again, actor, "written again", old) or found
    return found


def _said_again(changes: Sequence[Change]) -> list[Fact]:
    """Return what the write adds and is newest: an edit made outside is found later, and what was
    forgotten since is no longer in the file."""
    if changes[0].actor.kind != "outside":
        return _added(changes)
    found = []
    for change in changes:
        with contextlib.suppress(OSError):
            now = stated(tracked_files.read_tracked_file(change.workspace, change.path))
            there = {normal(fact.text) for fact in now}
            found += [fact for fact in _added([change]) if normal(fact.text) in there]
    return found


def is_watched(change: Change) -> bool:
    path = change.path
    is_skill = files.skill_of(path) is not None
    return is_skill or files.memory_file(change.workspace, path) is not None


def _buried(change: Change, changes: Sequence[Change]) -> list[Tombstone]:
    """Return the tombstones of what a person removed from a file."""
    gone = list(list_departed(change))
    if not gone:
        return []
    added = [unit for fact in _added(changes) for unit in {fact.text, *units(fact)}]
    standing = _standing(change)
    index = Index(added)
    replaced = _replaced(change)
    # What another line says as well was merged into it.
    remaining = [*added, *(unit for fact in stated(change.new) for unit in units(fact))]
    return [
        replace(
            tombstones.tombstone(text, path=change.path, heading=fact.heading),
            is_replaced=normal(text) in replaced,
        )
        for fact, text in gone
        if normal(text) not in standing
        and not _has_counterpart(text, added, index)
        and not any(map(ParaphraseMatcher([text]).matches, remaining))
    ]


def _replaced(change: Change) -> set[str]:
    """Return the normal forms of sentences that another wording or value replaces."""
    old, new = (
        [unit for fact in stated(data) for unit in units(fact)] for data in (change.old, change.new)
    )
    return {normal(text) for text in find_replacements(old, new)}


def list_departed(change: Change) -> Iterable[tuple[Fact, str]]:
    """Yield sentences that a file no longer states, without guidance in comments."""
    left = {normal(text) for fact in stated(change.new) for text in (fact.text, *units(fact))}
    # A step such as "Take flour" is no fact to suppress.
    least = _STEP_WORDS if files.skill_of(change.path) is not None else 1
    for fact in stated(change.old):
        if fact.kind in _NO_FACTS or normal(fact.text) in left:
            continue
        for unit in units(fact):
            plain = normal(unit)
            is_fact = any(map(str.isalnum, plain)) and (
                len(plain.split()) >= least or not plain.isascii()
            )
            if plain not in left and is_fact:
                yield fact, unit


def _added(changes: Sequence[Change]) -> list[Fact]:
    found = []
    for change in changes:
        before = {normal(fact.text) for fact in stated(change.old)}
        found += [fact for fact in stated(change.new) if normal(fact.text) not in before]
    return found


def _standing(change: Change) -> set[str]:
    """Return what the other memory files state: that was moved and not forgotten."""
    found: set[str] = set()
    for path, file in files.BY_PATH.items():
        if file is files.memory_file(change.workspace, change.path):
            continue
        try:
            data = tracked_files.read_tracked_file(change.workspace, path)
        except OSError:
            continue
        found |= {normal(text) for fact in stated(data) for text in (fact.text, *units(fact))}
    return found


def _has_counterpart(text: str, added: Sequence[str], index: Index) -> bool:
    """True when an addition says the same apart from typos."""
    if index.find(text) is not None:
        return True
    return any(is_typo_of(text, added[at]) for at in index.alike(text, _ALIKE))


def _refusal(change: Change, text: str, found: Tombstone) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
    way = "" if change.actor.is_unattended else " Only when they say it again can it be written."
    return (
        f"{names.shown(change.path)} was not written: the user asked on {found.day} that this be "
        f"forgotten: “{shown}”. That is final. Leave it out, here and in every other file.{way}"
    )
