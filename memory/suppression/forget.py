"""Forgets on request: finds what says a text, shows what goes, takes it out and adds tombstones."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from jenny.agent.messages import clean
from jenny.workspace import transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Workspace, open_workspace
from jenny.workspace.write_rules import Actor
from memory import files, ledgers, skills
from memory.errors import NotForgotten
from memory.facts import (
    ID_DIGITS,
    Fact,
    decoded,
    digest,
    normal,
    replaced_units,
    reworded,
    stated,
    units,
)
from memory.paraphrases import ParaphraseMatcher, is_value, names_people
from memory.suppression import tombstones
from memory.suppression.hide import cut_clause, has_clauses
from memory.suppression.tombstones import Tombstone
from memory.text_similarity import Index, is_near

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")
# Candidate lines that are shown.
_SHOWN_LINES = 12
MOST_CHARS = 4_000
# What no request to forget reaches.
EXCEPTED = "Wikis and your other files are not searched."


@dataclass(frozen=True, slots=True)
class ForgettableLine:
    """A line that says what is to be forgotten: as it stands, and as it would be (*new*; empty:
    the whole line goes). *gone* are the texts that would be forgotten, *about* the subject of a
    clause. *is_whole*: all of it says so; *is_clear*: nothing else goes with it."""

    id: str
    path: str
    heading: str
    line: int
    old: str
    new: str
    gone: tuple[str, ...]
    about: str = ""
    is_whole: bool = False
    is_clear: bool = True


@dataclass(frozen=True, slots=True)
class Forgot:
    """The result: removed texts by file, the lines as they were and are, ids of the tombstones,
    and a sentence. *undo*: the ids by which all of it is brought back: of archived lines that lost
    a clause, and of the other tombstones."""

    removed: dict[str, tuple[str, ...]]
    ids: tuple[str, ...]
    message: str
    lines: tuple[ForgettableLine, ...] = ()
    undo: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """The lines that went, as words: "1 line and a part of 2 lines in USER.md"."""
        whole = sum(not row.new for row in self.lines)
        parts = [f"{whole} line" + "s" * (whole != 1)] if whole else []
        cut = len(self.lines) - whole
        parts += [f"a part of {cut} line" + "s" * (cut != 1)] if cut else []
        return f"{' and '.join(parts)} in {', '.join(self.removed)}"


def forget(root: Path, text: str, actor: Actor) -> Forgot:
    """Remove what says *text* from memory files and skills, and suppress it.

    *text* is a statement, or words of one line or clause. Removed lines are archived, so that they
    can be brought back. Similar lines stay and are listed.

    Raises:
        NotForgotten: *text* is empty; several lines have its words; or what goes cannot be told
            from the rest of its line. Its ``lines`` are what may be meant.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    with transactions.lock_workspace(open_workspace(root, actor).root):
        found = lines_to_forget(root, text)
        if len({normal(row.old) for row in found}) > 1 or not all(row.is_clear for row in found):
            raise NotForgotten(_question(found), lines=found)
        return _forget(root, [text], found, actor)


def forget_lines(
    root: Path, text: str | Sequence[str], chosen: Collection[str], actor: Actor
) -> Forgot:
    """Forget those of ``lines_to_forget`` whose ids are *chosen*. What the others say as well stays
    known.

    Raises:
        NotForgotten: one of them stands there no more, or none was chosen.
        WriteRefused, WriteFailed, LockTimeout: nothing was changed.
    """
    with transactions.lock_workspace(open_workspace(root, actor).root):
        every = lines_to_forget(root, text)
        found = tuple(row for row in every if row.id in chosen)
        if not found or len(found) < len(set(chosen)):
            message = (
                "Nothing was forgotten: these lines have changed since they were shown. Look again."
            )
            raise NotForgotten(message, lines=every)
        kept = [row for row in every if row.id not in chosen]
        return _forget(root, [text] if isinstance(text, str) else text, found, actor, kept)


def choice_page(text: str, back: str = "") -> str:
    """Return the address of the page where a person ticks the lines of ``lines_to_forget``; *back*
    as that page's field of this name."""
    asked = {"words": text, "back": back} if back else {"words": text}
    return f"/memory/lines/forget?{urlencode(asked)}"


def note_wish(root: Path, text: str, actor: Actor) -> tuple[ForgettableLine, ...]:
    """Suppress what a person asked in a conversation to have forgotten, so that no model sees it,
    and return the lines that say it, which stay until the person has decided on them. When several
    may be meant, nothing is suppressed before that.

    Raises:
        WriteFailed, LockTimeout: nothing was changed.
    """
    workspace = open_workspace(root, actor)
    with transactions.lock_workspace(workspace.root):
        try:
            wanted = _wanted(text)
        except NotForgotten:
            return ()
        found = lines_to_forget(root, wanted)
        if len({normal(row.old) for row in found}) <= 1:
            left = [
                fact.text
                for path, fact in list_lines(workspace)
                if not _is_among(path, fact, found)
            ]
            dead = _dead(wanted, found, left)
            if any(row.about for row in found):
                # The person may have meant themselves.
                dead.append(tombstones.tombstone(wanted))
            if first := tombstones.add_tombstones(workspace.root, dead, actor):
                ledgers.land(workspace.root, first)
    return found


def file_without(root: Path, row: ForgettableLine) -> str:
    """Return the text of the line's file without what goes."""
    return decoded(_without(open_workspace(root, Actor("pipeline")), row.path, [row]))


def lines_to_forget(root: Path, text: str | Sequence[str]) -> tuple[ForgettableLine, ...]:
    """Return the lines of memory files and skills that say *text*; without any, those that have
    its words. Several texts are lines as they stand: all that say one of them are returned.

    Raises:
        NotForgotten: *text* is empty or too long.
    """
    stated = list(list_lines(open_workspace(root, Actor("pipeline"))))
    if isinstance(text, str):
        wanted = _wanted(text)
        return _near_lines(stated, wanted) or _named_lines(stated, wanted)
    found: dict[tuple[str, int], ForgettableLine] = {}
    for one in text:
        for row in _near_lines(stated, _plain(one)):
            place = row.path, row.line
            found[place] = row if row.is_whole else found.get(place, row)
    return tuple(found.values())


def _near_lines(stated: Iterable[tuple[str, Fact]], wanted: str) -> tuple[ForgettableLine, ...]:
    found = []
    for path, fact in stated:
        if is_near(fact.text, wanted):
            found.append(_line(path, fact, units(fact)))
        elif parts := tuple(unit for unit in units(fact) if is_near(unit, wanted)):
            found.append(_line(path, fact, parts))
    return tuple(found)


def _named_lines(stated: Iterable[tuple[str, Fact]], wanted: str) -> tuple[ForgettableLine, ...]:
    matcher = ParaphraseMatcher([wanted])
    return tuple(
        _named_line(path, fact, parts, wanted, matcher)
        for path, fact in stated
        if (parts := tuple(unit for unit in units(fact) if matcher.named(unit)))
    )


def _plain(text: str) -> str:
    return " ".join(clean(text).split())


def _wanted(text: str) -> str:
    wanted = _plain(text)
    if not any(map(str.isalnum, wanted)) or len(wanted) > MOST_CHARS:
        what = "say what is to be forgotten" if len(wanted) <= MOST_CHARS else "say it shorter"
        raise NotForgotten(f"Nothing was forgotten: {what}.")
    return wanted


def _line(path: str, fact: Fact, parts: Sequence[str]) -> ForgettableLine:
    """A line of which these sentences go."""
    return _forgettable(path, fact, replaced_units(fact, dict.fromkeys(parts, "")), parts)


def _named_line(
    path: str, fact: Fact, parts: Sequence[str], wanted: str, matcher: ParaphraseMatcher
) -> ForgettableLine:
    """A line of which only a clause goes, where it can be cut out."""
    found = _line(path, fact, parts)
    if len(parts) > 1:
        return replace(found, is_clear=False)
    cut = cut_clause(parts[0], wanted, lambda text: bool(matcher.named(text)))
    if cut is None:
        return replace(found, is_clear=not has_clauses(parts[0]))
    about = cut.head if names_people(cut.head) else ""
    return _forgettable(path, fact, replaced_units(fact, {parts[0]: cut.rest}), (cut.gone,), about)


def _forgettable(
    path: str, fact: Fact, new: str, gone: Sequence[str], about: str = ""
) -> ForgettableLine:
    one = digest(f"{path} {fact.heading} {fact.first} {fact.text} {new}")[:ID_DIGITS]
    return ForgettableLine(
        one, path, fact.heading, fact.first, fact.text, new, tuple(gone), about, is_whole=not new
    )


def _forget(
    root: Path,
    texts: Sequence[str],
    found: Sequence[ForgettableLine],
    actor: Actor,
    kept: Sequence[ForgettableLine] = (),
) -> Forgot:
    """Take the lines out and add the tombstones, under the workspace's lock. No tombstone says what
    a line says that is *kept*."""
    workspace = open_workspace(root, replace(actor, reason=actor.reason or "forgotten"))
    left = [fact.text for path, fact in list_lines(workspace) if not _is_among(path, fact, found)]
    # A line that is taken out says itself what was asked for.
    said = [one for row in found for one in row.gone] if len(texts) > 1 else []
    dead = _dead(_plain((said or texts)[0]), found, left)
    dead = [one for one in dead if one.about or not _says(kept, one.text)]
    ids = tombstones.ids_of(workspace.root, dead)
    first = tombstones.add_tombstones(workspace.root, dead, actor)
    new = {
        path: _without(workspace, path, found) for path in dict.fromkeys(row.path for row in found)
    }
    if new:
        workspace.write_many(new, first=first)
    elif first:
        ledgers.land(workspace.root, first)
    removed = {
        path: tuple(one for row in found if row.path == path for one in row.gone) for path in new
    }
    close = [] if found else [left[at] for at in Index(left).close(texts[0], _SHOWN_LINES)]
    undo = _undo(workspace.root, found, dead)
    done = Forgot(removed, ids, "", tuple(found), undo)
    return replace(done, message=_told(done, close))


def _says(rows: Sequence[ForgettableLine], text: str) -> bool:
    return any(is_near(one, text) for row in rows for one in (row.old, *row.gone))


def _undo(
    root: Path, found: Sequence[ForgettableLine], dead: Sequence[Tombstone]
) -> tuple[str, ...]:
    cut = [
        row for row in found if row.new and (file := files.BY_PATH.get(row.path)) and file.archived
    ]
    texts = {text for row in cut for text in row.gone}
    others = tombstones.ids_of(root, [row for row in dead if row.text not in texts])
    return (*(digest(row.old)[:ID_DIGITS] for row in cut), *others)


def _dead(wanted: str, found: Sequence[ForgettableLine], left: Sequence[str]) -> list[Tombstone]:
    """Return the tombstones of what goes, and of what was asked for. A value or a name is forgotten
    in every sentence when no other line has it."""
    dead = []
    for row in found:
        for one in row.gone:
            path = "" if row.new and not row.about and is_value(one) else row.path
            dead.append(tombstones.tombstone(one, path=path, heading=row.heading, about=row.about))
    if not dead or not is_value(wanted):
        return [*dead, tombstones.tombstone(wanted)]
    matcher = ParaphraseMatcher([wanted])
    if not any(row.about for row in found) and not any(map(matcher.named, left)):
        dead[0] = replace(dead[0], value=wanted)
    return dead


def list_lines(workspace: Workspace) -> Iterator[tuple[str, Fact]]:
    """Yield what the memory files and skills say, each with its file."""
    for path in _paths(workspace):
        for fact in stated(_data(workspace, path)):
            if fact.kind != "comment":
                yield path, fact


def _is_among(path: str, fact: Fact, found: Sequence[ForgettableLine]) -> bool:
    return any((row.path, row.line, row.old) == (path, fact.first, fact.text) for row in found)


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


def _without(workspace: Workspace, path: str, found: Sequence[ForgettableLine]) -> bytes:
    """Return the file without what goes."""
    data = _data(workspace, path)
    lines: list[bytes] = _LINE.findall(data or b"")
    for fact in stated(data):
        row = next((row for row in found if _is_among(path, fact, [row])), None)
        if row is None:
            continue
        first, last = fact.first - 1, fact.last
        rest = _reworded(b"".join(lines[first:last]), fact, row.new) if row.new else b""
        lines[first:last] = [rest, *([b""] * (last - first - 1))]
    return b"".join(lines)


def _reworded(block: bytes, fact: Fact, text: str) -> bytes:
    """Return the lines of a fact with another text. Bytes that are not UTF-8 stay as they are,
    though the fact has their numbers."""
    new = reworded(block.decode("utf-8", "backslashreplace"), fact, text).encode()
    return _ESCAPED.sub(
        lambda found: found[0] if found[0] in block else bytes.fromhex(found[1].decode()), new
    )


def _question(found: Sequence[ForgettableLine]) -> str:
    """Name the lines of which it is not clear that all are meant, or how much of one is."""
    shown = "; ".join(describe(row) for row in found[:_SHOWN_LINES])
    more = f"; and {len(found) - _SHOWN_LINES} more" if len(found) > _SHOWN_LINES else ""
    if len(found) == 1:
        return (
            "Nothing was forgotten: these words cannot be cut out of their line, and the whole "
            f"line says more: {shown}. To forget all of it, say it as it stands there."
        )
    return (
        f"Nothing was forgotten: these words stand in {len(found)} lines: {shown}{more}. Say which "
        "one, as it stands there."
    )


def describe(row: ForgettableLine) -> str:
    """Say what goes: the old line, and the new one."""
    old = " ".join(row.old.split())
    return f"“{old}” becomes “{' '.join(row.new.split())}”" if row.new else f"“{old}”"


def _told(done: Forgot, close: Sequence[str]) -> str:
    if not done.lines:
        sentence = (
            "No memory file says this. It is noted as forgotten, so Jenny does not learn it again "
            "by herself."
        )
        if close:
            shown = "; ".join(f"“{' '.join(text.split())[:200]}”" for text in close)
            sentence += (
                f" What is close was left: {shown}. To forget one, say it as it stands there."
            )
        return f"{sentence} {EXCEPTED}"
    newest = f" ({done.undo[0]})" if done.undo else ""
    return (
        f"Forgotten: {done.what}. Jenny does not learn it again by herself. A copy is kept so that "
        f"it can be undone{newest}. {EXCEPTED}"
    )
