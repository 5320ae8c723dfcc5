"""Reports a run to a person: a sentence or two by its status, and what it did.

Everything is computed from the run's own writes, never from what the model says, and without what
others did meanwhile: lines from the attempts on record, files and differences from the versions
that hold the run's writes alone.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from jenny.workspace import diffs
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.versions import history
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.versions.tracked_files import CURSOR
from memory import archive, files, skills
from memory.dream import rules
from memory.dream.outcome import TRIES
from memory.dream.values import Attempt, Decision, EntryVerdict, Status
from memory.facts import normal

BEGUN = "Dreaming…"
SETTINGS = "[Settings → Memory updates](/settings/memory/)"
NO_ARGUMENT = f"`/dream` takes no settings. They are in {SETTINGS}; `/dream` alone starts a run."
IS_RUNNING = "Dream is already running in this workspace. Nothing was started."
IS_QUEUED = "A run of Dream waits for its turn already. Nothing was started."
INTERRUPTED = (
    "Dream was interrupted: the process that ran it has ended. What it had written is kept as a "
    "version of its own; notes that it had not read to the end will be tried again."
)
SEEMS_DEAD = (
    "A memory update no longer answers: its process has not been heard of for half a minute. "
    "Another one takes over within two minutes; `/dream` does so at once."
)
_KEPT_SENTENCE = "What was said is kept and will be tried again."
_ENTRIES_NAMED = 10
_STATUS_SENTENCES: dict[Status, str] = {
    "completed": "Memory updated in {seconds}.",
    "nothing_new": "Memory is up to date: nothing new.",
    "wrote_nothing": f"Dream wrote nothing: {{why}} {_KEPT_SENTENCE}",
    "partly_written": f"Dream's changes are partly written: {{why}} {_KEPT_SENTENCE}",
    "held": f"The memory is nearly full ({{count}} of {TRIES}): {{why}} {_KEPT_SENTENCE} Make room "
    f"in the file, or raise its limit in {SETTINGS}.",
    "gave_up": f"Dream could not process {{entries}} in {TRIES} updates. {{why}}",
    "waiting": "Dream's changes are waiting for approval: [review them](/memory/approvals/). Until "
    "you decide, chats see them, marked as waiting.",
    "interrupted": INTERRUPTED,
    "paused": f"Dream paused: {{why}} {_KEPT_SENTENCE}",
    "nothing_pending": "Nothing to do. {waits}",
    "failed": f"Dream failed: {{why}}{{limit}} {_KEPT_SENTENCE}",
}


def waits(why: str) -> str:
    """Explain that no run begins since no model is asked for now; empty when *why* is."""
    return f"{why} Nothing was started; what was said is kept." if why else ""


def run_message(decision: Decision, *, seconds: float, waits: str, is_capped: bool = False) -> str:
    """The outcome of a run. *waits*: why nothing was there to process, if nothing was."""
    text = _STATUS_SENTENCES[decision.status].format(
        why=decision.why or "The reason is not known.",
        seconds=_seconds(seconds),
        count=decision.held_count,
        entries=_entry_numbers(decision.set_aside),
        waits=waits,
        limit=" The limits are in Settings → Memory updates." if is_capped else "",
    )
    if decision.set_aside:
        named = _entry_numbers(decision.set_aside, capital=True)
        text = f"{text.rstrip()} {named}: kept in the history; Memory → Overview can try again."
    return text.strip()


def why_nothing(*, idle_minutes: int, passed: int, set_aside: int) -> str:
    """Return why no note waits, and what brings one about."""
    parts = ["Nothing new was said since the last update."]
    if passed:
        parts = [f"{_count(passed)} left out: you changed or forgot what they are about."]
    if idle_minutes:
        parts.append(
            f"A chat is taken in after {idle_minutes} quiet minutes, or at once with `/dream`."
        )
    else:
        parts.append(
            "Chats are not taken in by themselves, as Settings → Conversation says; `/dream` takes "
            "them in at once."
        )
    if set_aside:
        parts.append(f"{_count(set_aside)} not processed earlier; Memory → Overview can try again.")
    return " ".join(parts)


def set_aside_notice(cursors: Sequence[int]) -> str:
    """Return the notice while notes could not be processed; empty when there are none."""
    if not cursors:
        return ""
    return (
        f"{_entry_numbers(cursors, capital=True)} of the history could not be processed. What was "
        "said is kept, and can be tried again in Memory → Overview."
    )


def _entry_numbers(cursors: Iterable[int], *, capital: bool = False) -> str:
    found = sorted(cursors)
    word = "note" if len(found) == 1 else "notes"
    shown = ", ".join(map(str, found[:_ENTRIES_NAMED]))
    more = f" and {len(found) - _ENTRIES_NAMED} more" if len(found) > _ENTRIES_NAMED else ""
    return f"{word.capitalize() if capital else word} {shown}{more}"


def _count(number: int) -> str:
    return "1 note was" if number == 1 else f"{number:,} notes were"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - longer ones need no tenths


def commits_of(root: Path, run_name: str, since: float) -> tuple[str, ...]:
    """The ids of the versions that a run made, oldest first. *since*: when it began, in seconds
    since 1970 (UTC).

    Raises:
        VersionsOff: the store cannot be read.
    """
    with history.open_history(root) as versions:
        newest = takewhile(
            # One run at a time: what another one made is older than all of this one's.
            lambda version: (
                version.when >= int(since) - 1
                and (version.kind != "dream" or run_name in version.runs)
            ),
            versions.walk(),
        )
        found = [version.sha for version in newest if run_name in version.runs]
    return tuple(found[::-1])


def archived_by(root: Path, run_name: str) -> tuple[str, ...]:
    """The ids of what a run moved to the archive."""
    return tuple(row.id for row in archive.removed_by(root, {run_name}))


DIFF_CHARS = 6_000
_LINES = 200
_TEXT_CHARS = 300
_WORDS = {
    "saved": "saved",
    "waiting": "waiting for approval",
    "already_known": "already known",
    "not_kept": "not kept",
    "unaccounted": "not done yet, will be tried again",
}


@dataclass(frozen=True, slots=True)
class FileRow:
    """The changes of one file: lines that came and went, and whether the run made the file.
    *is_binary*: one side is no text, so no lines are counted."""

    path: str
    added: int
    removed: int
    is_new: bool = False
    is_binary: bool = False


@dataclass(frozen=True, slots=True)
class MovedLine:
    """A line that left one file for another in the same run."""

    text: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ArchivedLine:
    """A text that went to the archive."""

    id: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class RefusedWrite:
    """A write that was refused and never made good."""

    path: str
    rule: str
    message: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of it. *added* and *removed* are lines by file, without those that moved. *waiting* are
    skills that wait for the user's yes, *staged* writes that wait for it, by file: lines that would
    come, and lines that would go."""

    files: tuple[FileRow, ...] = ()
    added: dict[str, tuple[str, ...]] = field(default_factory=dict)
    removed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    moved: tuple[MovedLine, ...] = ()
    archived: tuple[ArchivedLine, ...] = ()
    refused: tuple[RefusedWrite, ...] = ()
    verdicts: tuple[EntryVerdict, ...] = ()
    waiting: tuple[str, ...] = ()
    staged: dict[str, tuple[int, int]] = field(default_factory=dict)
    snapshot: str = ""
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    diff: str = ""

    @property
    def markdown(self) -> str:
        """The report for the chat; empty when there is nothing to tell."""
        return "\n\n".join(part for part in _parts(self) if part)

    @property
    def json(self) -> dict[str, Any]:
        return {**asdict(self), "markdown": self.markdown}


def make_report(
    root: Path,
    *,
    attempts: Sequence[Attempt],
    verdicts: Sequence[EntryVerdict] = (),
    archived: Sequence[str] = (),
    commits: Sequence[str] = (),
    snapshot: str = "",
) -> Report:
    """The report of a run, by what is on record of it. What cannot be read is noted, not fatal."""
    added, removed = _net(attempts)
    moved = _moved(added, removed)
    changes, notes = _changes(root, commits)
    rows = tuple(map(_row, changes)) or _rows(attempts, added, removed)
    touched = {row.path for row in rows}
    return Report(
        files=rows,
        added=_shown(added),
        removed=_shown(removed),
        moved=moved,
        archived=tuple(_kept(root, archived)),
        refused=tuple(map(_refused, rules.open_refusals(attempts))),
        verdicts=tuple(verdicts),
        waiting=_waiting(root, touched),
        staged=_staged(attempts),
        snapshot=snapshot,
        commits=tuple(commits),
        notes=notes,
        diff=_diff(changes),
    )


def _waiting(root: Path, touched: Collection[str]) -> tuple[str, ...]:
    """The skills among these files that wait for the user's yes."""
    found = skills.waiting(root) if any(map(files.skill_of, touched)) else ()
    return tuple(skill.name for skill in found if skill.path in touched)


def _net(attempts: Sequence[Attempt]) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """The lines that came and went by all writes that landed: what a later write took back did
    neither."""
    added: dict[str, Counter[str]] = {}
    removed: dict[str, Counter[str]] = {}
    for attempt in attempts:
        if not attempt.ok or attempt.waits:
            continue
        came = added.setdefault(attempt.path, Counter())
        went = removed.setdefault(attempt.path, Counter())
        for line in attempt.removed:
            (came if came[line] > 0 else went)[line] += -1 if came[line] > 0 else 1
        for line in attempt.added:
            (went if went[line] > 0 else came)[line] += -1 if went[line] > 0 else 1
    return added, removed


def _staged(attempts: Sequence[Attempt]) -> dict[str, tuple[int, int]]:
    """Count the lines that wait for approval, by file: how many would come, and how many go."""
    found: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        if attempt.ok and attempt.waits:
            came, went = found.get(attempt.path, (0, 0))
            found[attempt.path] = came + len(attempt.added), went + len(attempt.removed)
    return found


def _moved(
    added: dict[str, Counter[str]], removed: dict[str, Counter[str]]
) -> tuple[MovedLine, ...]:
    """Lines that left one file and came into another; they are taken out of both."""
    found = []
    for source, went in removed.items():
        for line in list(went.elements()):
            target = next(
                (
                    (path, other)
                    for path, came in added.items()
                    if path != source
                    for other in came
                    if came[other] > 0 and normal(other) == normal(line)
                ),
                None,
            )
            if target is not None:
                went[line] -= 1
                added[target[0]][target[1]] -= 1
                found.append(MovedLine(line.strip()[:_TEXT_CHARS], source, target[0]))
    return tuple(found)


def _changes(root: Path, commits: Sequence[str]) -> tuple[list[FileChange], tuple[str, ...]]:
    """Return the changes of the run's versions, without Dream's cursor."""
    if not commits:
        return [], ()
    try:
        with open_history(root) as history:
            every = [row for sha in commits for row in history.changes(history.version(sha))]
    except WorkspaceError as error:
        return [], (error.message,)
    return [row for row in every if row.path != CURSOR], ()


def _row(change: FileChange) -> FileRow:
    counts = change.counts
    return FileRow(change.path, counts.added, counts.removed, change.old is None, counts.is_binary)


def _rows(
    attempts: Sequence[Attempt],
    added: dict[str, Counter[str]],
    removed: dict[str, Counter[str]],
) -> tuple[FileRow, ...]:
    """The files by the attempts alone, where there is no version of them."""
    landed = (attempt for attempt in attempts if attempt.ok and not attempt.waits)
    paths = dict.fromkeys(attempt.path for attempt in landed)
    return tuple(FileRow(path, added[path].total(), removed[path].total()) for path in paths)


def _shown(lines: dict[str, Counter[str]]) -> dict[str, tuple[str, ...]]:
    return {
        path: tuple(line[:_TEXT_CHARS] for line in found.elements())[:_LINES]
        for path, found in lines.items()
        if found.total() > 0
    }


def _kept(root: Path, ids: Iterable[str]) -> Iterator[ArchivedLine]:
    for id_ in ids:
        found = next(iter(archive.find(root, id_)), None)
        if found is not None:
            yield ArchivedLine(id_, " ".join(found.text.split())[:_TEXT_CHARS], found.source)


def _refused(attempt: Attempt) -> RefusedWrite:
    return RefusedWrite(
        attempt.path,
        attempt.rule,
        attempt.message[: 2 * _TEXT_CHARS],
        attempt.added[:NAMED],
    )


def _diff(changes: Sequence[FileChange]) -> str:
    return diffs.bounded("".join(change.diff for change in changes), DIFF_CHARS)


def _parts(report: Report) -> Iterator[str]:
    if report.files:
        yield "\n".join(_file_line(row) for row in report.files)
    if report.diff:
        yield diffs.fenced(report.diff)
    yield format_list(
        "Moved",
        [
            f"{quote_line(row.text)} from {diffs.code_span(row.source)} to "
            f"{diffs.code_span(row.target)}"
            for row in report.moved
        ],
    )
    yield format_list(
        "Moved to the archive (`/recall` with an id shows it)",
        [f"{diffs.code_span(row.id)} {quote_line(row.text)}" for row in report.archived],
    )
    yield format_list(
        "Refused, and never made good",
        [f"{diffs.code_span(row.path)}: {escape_plain(row.message)}" for row in report.refused],
    )
    yield format_list(
        "Waiting for your approval ([Memory](/memory/approvals/))",
        [
            f"{diffs.code_span(path)} +{came} −{went}"
            for path, (came, went) in report.staged.items()
        ],
    )
    for name in report.waiting:
        yield (
            f"The skill {diffs.code_span(name)} asks to be read in every conversation. Until you "
            "agree to that, it is only listed."
        )
    if report.files or report.refused or report.staged:
        yield _entries(report.verdicts)
    if report.commits:
        yield f"`/dream-restore {report.commits[-1][:8]}` undoes it."


def _file_line(row: FileRow) -> str:
    what = "no text" if row.is_binary else f"+{row.added} −{row.removed}"
    return f"- {diffs.code_span(row.path)} {what}{' (new)' if row.is_new else ''}"


def _entries(verdicts: Sequence[EntryVerdict]) -> str:
    if not verdicts:
        return ""
    counts: Counter[str] = Counter(row.kind for row in verdicts)
    text = ", ".join(f"{counts[kind]} {words}" for kind, words in _WORDS.items() if counts[kind])
    return f"{len(verdicts)} {'entry' if len(verdicts) == 1 else 'entries'}: {text}."


NAMED = 10


def format_list(title: str, rows: Sequence[str]) -> str:
    """A list under its title, cut; empty without rows."""
    if not rows:
        return ""
    left = len(rows) - NAMED
    more = [f"- and {left} more"] if left > 0 else []
    return "\n".join([f"{title}:", "", *(f"- {row}" for row in rows[:NAMED]), *more])


def quote_line(text: str) -> str:
    """A line of a file, as code, cut."""
    line = " ".join(text.split())
    return diffs.code_span(line if len(line) <= 120 else f"{line[:119]}…")  # noqa: PLR2004 - characters of a line


def escape_plain(text: str) -> str:
    """A sentence in which nothing is Markdown."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|~$#" else char for char in text)
