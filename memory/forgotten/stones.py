"""The list of what was forgotten: read, asked, added to, lifted from."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jenny.agent.messages import clean
from jenny.workspace import acts, paths
from jenny.workspace.rules import Actor, Change
from jenny.workspace.stamped import StampedFiles
from memory import ledger
from memory.errors import NotForgotten
from memory.facts import ID_DIGITS, Fact, digest, normal, units
from memory.hearing import Ears, is_statement
from memory.ledger import land
from memory.near import Index

PATH = "memory/.forgotten.jsonl"
# Longer texts are compared as their sentences.
_COMPARED_CHARS = 2_000
_RELEVANT_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Something forgotten: its text, when (UTC, ISO), by whom, and the file it stood in."""

    id: str
    text: str
    at: str
    actor: str = ""
    run: str = ""
    path: str = ""
    heading: str = ""

    @property
    def day(self) -> str:
        """The day on which it was forgotten, in UTC."""
        return self.at[:10] or "an unknown day"


@dataclass(frozen=True)
class State:
    """The tombstones that hold, newest last, ready to be asked."""

    active: tuple[Tombstone, ...] = ()
    skipped: tuple[int, ...] = ()
    problem: str = ""

    @cached_property
    def index(self) -> Index:
        """For what is near."""
        return Index(row.text for row in self.active)

    @cached_property
    def ears(self) -> Ears:
        """For what is said in other persons and orders of words."""
        return Ears([row.text for row in self.active])

    def match(self, text: str | Fact) -> Tombstone | None:
        """The tombstone of which the text, or a sentence of it, is an exact or near duplicate."""
        if not self.active:
            return None
        for candidate in candidates(text):
            at = self.index.find(candidate)
            if at is not None:
                return self.active[at]
        return None

    def mentioned(self, line: str) -> Tombstone | None:
        """The tombstone that a line of the history speaks of, in whatever words of it."""
        found = self.match(line)
        if found is None and self.active:
            at = next(iter(self.ears.heard(line)), None)
            found = None if at is None else self.active[at]
        return found


def candidates(text: str | Fact) -> Iterator[str]:
    """What of a text is compared: the whole, its sentences, and what follows a colon."""
    whole = text if isinstance(text, str) else text.text
    if len(whole) <= _COMPARED_CHARS:
        yield whole
    parts = units(text)
    yield from (part for part in parts if part != whole)
    for part in parts:
        head, colon, rest = part.partition(": ")
        if colon and len(head) <= 60 and len(rest.split()) > 1:  # noqa: PLR2004 - a label before a colon
            yield rest


def state(root: Path) -> State:
    """What is forgotten in the workspace at *root*, as the file says it now."""
    return _derive(root) if ledger.is_odd(root, PATH) else _STATES.read(root)


def tombstones(root: Path) -> tuple[Tombstone, ...]:
    """What is forgotten and was not lifted, oldest first."""
    return state(root).active


def match(where: Path | Sequence[Tombstone], text: str) -> Tombstone | None:
    """The tombstone of which *text*, or a sentence of it, is an exact or near duplicate; *where*
    is a workspace's folder or a list of tombstones."""
    found = state(where) if isinstance(where, Path) else State(tuple(where))
    return found.match(text)


def relevant(root: Path, text: str, limit: int = 30) -> list[Tombstone]:
    """The tombstones that share most words with *text*, for a prompt; all of them when they are
    no more than *limit*."""
    active = state(root).active
    if len(active) <= limit:
        return list(active)
    said = set(normal(text[:_RELEVANT_CHARS]).split())
    scored = []
    for number, row in enumerate(active):
        words = set(normal(row.text).split())
        shared = sum(len(word) for word in words & said)
        scored.append((shared / (sum(map(len, words)) or 1), number, row))
    scored.sort(key=lambda entry: entry[:2], reverse=True)
    return [row for _, _, row in scored[:limit]]


def lift(root: Path, prefix: str, actor: Actor) -> Tombstone:
    """Let something be known again, by its id or the beginning of it.

    Raises:
        NotForgotten: nothing that is forgotten has this id, or several have.
        WriteFailed, LockTimeout: it stays forgotten.
    """
    real = paths.real_root(root)
    with acts.locked(real):
        found = [row for row in tombstones(real) if row.id.startswith(prefix.strip().lower())]
        if len(found) != 1 or not prefix.strip():
            what = "several things" if found else "nothing"
            raise NotForgotten(f"{what.capitalize()} forgotten has the id {prefix.strip()!r}.")
        land(real, lifting(real, [found[0].id], actor, "lifted by hand"))
    return found[0]


def restated(root: Path, text: str, said_at: dt.datetime) -> tuple[Tombstone, ...]:
    """Lift what the user states again in *text*, said at *said_at* (aware); what was forgotten
    after that stays so. What was lifted.

    Raises:
        WriteFailed, LockTimeout: nothing was lifted.
    """
    now = state(root)
    if not now.active:
        return ()
    said = said_at.astimezone(dt.UTC).isoformat(timespec="microseconds")

    def chosen(now: State) -> list[Tombstone]:
        heard = now.ears.stated(text)
        near = {id(row) for row in now.active if row.at < said}
        found = [row for at, row in enumerate(now.active) if at in heard and id(row) in near]
        lines = text.split("\n") if len(text) < _RELEVANT_CHARS else []
        exact = (now.match(line.strip()) for line in lines if is_statement(line))
        return list(dict.fromkeys([*found, *(row for row in exact if row and row.at < said)]))

    if not chosen(now):
        return ()
    real = paths.real_root(root)
    with acts.locked(real):
        found = chosen(state(real))
        if found:
            who = Actor("chat", reason="said again")
            land(real, lifting(real, [row.id for row in found], who, "said again"))
    return tuple(found)


def lifting(
    root: Path, ids: Iterable[str], actor: Actor, reason: str, old: Change | None = None
) -> list[Change]:
    """The change that lifts these tombstones; the workspace's lock is held."""
    rows: list[dict[str, Any]] = [
        {"lifted": one, "at": ledger.now(), "actor": actor.kind, "reason": reason}
        for one in dict.fromkeys(ids)
    ]
    return [ledger.added(root, PATH, rows, old)] if rows else []


def burying(
    root: Path, dead: Sequence[Tombstone], actor: Actor, old: Change | None = None
) -> list[Change]:
    """The change that adds tombstones, those that hold already left out; the lock is held."""
    known = {row.id for row in tombstones(root)}
    rows: list[dict[str, Any]] = []
    for row in dead:
        if row.id in known:
            continue
        known.add(row.id)
        entry: dict[str, Any] = {"id": row.id, "text": row.text, "at": row.at, "actor": actor.kind}
        entry |= {key: value for key in ("path", "heading") if (value := getattr(row, key))}
        if actor.run:
            entry["run"] = actor.run
        if actor.account is not None:
            entry["account"] = actor.account
        rows.append(entry)
    return [ledger.added(root, PATH, rows, old)] if rows else []


def tombstone(text: str, *, path: str = "", heading: str = "") -> Tombstone:
    """A new tombstone for a text."""
    plain = clean(text).strip()
    return Tombstone(digest(plain)[:ID_DIGITS], plain, ledger.now(), path=path, heading=heading)


def state_of(found: ledger.Ledger) -> State:
    """What is forgotten by such a ledger."""
    active: dict[str, Tombstone] = {}
    unknown = 0
    for row in found.rows:
        lifted, one, text = row.get("lifted"), row.get("id"), row.get("text")
        if isinstance(lifted, str):
            active.pop(lifted, None)
        elif isinstance(one, str) and isinstance(text, str) and normal(text):
            active.pop(one, None)
            told = {key: row.get(key) for key in ("at", "actor", "run", "path", "heading")}
            facts = {key: value for key, value in told.items() if isinstance(value, str)}
            active[one] = Tombstone(one, text, **({"at": ""} | facts))
        else:
            unknown += 1
    return State(tuple(active.values()), found.skipped, found.problem)


def _derive(root: Path) -> State:
    return state_of(ledger.read(paths.real_root(root), PATH))


_STATES: StampedFiles[State] = StampedFiles((PATH,), _derive)
