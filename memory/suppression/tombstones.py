"""Tombstones: the list of forgotten texts, and look-ups in it."""

import datetime as dt
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jenny.agent.messages import clean
from jenny.workspace import paths, transactions
from jenny.workspace.file_cache import GrowingFile, Kept
from jenny.workspace.write_rules import Actor, Change
from memory import ledgers
from memory.errors import NotForgotten
from memory.facts import ID_DIGITS, Fact, digest, normal, sentences, units
from memory.ledgers import land
from memory.paraphrases import ParaphraseMatcher, Sought, is_statement, is_value
from memory.text_similarity import Index

PATH = "memory/.forgotten.jsonl"
# Longer texts are compared by their sentences.
_COMPARED_CHARS = 2_000
_RELEVANT_CHARS = 100_000
# A label of at most 60 characters, and what it says.
_LABEL = re.compile(r".{0,60}?(?:: |：)(.+)", re.DOTALL)
# When more tombstones were added, all are indexed again.
_MOST_ADDED = 64


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A forgotten text with the time (UTC, ISO), the actor and its file.

    *is_replaced*: a person wrote another wording or value instead. Dream may not write the old
    one again, but a restore of the file brings it back; it is recognised by its own words only,
    since the new line may have them all. *about*: the subject of the line that the text was cut
    out of. *value*: the words that it was asked for by, when no other line had them: no sentence
    may have them.
    """

    id: str
    text: str
    at: str
    actor: str = ""
    run: str = ""
    path: str = ""
    heading: str = ""
    about: str = ""
    value: str = ""
    is_replaced: bool = False

    @property
    def day(self) -> str:
        return self.at[:10] or "an unknown day"

    @property
    def key(self) -> str:
        """The normal form of what is forgotten of whom."""
        return normal(f"{self.about} {self.text}")


@dataclass(frozen=True, eq=False)
class State:
    """The tombstones that hold, newest last, with indexes.

    ``base`` and ``added`` are the same tombstones in two parts: new ones get an index of their own,
    and the index of the others stays.
    """

    active: tuple[Tombstone, ...] = ()
    skipped: tuple[int, ...] = ()
    problem: str = ""
    base: "State | None" = None
    added: "State | None" = None

    def extended(self, more: Sequence[Tombstone]) -> "State":
        """Return the state with *more* tombstones, whose ids are new."""
        base, added = self.base or self, self.added.active if self.added else ()
        active = (*self.active, *more)
        if len(added) + len(more) > _MOST_ADDED:
            return State(active, self.skipped, self.problem)
        return State(active, self.skipped, self.problem, base, State((*added, *more)))

    @cached_property
    def for_restores(self) -> "State":
        """Return the state without replaced texts, which a restore brings back."""
        active = tuple(row for row in self.active if not row.is_replaced)
        if len(active) == len(self.active):
            return self
        return State(active, self.skipped, self.problem)

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """Return the id of each tombstone by its key."""
        if self.base is not None and self.added is not None:
            return {**self.base.ids, **self.added.ids}
        return {row.key: row.id for row in self.active}

    def match(self, text: str | Fact) -> Tombstone | None:
        """Return the tombstone of what the text, or a sentence of it, says, in whatever words."""
        if not self.active:
            return None
        if self.base is not None and self.added is not None:
            return self.base.match(text) or self.added.match(text)
        context = "" if isinstance(text, str) else f"{text.heading}: {text.under}"
        key = f"{self._number}:{context}:{text if isinstance(text, str) else text.text}"
        if len(key) > _COMPARED_CHARS:
            key = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        kept = _MATCHED.get(key)
        if kept is None:
            kept = (self._matched(text, context),)
            _MATCHED.put(key, kept)
        return kept[0]

    def _matched(self, text: str | Fact, context: str) -> Tombstone | None:
        for candidate in candidates(text):
            at = self._index.find(candidate)
            if at is not None and not self.active[at].about:
                return self.active[at]
        for unit in units(text):
            for at in self._paraphrases.matches(unit, context):
                return self._in_words[at][0]
        return None

    def stated(self, text: str) -> list[Tombstone]:
        """Return the tombstones that a person states again in *text*, in any wording."""
        if self.base is not None and self.added is not None:
            return self.base.stated(text) + self.added.stated(text)
        return [self._in_words[at][0] for at in sorted(self._paraphrases.stated(text))]

    @cached_property
    def _index(self) -> Index:
        return Index(row.text for row in self.active)

    @cached_property
    def _paraphrases(self) -> ParaphraseMatcher:
        return ParaphraseMatcher(one for _, one in self._in_words)

    @cached_property
    def _in_words(self) -> tuple[tuple[Tombstone, Sought], ...]:
        return tuple(
            (row, one) for row in self.active if not row.is_replaced for one in sought(row)
        )

    @cached_property
    def _number(self) -> int:
        return next(_NUMBERS)


def sought(row: Tombstone) -> Iterator[Sought]:
    """Yield what a tombstone forbids to say."""
    yield Sought(row.text, row.about, not row.path and not row.about and is_value(row.text))
    if row.value:
        yield Sought(row.value, is_value=True)


def candidates(text: str | Fact) -> Iterator[str]:
    """Yield the parts of a text to compare: the whole, its sentences, and what follows a colon."""
    whole = text if isinstance(text, str) else text.text
    if len(whole) <= _COMPARED_CHARS:
        yield whole
    parts = units(text)
    yield from (part for part in parts if part != whole)
    for part in parts:
        inner = sentences(part)
        yield from inner if len(inner) > 1 else ()
        label = _LABEL.match(part)
        if label and len(normal(label[1]).split()) > 1:
            yield label[1]


def state(root: Path) -> State:
    """Read what is forgotten in the workspace from its file."""
    try:
        return _STATES.read(root).state
    except OSError as error:
        return State(problem=f"{PATH} cannot be read: {error.strerror or error}.")


def list_tombstones(root: Path) -> tuple[Tombstone, ...]:
    return state(root).active


def match(where: Path | Sequence[Tombstone], text: str | Fact) -> Tombstone | None:
    """Return the tombstone of what *text*, or a sentence of it, says, in whatever words. *where*
    is a workspace's folder or a list of tombstones."""
    found = state(where) if isinstance(where, Path) else State(tuple(where))
    return found.match(text)


def matching_ids(root: Path, texts: Iterable[str | Fact]) -> list[str]:
    """Return the ids of all tombstones of what the texts say."""
    left = state(root)
    ids: list[str] = []
    for text in texts:
        while (found := left.match(text)) is not None:
            ids.append(found.id)
            left = State(tuple(row for row in left.active if row.id != found.id))
    return ids


def find_tombstone(root: Path, prefix: str) -> Tombstone:
    """Return the tombstone with an id that begins like this.

    Raises:
        NotForgotten: no tombstone or several have this id.
    """
    found = [row for row in list_tombstones(root) if row.id.startswith(prefix.strip().lower())]
    if len(found) != 1 or not prefix.strip():
        what = "several things" if found else "nothing"
        raise NotForgotten(f"{what.capitalize()} forgotten has the id {prefix.strip()!r}.")
    return found[0]


def lift_tombstone(root: Path, prefix: str, actor: Actor) -> Tombstone:
    """Lift a tombstone by its id or the beginning of it. What only the history says is shown to
    Dream again by ``memory.services.forgotten_facts``.

    Raises:
        NotForgotten: no tombstone or several have this id.
        WriteFailed, LockTimeout: it stays forgotten.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        found = find_tombstone(real, prefix)
        land(real, remove_tombstones(real, [found.id], actor, "lifted by hand"))
    return found


def restated(root: Path, text: str, said_at: dt.datetime) -> tuple[Tombstone, ...]:
    """Lift what the user states again in *text*, said at *said_at* (aware), and return it. Later
    tombstones stay.

    Raises:
        WriteFailed, LockTimeout: nothing was lifted.
    """
    now = state(root)
    if not now.active:
        return ()
    said = said_at.astimezone(dt.UTC).isoformat(timespec="microseconds")

    def chosen(now: State) -> list[Tombstone]:
        found = [row for row in now.stated(text) if row.at < said]
        lines = text.split("\n") if len(text) < _RELEVANT_CHARS else []
        exact = (now.match(line.strip()) for line in lines if is_statement(line))
        return list(dict.fromkeys([*found, *(row for row in exact if row and row.at < said)]))

    if not chosen(now):
        return ()
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        found = chosen(state(real))
        if found:
            who = Actor("chat", reason="said again")
            land(real, remove_tombstones(real, [row.id for row in found], who, "said again"))
    return tuple(found)


def remove_tombstones(
    root: Path, ids: Iterable[str], actor: Actor, reason: str, old: Change | None = None
) -> list[Change]:
    """Return the change that lifts these tombstones; call it under the workspace's lock."""
    rows: list[dict[str, Any]] = [
        {"lifted": one, "at": ledgers.now(), "actor": actor.kind, "reason": reason}
        for one in dict.fromkeys(ids)
    ]
    return [ledgers.added(root, PATH, rows, old)] if rows else []


def add_tombstones(
    root: Path, dead: Sequence[Tombstone], actor: Actor, old: Change | None = None
) -> list[Change]:
    """Return the change that adds tombstones unless they hold already; call it under the lock."""
    known = set(state(root).ids)
    rows: list[dict[str, Any]] = []
    for row in dead:
        if (said := row.key) in known:
            continue
        known.add(said)
        entry: dict[str, Any] = {"id": row.id, "text": row.text, "at": row.at, "actor": actor.kind}
        entry |= {
            key: value
            for key in ("path", "heading", "about", "value")
            if (value := getattr(row, key))
        }
        if row.is_replaced:
            entry["replaced"] = True
        if actor.run:
            entry["run"] = actor.run
        if actor.account is not None:
            entry["account"] = actor.account
        rows.append(entry)
    return [ledgers.added(root, PATH, rows, old)] if rows else []


def ids_of(root: Path, dead: Iterable[Tombstone]) -> tuple[str, ...]:
    """Return the ids of these texts. An existing tombstone keeps its id, which an earlier version
    may have made differently."""
    known = state(root).ids
    return tuple(dict.fromkeys(known.get(row.key, row.id) for row in dead))


def tombstone(text: str, *, path: str = "", heading: str = "", about: str = "") -> Tombstone:
    """A new tombstone for a text."""
    plain = clean(text).strip()
    one = digest(f"{about} {plain}")[:ID_DIGITS]
    return Tombstone(one, plain, ledgers.now(), path=path, heading=heading, about=about)


def state_of(found: ledgers.Ledger) -> State:
    active: dict[str, Tombstone] = {}
    for row in found.rows:
        lifted = row.get("lifted")
        if isinstance(lifted, str):
            active.pop(lifted, None)
        elif (one := _tombstone_of(row)) is not None:
            active.pop(one.id, None)
            active[one.id] = one
    return State(tuple(active.values()), found.skipped, found.problem)


def _tombstone_of(row: Mapping[str, Any]) -> Tombstone | None:
    """Return the tombstone that a row of the ledger adds."""
    one, text = row.get("id"), row.get("text")
    if not (isinstance(one, str) and isinstance(text, str) and normal(text)):
        return None
    row_facts = {
        key: row.get(key) for key in ("at", "actor", "run", "path", "heading", "about", "value")
    }
    facts = {key: value for key, value in row_facts.items() if isinstance(value, str)}
    is_replaced = row.get("replaced") is True
    return Tombstone(one, text, **({"at": ""} | facts), is_replaced=is_replaced)


@dataclass(frozen=True, slots=True)
class _Known:
    """The state that the ledger gives, and the newest time in it."""

    state: State
    newest: str


def _derive(before: _Known | None, data: bytes) -> _Known | None:
    """Return the state after the lines in *data*. Lines that only add tombstones get an index of
    their own; any other line needs the whole ledger (``None``)."""
    if not data:
        return _NOTHING
    ledger = ledgers.parsed(data)
    times = [at if isinstance(at := row.get("at"), str) else "" for row in ledger.rows]
    if before is None:
        return _Known(state_of(ledger), max(times, default=""))
    more = [row for row in map(_tombstone_of, ledger.rows) if row is not None]
    ids = {row.id for row in more}
    order = [before.newest, *times, ledgers.now()]
    is_plain = (
        len(ids) == len(ledger.rows)
        and ids.isdisjoint(row.id for row in before.state.active)
        and not ledger.skipped
        and not any("lifted" in row for row in ledger.rows)
        and order == sorted(order)
    )
    return _Known(before.state.extended(more), max(times)) if is_plain and more else None


# One object, so that caches that compare states find it unchanged.
_NOTHING = _Known(State(), "")
_STATES: GrowingFile[_Known] = GrowingFile(
    PATH, lambda root: ledgers.content(root, PATH) or b"", _derive
)
# The tombstone of a line, by the state's number and the line. A page or a prompt shows a few
# hundred lines of a workspace.
_MATCHED: Kept[tuple[Tombstone | None]] = Kept(20_000)
_NUMBERS = itertools.count()
