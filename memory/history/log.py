"""The history file is added to here, and only here.

Everything happens under the history lock, whoever adds and from whichever process: the end of the
file is put right, cursors are given out, all entries of one act are written in one piece and
synced; only then are they acknowledged. What it costs does not depend on how long the file is.
"""

import logging
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import acts, linefile, locks, paths
from jenny.workspace.errors import WorkspaceError, WriteFailed
from jenny.workspace.linefile import GrowingLines, Lines, Stamp
from jenny.workspace.locks import Level
from jenny.workspace.redact import Hit, redact
from jenny.workspace.rules import Actor
from jenny.workspace.stamped import Kept
from memory.errors import CursorBroken
from memory.history import archive, cursors, legacy, pieces, stamps, tail
from memory.history.entries import FILE, MAX_CURSOR, Entry, NewEntry, parse, render

# How each history stood when this process last added to it, and the cursor it gave out last.
_LAST: Kept[tuple[Stamp, int]] = Kept(256)

logger = logging.getLogger(__name__)

PATH = FILE
_COUNTER = cursors.COUNTER.rpartition("/")[2]
zone_of = stamps.zone_of
# So many bytes at the end must be in order, else all of the file is read.
_LOOKED_AT = 4_096
_BEGINS = re.compile(rb'\{"cursor": ([1-9]\d{0,17}), "')
ACTOR = Actor("pipeline", run="history")
_USED_UP = (
    f"{PATH} holds a cursor so large that no higher one can be given out. Nothing was added. "
    "Correct that line."
)

type Draft = partial[Entry]
"""An entry but for its cursor."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What was added, and which secrets were taken out of it before."""

    entries: tuple[Entry, ...] = ()
    secrets: tuple[Hit, ...] = ()


def append(
    root: Path,
    entries: Sequence[NewEntry],
    *,
    zone: str = "",
    one_group: bool = False,
    timeout: float = locks.TIMEOUT_SECONDS,
) -> Appended:
    """Add the entries as one act; when this returns, they are on disk.

    Secrets are taken out first; then what is too long becomes a group. With *one_group* all of
    them are one, so that a crash leaves all or none. *zone* is the IANA name of
    the zone that stamps are in when the workspace's settings name none.

    Raises:
        ValueError: an entry says nothing.
        LockTimeout, WriteFailed, PathRefused: nothing was added, and the caller must advance
            nothing.
    """
    real = paths.real_root(root)
    stamp = _stamper(real, zone)
    drafts, hits = _drafts(entries, stamp)
    if not drafts:
        return Appended()
    if one_group and len(drafts) > 1:
        drafts = _grouped(drafts)
    _settle(real, timeout)
    with (
        locks.hold(real, Level.HISTORY, timeout=timeout),
        linefile.open_growing(real, PATH, ACTOR) as file,
    ):
        first = _first_cursor(real, file)
        if first + len(drafts) > MAX_CURSOR:
            raise WriteFailed(_USED_UP)
        made = tuple(draft(first + at) for at, draft in enumerate(drafts))
        file.add(b"".join(map(render, made)))
        _LAST.put(str(real), (file.stamp, made[-1].cursor))
        note_last(file, made[-1].cursor)
    return Appended(made, hits)


@contextmanager
def writing(
    root: Path, *, timeout: float = locks.TIMEOUT_SECONDS
) -> Iterator[tuple[Path, GrowingLines]]:
    """The workspace's real folder and its history file, under the history lock."""
    real = paths.real_root(root)
    _settle(real, timeout)
    with (
        locks.hold(real, Level.HISTORY, timeout=timeout),
        linefile.open_growing(real, PATH, ACTOR) as file,
    ):
        yield real, file


def _settle(real: Path, timeout: float) -> None:
    """What comes before adding: what a crash cut short, a restore of the history among it, and
    the history of an older program."""
    acts.settle_if_free(real)
    legacy.before_adding(real, timeout=timeout)


def note_last(file: GrowingLines, cursor: int) -> None:
    """Note the last cursor given out. It can be derived, so that a full disk stops nobody."""
    try:
        file.note(_COUNTER, b"%d\n" % cursor)
    except WorkspaceError as error:
        logger.warning("the last cursor could not be noted: %s", error)


def highest(real: Path, file: GrowingLines) -> int:
    """The highest cursor in the file, in the archive and in either number beside it, by reading
    all of them."""
    entries = (parse(line.data) for line in tail.lines_back(file))
    found = max((entry.cursor for entry in entries if entry), default=0)
    given = cursors.counter(real, file) or 0
    return max(found, archive.highest(real), given, _read_to(real, file))


def _read_to(real: Path, file: GrowingLines) -> int:
    """Up to which entry Dream has read; what is no number counts for nothing."""
    with suppress(CursorBroken):
        return cursors.dream_cursor(real, file)
    return 0


def _first_cursor(real: Path, file: GrowingLines) -> int:
    """The first cursor to give out, after the end of the file was put right. Where nobody else
    wrote to the file since this process did, its end is known and need not be looked at."""
    known = _LAST.get(str(real))
    if known is not None and known[0] == file.stamp:
        given = cursors.counter(real, file)
        if given is not None:
            return max(known[1], given, _read_to(real, file)) + 1
    mended = tail.mend(real, file, ACTOR)
    return max(_next_cursor(real, file, was_wrong=mended.was_wrong), mended.highest_cut + 1)


def _next_cursor(real: Path, file: GrowingLines, *, was_wrong: bool) -> int:
    """The first cursor to give out, from the end of the file; when something is odd there, from
    all of it."""
    given = cursors.counter(real, file)
    if not was_wrong and given is not None:
        seen = _last_cursors(file)
        if seen is not None:
            return max(seen, given, _read_to(real, file)) + 1
    return highest(real, file) + 1


def _last_cursors(file: Lines) -> int | None:
    """The highest cursor among the last lines; ``None`` when they do not rise one by one or
    the last one has none."""
    above: int | None = None
    highest_one = 0
    for line in tail.lines_back(file):
        if file.size - line.start > _LOOKED_AT and above is not None:
            break
        # Of the last line all is looked at; of those before it, the number tells enough.
        cursor = _number(line.data) if above is not None else None
        if cursor is None:
            entry = parse(line.data)
            if entry is None:
                return None
            cursor = entry.cursor
        if above is not None and cursor >= above:
            return None
        above = cursor
        highest_one = max(highest_one, above)
    return highest_one


def _number(line: bytes) -> int | None:
    """The cursor of a line that begins and ends as ours do."""
    match = _BEGINS.match(line)
    return int(match[1]) if match and line.endswith(b"}") else None


def _drafts(
    entries: Sequence[NewEntry], stamp: Callable[[datetime | None], str]
) -> tuple[list[Draft], tuple[Hit, ...]]:
    """The entries as they will stand, with no cursors yet, and the secrets found in them."""
    drafts: list[Draft] = []
    hits: dict[str, int] = {}
    for new in entries:
        safe = redact(clean(new.content))
        if not safe.text.strip():
            raise ValueError("An entry of the history must say something.")
        for hit in safe.hits:
            hits[hit.kind] = hits.get(hit.kind, 0) + hit.count
        draft = partial(
            Entry,
            timestamp=stamp(new.when),
            kind=new.kind,
            conversation=new.conversation,
            messages=new.messages,
            prompt_visible=new.prompt_visible,
        )
        made = [partial(draft, content=content) for content in pieces.cut(safe.text, new.kind)]
        drafts += _grouped(made) if len(made) > 1 else made
    return drafts, tuple(Hit(kind, count) for kind, count in hits.items())


def _grouped(drafts: list[Draft]) -> list[Draft]:
    """The entries as the parts of one group."""
    group, count = secrets.token_hex(6), len(drafts)
    return [
        partial(draft, group=group, part=(number, count)) for number, draft in enumerate(drafts, 1)
    ]


def _stamper(real: Path, fallback: str) -> Callable[[datetime | None], str]:
    """What makes stamps of aware times (``None``: of now) in the workspace's zone."""
    zone = stamps.zone(real, fallback)
    now = datetime.now(UTC)
    return lambda when: stamps.stamp((when or now).astimezone(zone))
