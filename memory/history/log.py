"""The only writer of the history: the file, and the monthly segments of what Dream has read.

Everything happens under the history lock: the end of the file is repaired, cursors are given out,
all entries of one call are written at once and synced; only then are they acknowledged. The cost
does not depend on the file's length. ``memory/archive/history-YYYY-MM.jsonl`` holds the unchanged
lines of that month that compaction moved there.
"""

import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from jenny.agent.messages import clean
from jenny.workspace import line_files, locks, paths, transactions
from jenny.workspace.errors import PathRefused, WorkspaceError, WriteFailed
from jenny.workspace.file_cache import Kept
from jenny.workspace.line_files import GrowingLines, Lines
from jenny.workspace.locks import Level
from jenny.workspace.redact import Hit, redact
from jenny.workspace.stat_signature import StatSignature
from jenny.workspace.write_rules import Actor
from memory.errors import CursorBroken
from memory.history import cursors, file_tail, legacy
from memory.history.entries import (
    FILE,
    MAX_CURSOR,
    HistoryEntry,
    NewHistoryEntry,
    format_timestamp,
    load_zone,
    parse_entry,
    render_entry,
    split_text,
)

# The state in which this process left each history, and the cursor that it gave out last.
_LAST: Kept[tuple[StatSignature, int]] = Kept(256)

logger = logging.getLogger(__name__)

PATH = FILE
_COUNTER = cursors.COUNTER.rpartition("/")[2]
# So many bytes at the end must be valid, else the whole file is read.
_LOOKED_AT = 4_096
_BEGINS = re.compile(rb'\{"cursor": ([1-9]\d{0,17}), "')
ACTOR = Actor("pipeline", run="history")
_USED_UP = (
    f"{PATH} holds a cursor so large that no higher one can be given out. Nothing was added. "
    "Correct that line."
)

type Draft = partial[HistoryEntry]
"""An entry without its cursor."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The added entries, and the secrets that were redacted in them."""

    entries: tuple[HistoryEntry, ...] = ()
    secrets: tuple[Hit, ...] = ()


def append(
    root: Path,
    entries: Sequence[NewHistoryEntry],
    *,
    zone: str = "",
    one_group: bool = False,
    timeout: float = locks.TIMEOUT_SECONDS,
) -> Appended:
    """Add the entries in one write; when this returns, they are on disk.

    Secrets are redacted first; then a long entry becomes a group. With *one_group* all entries
    are one group, so that a crash leaves all or none. *zone* is the IANA name of the zone for
    timestamps when the workspace's settings name none.

    Raises:
        ValueError: an entry is empty.
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
        line_files.open_growing(real, PATH, ACTOR) as file,
    ):
        first = _first_cursor(real, file)
        if first + len(drafts) > MAX_CURSOR:
            raise WriteFailed(_USED_UP)
        made = tuple(draft(first + at) for at, draft in enumerate(drafts))
        file.add(b"".join(map(render_entry, made)))
        _LAST.put(str(real), (file.signature, made[-1].cursor))
        note_last(file, made[-1].cursor)
    return Appended(made, hits)


@contextmanager
def writing(
    root: Path, *, timeout: float = locks.TIMEOUT_SECONDS
) -> Iterator[tuple[Path, GrowingLines]]:
    """Yield the workspace's real folder and its history file, under the history lock."""
    real = paths.real_root(root)
    _settle(real, timeout)
    with (
        locks.hold(real, Level.HISTORY, timeout=timeout),
        line_files.open_growing(real, PATH, ACTOR) as file,
    ):
        yield real, file


def _settle(real: Path, timeout: float) -> None:
    """Complete what a crash interrupted (a restore, too) and import an older history before
    entries are added."""
    transactions.recover_if_free(real)
    legacy.before_adding(real, timeout=timeout)


def note_last(file: GrowingLines, cursor: int) -> None:
    """Store the last cursor given out. It can be derived, so a full disk stops nobody."""
    try:
        file.note(_COUNTER, b"%d\n" % cursor)
    except WorkspaceError as error:
        logger.warning("the last cursor could not be noted: %s", error)


def highest_cursor(real: Path, file: GrowingLines) -> int:
    """Return the highest cursor of file, archive and both numbers by reading all of them."""
    entries = (parse_entry(line.data) for line in file_tail.lines_back(file))
    found = max((entry.cursor for entry in entries if entry), default=0)
    given = cursors.counter(real, file) or 0
    return max(found, highest_archived_cursor(real), given, _read_to(real, file))


def _read_to(real: Path, file: GrowingLines) -> int:
    """Return the last entry that Dream has read; an invalid number counts as 0."""
    with suppress(CursorBroken):
        return cursors.dream_cursor(real, file)
    return 0


def _first_cursor(real: Path, file: GrowingLines) -> int:
    """Return the first cursor to give out, after the end was repaired. When nobody else wrote to
    the file since this process did, the end is not read again."""
    known = _LAST.get(str(real))
    if known is not None and known[0] == file.signature:
        given = cursors.counter(real, file)
        if given is not None:
            return max(known[1], given, _read_to(real, file)) + 1
    mended = file_tail.mend(real, file, ACTOR)
    return max(_next_cursor(real, file, was_wrong=mended.was_wrong), mended.highest_cut + 1)


def _next_cursor(real: Path, file: GrowingLines, *, was_wrong: bool) -> int:
    """Return the first cursor to give out from the file's end, or from the whole file when the
    end is odd."""
    given = cursors.counter(real, file)
    if not was_wrong and given is not None:
        seen = _last_cursors(file)
        if seen is not None:
            return max(seen, given, _read_to(real, file)) + 1
    return highest_cursor(real, file) + 1


def _last_cursors(file: Lines) -> int | None:
    """Return the highest cursor of the last lines; ``None`` when they do not rise one by one or
    the last one has none."""
    above: int | None = None
    highest_one = 0
    for line in file_tail.lines_back(file):
        if file.size - line.start > _LOOKED_AT and above is not None:
            break
        # The last line is parsed; of those before it the number suffices.
        cursor = _number(line.data) if above is not None else None
        if cursor is None:
            entry = parse_entry(line.data)
            if entry is None:
                return None
            cursor = entry.cursor
        if above is not None and cursor >= above:
            return None
        above = cursor
        highest_one = max(highest_one, above)
    return highest_one


def _number(line: bytes) -> int | None:
    """Return the cursor of a line in our own format."""
    match = _BEGINS.match(line)
    return int(match[1]) if match and line.endswith(b"}") else None


def _drafts(
    entries: Sequence[NewHistoryEntry], stamp: Callable[[datetime | None], str]
) -> tuple[list[Draft], tuple[Hit, ...]]:
    """Return the entries without cursors, and the secrets found in them."""
    drafts: list[Draft] = []
    hits: dict[str, int] = {}
    for new in entries:
        safe = redact(clean(new.content))
        if not safe.text.strip():
            raise ValueError("An entry of the history must say something.")
        for hit in safe.hits:
            hits[hit.kind] = hits.get(hit.kind, 0) + hit.count
        draft = partial(
            HistoryEntry,
            timestamp=stamp(new.when),
            kind=new.kind,
            conversation=new.conversation,
            messages=new.messages,
            prompt_visible=new.prompt_visible,
        )
        made = [partial(draft, content=content) for content in split_text(safe.text, new.kind)]
        drafts += _grouped(made) if len(made) > 1 else made
    return drafts, tuple(Hit(kind, count) for kind, count in hits.items())


def _grouped(drafts: list[Draft]) -> list[Draft]:
    """Make the entries the parts of one group."""
    group, count = secrets.token_hex(6), len(drafts)
    return [
        partial(draft, group=group, part=(number, count)) for number, draft in enumerate(drafts, 1)
    ]


def _stamper(real: Path, fallback: str) -> Callable[[datetime | None], str]:
    """Return a function that formats aware times (``None``: now) in the workspace's zone."""
    zone = load_zone(real, fallback)
    now = datetime.now(UTC)
    return lambda when: format_timestamp((when or now).astimezone(zone))


ARCHIVE_FOLDER = "memory/archive"
UNDATED = "undated"
_SEGMENT_NAME = re.compile(rf"history-(?:\d{{4}}-\d{{2}}|{UNDATED})\.jsonl")
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?=-)")


def segment_path(month: str) -> str:
    return f"{ARCHIVE_FOLDER}/history-{month}.jsonl"


def is_segment(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == ARCHIVE_FOLDER and _SEGMENT_NAME.fullmatch(name) is not None


def segment_month(timestamp: str) -> str:
    """Return the month of a timestamp; empty for an invalid one."""
    match = _MONTH.match(timestamp)
    return match[0] if match else ""


def list_segments(root: Path) -> list[str]:
    """List the existing segments, oldest first."""
    try:
        # Only names: beside the segments there may be ten thousand archived facts.
        listed = os.listdir(f"{root}/{ARCHIVE_FOLDER}")  # noqa: PTH208 - names are enough
    except OSError:
        return []
    found = [
        name for name in listed if name.startswith("history-") and _SEGMENT_NAME.fullmatch(name)
    ]
    return [f"{ARCHIVE_FOLDER}/{name}" for name in sorted(found)]


def highest_archived_cursor(root: Path) -> int:
    """Return the highest cursor near the ends of the segments; 0 without any."""
    found = 0
    for path in list_segments(root):
        try:
            with line_files.open_lines(root, path) as file:
                entries = (
                    (parse_entry(line.data) for line in file_tail.lines_back(file))
                    if file
                    else iter(())
                )
                last = next((entry for entry in entries if entry), None)
        except PathRefused:
            continue
        found = max(found, last.cursor if last else 0)
    return found


def add_to_segment(root: Path, month: str, lines: Iterable[bytes], actor: Actor) -> None:
    """Append lines durably to a month's segment unless it has them: a crash may have come between
    adding them and removing them from the history. Call it under the history lock."""
    with line_files.open_growing(root, segment_path(month), actor) as file:
        file_tail.mend(root, file, actor, groups=False)
        wanted = list(lines)
        there = _lines_in_segment(file, wanted)
        data = b"".join(line + b"\n" for line in wanted if line not in there)
        if data:
            file.add(data)


def _lines_in_segment(file: line_files.Lines, wanted: list[bytes]) -> set[bytes]:
    """Return which of the lines the segment has. Cursors rise, so its end usually shows that it
    has none."""
    first = min((entry.cursor for line in wanted if (entry := parse_entry(line))), default=0)
    found: set[bytes] = set()
    sought = set(wanted)
    earlier = 0
    for line in file_tail.lines_back(file):
        entry = parse_entry(line.data)
        if line.data in sought:
            found.add(line.data)
        if entry is not None and entry.cursor < first:
            earlier += 1
            if earlier >= len(sought) + 1:
                break
    return found


# Compaction: entries that Dream has read move to the segments, oldest first. Lines are archived
# before they are removed from the file. A crash in between leaves them in both, and the next
# compaction removes them.

# Entries that Dream has read and that stay in the file.
KEPT_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class Compacted:
    """Counts of moved entries, of remaining entries that Dream has read, and of entries that wait
    for it."""

    moved: int
    consumed: int
    backlog: int

    @property
    def warning(self) -> str:
        """Return a warning when much is waiting. Waiting entries are never dropped."""
        return backlog_warning(self.backlog)


def backlog_warning(waiting: int, cap: int = KEPT_ENTRIES) -> str:
    if waiting <= cap:
        return ""
    return (
        f"{waiting:,} notes of the history wait for Dream. All of them are kept. See whether Dream "
        "is switched on, and how its last updates ended."
    )


def compact(
    root: Path, *, cap: int = KEPT_ENTRIES, timeout: float = locks.TIMEOUT_SECONDS
) -> Compacted:
    """Move entries that Dream has read out of the file until *cap* of them are left.

    Raises:
        CursorBroken: Dream's position is unknown; nothing was moved.
        LockTimeout, WriteFailed: every entry is in its old place, or in both.
    """
    if not (root / PATH).exists():
        return Compacted(0, 0, 0)
    with writing(root, timeout=timeout) as (real, file):
        read_to = cursors.dream_cursor(real)
        file_tail.mend(real, file, ACTOR)
        lines = [line.data for line in file_tail.lines_back(file)][::-1]
        entries = [parse_entry(line) for line in lines]
        consumed = [entry for entry in entries if entry and entry.cursor <= read_to]
        waiting = [entry for entry in entries if entry and entry.cursor > read_to]
        going = _select_for_archive(consumed, waiting, len(consumed) - cap)
        if going:
            _archive_lines(real, lines, entries, going)
    return Compacted(len(going), len(consumed) - len(going), len(waiting))


def _select_for_archive(
    consumed: list[HistoryEntry], waiting: list[HistoryEntry], excess: int
) -> set[int]:
    if excess <= 0:
        return set()
    ordered = sorted(consumed, key=lambda entry: entry.cursor)
    begun = {entry.group for entry in waiting if entry.group}
    groups = {entry.group for entry in ordered[:excess] if entry.group} - begun
    chosen = [entry for entry in ordered[:excess] if entry.group not in begun]
    rest = [entry for entry in ordered[excess:] if entry.group in groups]
    return {id(entry) for entry in chosen + rest}


def _archive_lines(
    real: Path, lines: list[bytes], entries: list[HistoryEntry | None], going: set[int]
) -> None:
    """Archive the lines, then remove them from the file. Lines without an entry stay."""
    months: dict[str, list[bytes]] = {}
    staying = []
    last_month = ""
    for line, entry in zip(lines, entries, strict=True):
        if entry is None or id(entry) not in going:
            staying.append(line)
            continue
        # An entry without a timestamp moves with the one before it.
        last_month = segment_month(entry.timestamp) or last_month or UNDATED
        months.setdefault(last_month, []).append(line)
    for month, moved in months.items():
        add_to_segment(real, month, moved, ACTOR)
    data = b"".join(line + b"\n" for line in staying)
    line_files.replace_line_file(real, PATH, data, ACTOR)
