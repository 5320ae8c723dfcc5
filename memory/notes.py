"""Notes: history entries that a person asked to keep. Every conversation sees them at once, and
Dream works them into the files."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import paths, transactions
from jenny.workspace.redact import Hit
from memory import suppression
from memory.errors import NotRemembered
from memory.history import cursors, entries, fact_tags, log, reader, removal
from memory.history.entries import HistoryEntry, NewHistoryEntry

MARK = "- [permanent] "
# Length of one note. A message that a person points at may be longer.
MOST_CHARS = 2_000
MOST_OF_A_MESSAGE = 6_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """The note, the secrets redacted in it, and a sentence. *is_new*: it was not recorded
    already."""

    entry: HistoryEntry
    secrets: tuple[Hit, ...]
    message: str
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class About:
    """The conversation of a note and its first and last message. *is_once*: one note about them
    is enough."""

    conversation: str = ""
    messages: tuple[int, int] | None = None
    is_once: bool = False


def remember(
    root: Path,
    text: str,
    about: About | None = None,
    *,
    zone: str = "",
    by_person: bool = False,
    most: int = MOST_CHARS,
    day: str = "",
) -> Remembered:
    """Record *text* as a note.

    *by_person*: the person said it, so it is unsuppressed if it was forgotten. *day* is the last
    day that it is about; without it, the last day that the text names and that is not over.

    Raises:
        NotRemembered: it is empty, too long, or forgotten.
        LockTimeout, WriteFailed, PathRefused: nothing was recorded.
    """
    about = about or About()
    plain = " ".join(clean(text).split())
    if not any(map(str.isalnum, plain)):
        raise NotRemembered("Nothing was remembered: say what is to be.")
    if len(plain) > most:
        message = (
            f"Nothing was remembered: that has {len(plain):,} characters, and a note at most "
            f"{most:,}. Say it shorter, or put it into a file."
        )
        raise NotRemembered(message)
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        if about.is_once and (there := _noted(real, about)):
            return Remembered(there, (), _told(there, ()), is_new=False)
        _lift(real, plain, by_person=by_person)
        new = NewHistoryEntry(
            f"{_mark(real, plain, day, zone)}{plain}",
            "note",
            conversation=about.conversation,
            messages=about.messages,
        )
        done = log.append(real, [new], zone=zone)
    return Remembered(done.entries[0], done.secrets, _told(done.entries[0], done.secrets))


def take_back(root: Path, cursor: int) -> bool:
    """Remove a note. ``False``: Dream has read it already, or it does not exist.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused: nothing was removed.
    """
    entry = reader.find_by_cursor(root, [cursor], archived=False).get(cursor)
    if entry is None or entry.kind != "note":
        return False
    return removal.remove(root, entry.conversation, only=frozenset({cursor})) > 0


def waits(root: Path, cursor: int) -> bool:
    """True when Dream has not read the note yet.

    Raises:
        CursorBroken: Dream's position is unknown.
    """
    return cursor > cursors.dream_cursor(root)


def note_text(entry: HistoryEntry) -> str:
    return fact_tags.strip_tag(entry.content)


def quote_note(text: str) -> str:
    """Return *text* in quotation marks, ended as a sentence."""
    return f"“{text}”" if text.endswith((".", "!", "?", "。", "！", "？", "…")) else f"“{text}”."


def _mark(real: Path, text: str, day: str, zone: str) -> str:
    """Return the tag of a note with its day.

    Raises:
        NotRemembered: there is no such day.
    """
    last = fact_tags.last_day(day)
    if day.strip() and last is None:
        message = f"Nothing was remembered: “{day.strip()[:40]}” is no day; write it as 2026-12-04."
        raise NotRemembered(message)
    if last is None:
        today = dt.datetime.now(entries.load_zone(real, zone)).date()
        last = max((one for one in fact_tags.days_in(text) if one >= today), default=None)
    return f"- {fact_tags.bracket('permanent', str(last))} " if last else MARK


def _noted(root: Path, about: About) -> HistoryEntry | None:
    """Return a note about exactly these messages that Dream has not read."""
    for entry in reader.read_pending(root).entries:
        if (entry.kind, entry.conversation, entry.messages) == (
            "note",
            about.conversation,
            about.messages,
        ):
            return entry
    return None


def _lift(root: Path, text: str, *, by_person: bool) -> None:
    """Unsuppress forgotten texts that a person states; refuse them otherwise."""
    if by_person:
        suppression.restated(root, text, dt.datetime.now(dt.UTC))
    found = suppression.match(root, text)
    if found is None:
        return
    if by_person:
        who = log.ACTOR
        suppression.land(root, suppression.remove_tombstones(root, [found.id], who, "said again"))
        return
    message = (
        f"Nothing was remembered: the user asked on {found.day} that this be forgotten. When they "
        "say it again themselves, it can be; do not put it in other words."
    )
    raise NotRemembered(message)


def _told(entry: HistoryEntry, secrets: tuple[Hit, ...]) -> str:
    kinds = ", ".join(hit.kind for hit in secrets)
    left_out = f" A secret was left out of it: {kinds}." if secrets else ""
    return f"Remembered: {quote_note(note_text(entry))} All chats know it now.{left_out}"
