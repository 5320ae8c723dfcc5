"""Archive before shrink: what leaves ``USER.md`` or ``memory/MEMORY.md`` is kept first, whoever
writes; the archive's file and the shorter memory file land as one act.

No losses are: headings and rules, what stands in a memory file (or in a skill of the same act)
after the act as well, and the guidance of an untouched template. A line reworded is a loss of the
old wording.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from jenny.workspace import seed
from jenny.workspace.rules import Actor, Change
from jenny.workspace.versions import scan
from memory import files
from memory.archive import form, store
from memory.archive.form import Archived, Event
from memory.facts import ID_DIGITS, Fact, digest, normal, stated
from memory.history.log import zone_of
from memory.near import Index, is_typo_of

ACTOR = Actor("pipeline", run="archive")
# So many texts of one act get a file each; of more, neighbours are kept together.
MOST = 1_000
_COMPARED = 400


def keep(changes: Sequence[Change]) -> list[Change]:
    """The files of the archive that must land before *changes*. A companion of every act."""
    found = leaving(changes)
    return archived(changes[0].workspace, found) if found else []


def leaving(changes: Sequence[Change]) -> list[Archived]:
    """What leaves the memory with an act."""
    return [row for change in changes for row in _leaving(change, changes)]


def id_of(item: Archived) -> str:
    """The id that a text gets, unless another one has it."""
    return digest(item.text)[:ID_DIGITS]


def archived(root: Path, items: Sequence[Archived]) -> list[Change]:
    """The changes of the archive that keep these texts."""
    found: dict[str, Change] = {}
    for item in items:
        change = _kept(root, item, found)
        found[change.path] = change
    return list(found.values())


def leaving_facts(old: bytes | None, new: bytes | None) -> list[Fact]:
    """What a file said and says no more; headings and rules apart."""
    if old is None or old == new:
        return []
    left = {normal(fact.text) for fact in stated(new)}
    return [fact for fact in stated(old) if normal(fact.text) not in left]


def taken_out(change: Change, facts: Iterable[Fact], added: Sequence[str]) -> list[Archived]:
    """The facts as the archive keeps them. *added*: what came in the same act."""
    rows = list(facts)
    file = files.memory_file(change.workspace, change.path)
    index = Index(added) if len(rows) * len(added) <= _COMPARED**2 else None
    event = Event(
        _today(change.workspace), change.actor.kind, change.actor.run, change.actor.reason
    )
    items = []
    for fact in rows:
        reason = event.reason or ("reworded" if _is_reworded(fact, added, index) else "removed")
        items.append(
            Archived(
                id="",
                text=fact.text,
                source=file.path if file else change.path,
                heading=fact.heading,
                events=(replace(event, reason=reason),),
                kind=fact.kind,
                under=fact.under,
            )
        )
    return _together(items)


def _leaving(change: Change, changes: Sequence[Change]) -> list[Archived]:
    """What of a file leaves the memory with the act."""
    file = files.memory_file(change.workspace, change.path)
    if file is None or not file.archived:
        return []
    gone = leaving_facts(change.old, change.new)
    if not gone:
        return []
    standing = _standing(change, changes)
    gone = [fact for fact in gone if normal(fact.text) not in standing]
    before = {normal(fact.text) for fact in stated(change.old)}
    added = [fact.text for fact in stated(change.new) if normal(fact.text) not in before]
    return taken_out(change, gone, added)


def _standing(change: Change, changes: Sequence[Change]) -> set[str]:
    """What is said elsewhere after the act, and what nobody wrote: the template's guidance."""
    own = files.memory_file(change.workspace, change.path)
    texts: list[bytes | None] = [seed.template(own.template)] if own else []
    after = {row.path: row.new for row in changes}
    for path, file in files.BY_PATH.items():
        if file is own:
            continue
        if path in after:
            texts.append(after[path])
        elif file.archived:
            texts.append(_on_disk(change.workspace, path))
    texts += [new for path, new in after.items() if files.skill_of(path) is not None]
    return {normal(fact.text) for text in texts if text for fact in stated(text)}


def _on_disk(root: Path, path: str) -> bytes | None:
    try:
        return scan.content(root, path)
    except OSError:
        return None


def _is_reworded(fact: Fact, added: Sequence[str], index: Index | None) -> bool:
    if index is None:
        return False
    return index.find(fact.text) is not None or any(
        is_typo_of(fact.text, added[at]) for at in index.alike(fact.text, 5)
    )


def _together(items: list[Archived]) -> list[Archived]:
    """Of very many texts, neighbours as one."""
    if len(items) <= MOST:
        return items
    size = -(-len(items) // MOST)
    return [
        replace(
            items[at],
            text="\n".join(_as_line(item) for item in items[at : at + size]),
            kind="lines",
        )
        for at in range(0, len(items), size)
    ]


def _as_line(item: Archived) -> str:
    return f"- {item.text}" if item.kind == "bullet" else item.text


def _kept(root: Path, item: Archived, pending: dict[str, Change]) -> Change:
    """The change that keeps one text: a new file, or one more event in the one that has it."""
    full = digest(item.text)
    for digits in range(ID_DIGITS, len(full) + 1):
        wanted = full[:digits]
        name = _name_of(root, wanted, pending)
        if name is None:
            path = f"{form.FOLDER}/{item.events[0].date}-{wanted}.md"
            return Change(path, None, form.render(replace(item, id=wanted)), ACTOR, root)
        path = f"{form.FOLDER}/{name}"
        waiting = pending.get(path)
        old = waiting.old if waiting else store.raw(root, name)
        data = waiting.new if waiting else old
        known = form.parse(name, data) if data is not None else None
        if known is not None and not known.problem and normal(known.text) == normal(item.text):
            new = form.render(form.with_event(known, item.events[0]))
            return Change(path, old, new, ACTOR, root)
    message = f"Every id of the archive for the text {item.text[:40]!r} is taken."
    raise FileExistsError(message)


def _name_of(root: Path, wanted: str, pending: dict[str, Change]) -> str | None:
    """The file that has just this id."""
    end = f"-{wanted}.md"
    waiting = (path.rpartition("/")[2] for path in pending)
    return next((name for name in waiting if name.endswith(end)), store.by_id(root).get(wanted))


def _today(root: Path) -> str:
    """The day in the workspace's zone."""
    try:
        zone: dt.tzinfo = ZoneInfo(zone_of(root))
    except (LookupError, ValueError, OSError):
        zone = dt.UTC
    return dt.datetime.now(zone).strftime("%Y-%m-%d")
