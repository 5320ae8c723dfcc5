import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

from jenny.agent.prompt import one_line
from jenny.workspace import seed
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Actor, Change
from memory import files
from memory.approvals.diff import find_replacements
from memory.archive import file_format, store
from memory.archive.file_format import CORRECTED, MOVED, REMOVED, REWORDED, Archived, Event
from memory.facts import ID_DIGITS, Fact, digest, digests, normal, stated
from memory.history.entries import zone_name
from memory.text_similarity import Index, is_typo_of

ACTOR = Actor("pipeline", run="archive")
# More texts of one write than this are grouped with their neighbours.
MOST = 1_000
_COMPARED = 400
_NOW_CHARS = 300


def archive_removed(changes: Sequence[Change]) -> list[Change]:
    """Return the archive files that must be written with *changes*. It is asked for every write."""
    found = leaving(changes)
    return archived(changes[0].workspace, found) if found else []


def leaving(changes: Sequence[Change]) -> list[Archived]:
    return [row for change in changes for row in _leaving(change, changes)]


def id_of(item: Archived) -> str:
    """Return the id of a text, unless another text has it."""
    return digest(item.text)[:ID_DIGITS]


def archived(root: Path, items: Sequence[Archived]) -> list[Change]:
    """Return the changes that archive these texts."""
    found: dict[str, Change] = {}
    for item in items:
        change = _kept(root, item, found)
        found[change.path] = change
    return list(found.values())


def leaving_facts(old: bytes | None, new: bytes | None) -> list[Fact]:
    """Return the facts that a file no longer states, without headings and rules."""
    if old is None or old == new:
        return []
    left = {normal(fact.text) for fact in stated(new)}
    return [fact for fact in stated(old) if normal(fact.text) not in left]


def taken_out(
    change: Change, facts: Iterable[Fact], added: Sequence[str], elsewhere: Sequence[str] = ()
) -> list[Archived]:
    """Convert facts to archived texts. *added* is what the same write adds to the file, *elsewhere*
    to others."""
    rows = list(facts)
    file = files.memory_file(change.workspace, change.path)
    texts = [[fact.text for fact in stated(data)] for data in (change.old, change.new)]
    successors = _Successors(find_replacements(*texts), added, elsewhere, len(rows))
    event = Event(
        _today(change.workspace), change.actor.kind, change.actor.run, change.actor.reason
    )
    items = []
    for fact in rows:
        reason, now = successors.of(fact.text)
        cause = reason if reason == REWORDED else event.reason or reason
        items.append(
            Archived(
                id="",
                text=fact.text,
                source=file.path if file else change.path,
                heading=fact.heading,
                events=(replace(event, reason=cause, now=now),),
                kind=fact.kind,
                under=fact.under,
            )
        )
    return _together(items)


def _leaving(change: Change, changes: Sequence[Change]) -> list[Archived]:
    """Return what a change removes from the memory."""
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
    elsewhere = [
        fact.text
        for row in changes
        if row is not change
        for fact in leaving_facts(row.new, row.old)
    ]
    return taken_out(change, gone, added, elsewhere)


def _standing(change: Change, changes: Sequence[Change]) -> set[str]:
    """Return what is stated elsewhere after the write, and the template's guidance."""
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
        return tracked_files.read_tracked_file(root, path)
    except OSError:
        return None


class _Successors:
    """Finds the line that took a text's place, and whether it says the same."""

    def __init__(
        self,
        replaced: Mapping[str, str],
        added: Sequence[str],
        elsewhere: Sequence[str],
        count: int,
    ) -> None:
        self._replaced = replaced
        self._added = added
        self._elsewhere = elsewhere
        is_small = count * (len(added) + len(elsewhere)) <= _COMPARED**2
        self._index = Index(added) if is_small else None
        self._others = Index(elsewhere) if is_small else None

    def of(self, text: str) -> tuple[str, str]:
        """Return why the text left, and the line that stands instead of it."""
        if self._index is None or self._others is None:
            return REMOVED, ""
        for reason, index, texts in (
            (REWORDED, self._index, self._added),
            (MOVED, self._others, self._elsewhere),
        ):
            at = index.find(text)
            if at is None:
                at = next((n for n in index.alike(text, 5) if is_typo_of(text, texts[n])), None)
            if at is not None:
                return reason, one_line(texts[at], _NOW_CHARS)
        now = self._replaced.get(text) or next(
            (self._added[at] for at in self._index.close(text, 1)), ""
        )
        return (CORRECTED, one_line(now, _NOW_CHARS)) if now else (REMOVED, "")


def _together(items: list[Archived]) -> list[Archived]:
    """Group very many texts with their neighbours."""
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
    """Return the change that archives one text: a new file, or one more removal in its file."""
    full, *earlier = digests(item.text)
    for one in earlier:
        # The same text may have the id that an earlier version made of it.
        name = _name_of(root, one[:ID_DIGITS], pending)
        if name and (change := _with_event(root, name, item, pending)):
            return change
    for digits in range(ID_DIGITS, len(full) + 1):
        wanted = full[:digits]
        name = _name_of(root, wanted, pending)
        if name is None:
            path = f"{file_format.FOLDER}/{item.events[0].date}-{wanted}.md"
            return Change(path, None, file_format.render(replace(item, id=wanted)), ACTOR, root)
        if change := _with_event(root, name, item, pending):
            return change
    message = f"Every id of the archive for the text {item.text[:40]!r} is taken."
    raise FileExistsError(message)


def _with_event(root: Path, name: str, item: Archived, pending: dict[str, Change]) -> Change | None:
    """Return the file of this name with one more removal when it holds the same text."""
    path = f"{file_format.FOLDER}/{name}"
    waiting = pending.get(path)
    old = waiting.old if waiting else store.raw(root, name)
    data = waiting.new if waiting else old
    known = file_format.parse(name, data) if data is not None else None
    if known is None or known.problem or normal(known.text) != normal(item.text):
        return None
    return Change(
        path, old, file_format.render(file_format.with_event(known, item.events[0])), ACTOR, root
    )


def _name_of(root: Path, wanted: str, pending: dict[str, Change]) -> str | None:
    """Return the name of the file with this very id."""
    end = f"-{wanted}.md"
    waiting = (path.rpartition("/")[2] for path in pending)
    return next((name for name in waiting if name.endswith(end)), store.by_id(root).get(wanted))


def _today(root: Path) -> str:
    """Return the day in the workspace's zone."""
    try:
        zone: dt.tzinfo = ZoneInfo(zone_name(root))
    except (LookupError, ValueError, OSError):
        zone = dt.UTC
    return dt.datetime.now(zone).strftime("%Y-%m-%d")
