"""Keeping something for good because a person asked for it: a note in the history, which every
conversation sees at once and Dream works into the files."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import acts, paths
from jenny.workspace.redact import Hit
from memory import forgotten
from memory.errors import NotRemembered
from memory.history import cursors, log, lookup, reading, removal
from memory.history.entries import Entry, NewEntry

MARK = "- [permanent] "
# Characters of one note. A message that a person points at may be longer than what is put in
# words for it.
MOST_CHARS = 2_000
MOST_OF_A_MESSAGE = 6_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """The note, the secrets that were left out of it, and what to say. *is_new*: it was not there
    already."""

    entry: Entry
    secrets: tuple[Hit, ...]
    sentence: str
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class About:
    """What a note is about: a conversation, and its first and last message; *is_once*: one note is
    enough for them."""

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
) -> Remembered:
    """Note *text* for good. *by_person*: they said it themselves, so that it is not forgotten any
    more if it was.

    Raises:
        NotRemembered: there is nothing in it, it is too long, or it was forgotten.
        LockTimeout, WriteFailed, PathRefused: nothing was noted.
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
    with acts.locked(real):
        if about.is_once and (there := _noted(real, about)):
            return Remembered(there, (), _told(there, ()), is_new=False)
        _lift(real, plain, by_person=by_person)
        new = NewEntry(
            f"{MARK}{plain}", "note", conversation=about.conversation, messages=about.messages
        )
        done = log.append(real, [new], zone=zone)
    return Remembered(done.entries[0], done.secrets, _told(done.entries[0], done.secrets))


def take_back(root: Path, cursor: int) -> bool:
    """Take a note out again. ``False``: Dream has read it already, or it is there no more.

    Raises:
        CursorBroken, LockTimeout, WriteFailed, PathRefused: nothing was taken out.
    """
    entry = lookup.by_cursor(root, [cursor], archived=False).get(cursor)
    if entry is None or entry.kind != "note":
        return False
    return removal.remove(root, entry.conversation, only=frozenset({cursor})) > 0


def waits(root: Path, cursor: int) -> bool:
    """Whether Dream has not read the note yet.

    Raises:
        CursorBroken: nobody knows.
    """
    return cursor > cursors.dream_cursor(root)


def said(entry: Entry) -> str:
    """What a note says, without its mark."""
    return entry.content.removeprefix(MARK)


def _noted(root: Path, about: About) -> Entry | None:
    """A note about just these messages that Dream has not read."""
    for entry in reading.pending(root).entries:
        if (entry.kind, entry.conversation, entry.messages) == (
            "note",
            about.conversation,
            about.messages,
        ):
            return entry
    return None


def _lift(root: Path, text: str, *, by_person: bool) -> None:
    """What was forgotten is let be known again when a person says it, and else kept out."""
    if by_person:
        forgotten.restated(root, text, dt.datetime.now(dt.UTC))
    found = forgotten.match(root, text)
    if found is None:
        return
    if by_person:
        who = log.ACTOR
        forgotten.land(root, forgotten.lifting(root, [found.id], who, "said again"))
        return
    message = (
        f"Nothing was remembered: the user asked on {found.day} that this be forgotten. When they "
        "say it again themselves, it can be; do not put it in other words."
    )
    raise NotRemembered(message)


def _told(entry: Entry, secrets: tuple[Hit, ...]) -> str:
    kinds = ", ".join(hit.kind for hit in secrets)
    left_out = f" A secret was left out of it: {kinds}." if secrets else ""
    return (
        f"Remembered: “{said(entry)}”. Every conversation knows it from now on, and Dream puts it "
        f"where it belongs (history entry {entry.cursor}).{left_out}"
    )
