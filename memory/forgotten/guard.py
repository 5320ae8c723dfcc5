"""The write rules of forgetting: what a person removes becomes a tombstone, what they write again
lifts it, and unattended writers are refused what is forgotten."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jenny.workspace import names
from jenny.workspace.errors import WriteRefused
from jenny.workspace.rules import Change
from jenny.workspace.versions import scan
from memory import files
from memory.facts import Fact, decoded, facts, normal, stated, units
from memory.forgotten import stones
from memory.forgotten.stones import PATH, Tombstone
from memory.near import Index, is_typo_of

UNATTENDED = frozenset({"dream", "review"})
# Whose removals say that something is to be forgotten, and whose additions that it is not.
PEOPLE = frozenset({"browser", "outside"})
_SHOWN = 80
_STEP_WORDS = 4
_NO_FACTS = frozenset({"comment", "header"})
# Beyond this many pairs, slips of the pen are looked for among the most similar lines only.
_ALIKE = 5


def guard(change: Change) -> None:
    """Refuse unattended writers what is forgotten. A write rule.

    Raises:
        WriteRefused: with rule ``forgotten``; the answer is final.
    """
    if change.actor.kind not in UNATTENDED or change.new is None:
        return
    state = stones.state(change.workspace)
    if state.problem:
        message = f"{state.problem} Until it can be, nothing is written here. Nothing was written."
        raise WriteRefused(message, "forgotten")
    if not state.active:
        return
    old = _said(change.old)
    before = {normal(unit) for fact in old for unit in (fact.text, *units(fact))}
    for fact in _said(change.new):
        if normal(fact.text) in before:
            continue
        for text in stones.candidates(fact):
            if normal(text) not in before and (found := state.match(text)) is not None:
                raise WriteRefused(_refusal(change.path, text, found), "forgotten")


def _said(data: bytes | None) -> list[Fact]:
    """All that a file says, in headings as well: there it would be read all the same."""
    return [
        replace(fact, text=fact.text.strip("# ")) if fact.kind == "heading" else fact
        for fact in facts(decoded(data))
        if fact.kind != "rule"
    ]


def remember_removals(changes: Sequence[Change]) -> list[Change]:
    """What a person's act does to the list of what is forgotten. A companion of every act."""
    if changes[0].actor.kind not in PEOPLE or any(row.path == PATH for row in changes):
        return []
    root = changes[0].workspace
    watched = [row for row in changes if is_watched(row)]
    if not watched:
        return []
    actor = changes[0].actor
    dead = [row for change in watched for row in _buried(change, changes)]
    found = stones.burying(root, dead, actor)
    state = stones.state(root)
    if state.active:
        again = [
            row.id
            for fact in _said_again(watched)
            for text in stones.candidates(fact)
            if (row := state.match(text)) is not None
        ]
        old = found[0] if found else None
        found = stones.lifting(root, again, actor, "written again", old) or found
    return found


def _said_again(changes: Sequence[Change]) -> list[Fact]:
    """What the act adds, as far as it is the newest word: an edit made outside is found long after
    it landed, and what was forgotten since stands in the file no more."""
    if changes[0].actor.kind != "outside":
        return _added(changes)
    found = []
    for change in changes:
        with contextlib.suppress(OSError):
            now = stated(scan.content(change.workspace, change.path))
            there = {normal(fact.text) for fact in now}
            found += [fact for fact in _added([change]) if normal(fact.text) in there]
    return found


def is_watched(change: Change) -> bool:
    """Whether the file is one that Jenny remembers by."""
    path = change.path
    is_skill = files.skill_of(path) is not None
    return is_skill or files.memory_file(change.workspace, path) is not None


def _buried(change: Change, changes: Sequence[Change]) -> list[Tombstone]:
    """The tombstones of what a person took out of a file."""
    gone = list(_departed(change))
    if not gone:
        return []
    added = [unit for fact in _added(changes) for unit in {fact.text, *units(fact)}]
    standing = _standing(change)
    index = Index(added)
    return [
        stones.tombstone(text, path=change.path, heading=fact.heading)
        for fact, text in gone
        if normal(text) not in standing and not _has_counterpart(text, added, index)
    ]


def _departed(change: Change) -> Iterable[tuple[Fact, str]]:
    """The sentences that a file said and says no more; guidance in comments apart."""
    left = {normal(text) for fact in stated(change.new) for text in (fact.text, *units(fact))}
    # A step such as "Take flour" is no fact that must never be written again.
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
    """What the act's files say that each of them did not say before."""
    found = []
    for change in changes:
        before = {normal(fact.text) for fact in stated(change.old)}
        found += [fact for fact in stated(change.new) if normal(fact.text) not in before]
    return found


def _standing(change: Change) -> set[str]:
    """What the other memory files say: what stands there was not forgotten, but moved."""
    found: set[str] = set()
    for path, file in files.BY_PATH.items():
        if file is files.memory_file(change.workspace, change.path):
            continue
        try:
            data = scan.content(change.workspace, path)
        except OSError:
            continue
        found |= {normal(text) for fact in stated(data) for text in (fact.text, *units(fact))}
    return found


def _has_counterpart(text: str, added: Sequence[str], index: Index) -> bool:
    """Whether what was added says the same, slips of the pen apart."""
    if index.find(text) is not None:
        return True
    return any(is_typo_of(text, added[at]) for at in index.alike(text, _ALIKE))


def _refusal(path: str, text: str, found: Tombstone) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
    return (
        f"{names.shown(path)} was not written: the user asked on {found.day} that this be "
        f"forgotten: “{shown}”. That is final. Leave it out, here and in every other file."
    )
