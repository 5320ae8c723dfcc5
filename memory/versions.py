"""Versions for the chat: Markdown of bounded length with escaped contents, and undoing a run.

What a person takes back is not written again: it is forgotten like a value that they replaced
themselves (``Tombstone.is_replaced``). Dream is told so and refused by code; when the person says
it anew, or puts the version back, it may be written again.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jenny.agent.prompt import one_line
from jenny.workspace import diffs, paths, transactions
from jenny.workspace.diffs import code_span
from jenny.workspace.errors import VersionAmbiguous, VersionsOff, WorkspaceError
from jenny.workspace.versions import messages, tracked_files
from jenny.workspace.versions.history import FileChange, History, open_history
from jenny.workspace.versions.messages import Version
from jenny.workspace.versions.tracked_files import CURSOR
from jenny.workspace.versions.undo import (
    CursorStep,
    LeftOut,
    Step,
    Undone,
    UndoPlan,
    cursor_in,
    undo,
)
from jenny.workspace.write_rules import Actor, Change
from memory import files, skills, suppression
from memory.facts import Fact, stated
from memory.suppression import tombstones
from memory.suppression.tombstones import State, Tombstone
from memory.suppression.write_rule import list_departed

LISTED = 10
FILES_NAMED = 20
LINES_NAMED = 12
LINE_CHARS = 160
DIFF_CHARS = 6000
TIME = "%Y-%m-%d %H:%M"


def log_text(root: Path, argument: str, zone: dt.tzinfo) -> str:
    """Answer ``/dream-log [id]``; *zone* is that of the times."""
    try:
        with open_history(root) as history:
            if argument.strip():
                return _shown(history, history.resolve(argument.split(maxsplit=1)[0]), zone)
            newest = history.log(kinds=messages.UNDOABLE, limit=LISTED)
            if not newest:
                return _nothing_yet(root)
            text = _shown(history, newest[0], zone)
            if newest[1:]:
                rows = "\n".join(_row(version, zone) for version in newest[1:])
                text += f"\n\nBefore that:\n\n{rows}\n\n`/dream-log` with an id shows one of them."
            return text
    except VersionAmbiguous as error:
        return _candidates(root, error, zone)
    except WorkspaceError as error:
        return _problem(error)


def restore_text(
    root: Path,
    argument: str,
    zone: dt.tzinfo,
    *,
    account: int | None,
    back: Callable[[Sequence[str]], str] | None = None,
) -> str:
    """Answer ``/dream-restore [id]``: the list to choose from, or what was reverted.

    *back* returns the page that brings back lines that were left out, by the ids of their
    tombstones.
    """
    try:
        with open_history(root) as history:
            if not argument.strip():
                return _choice(root, history, zone)
            version = history.resolve(argument.split(maxsplit=1)[0])
        message = undone_text(undo_run(root, version.sha, account=account), zone, back)
        return "\n\n".join(filter(None, (message, kept_out_text(root, version.sha))))
    except VersionAmbiguous as error:
        return _candidates(root, error, zone)
    except WorkspaceError as error:
        return _problem(error)


def undone_text(
    done: Undone, zone: dt.tzinfo, back: Callable[[Sequence[str]], str] | None = None
) -> str:
    version = done.plan.version
    forgotten = _left_out_text(done, back)
    if not done.written:
        but = ", but for what you had forgotten" if forgotten else ""
        same = f"every file is already as it was before that{but}"
        return f"Nothing to do: {same}. Nothing was written.\n\n{forgotten}".rstrip()
    parts = [f"Undone: {_title(version)}, {_time(version, zone)}."]
    if done.version is None:
        parts[0] += f" It has no version yet: {done.problem} The next version will hold it."
    parts.append(_bullets([_step_row(step) for step in done.written], "file"))
    moved = [step for step in done.written if step.label == "moved on"]
    if moved:
        parts.append(
            "**Later changes that went with it:**\n\n"
            + _bullets([_lost_row(step) for step in moved], "file")
        )
    parts.append(forgotten)
    if done.pending:
        parts.append("Before that, what was in no version yet was kept in one of its own.")
    parts.append(cursor_sentence(done.plan.cursor))
    if done.version is not None:
        parts.append(
            f"`/dream-log {done.version.short}` shows what changed; "
            f"`/dream-restore {done.version.short}` takes it back."
        )
    return "\n\n".join(part for part in parts if part)


def left_out_lines(left_out: dict[str, tuple[LeftOut, ...]]) -> list[tuple[str, str, str]]:
    """List lines that stay away: file, displayed line, id of the tombstone."""
    rows = []
    for path, lines in left_out.items():
        for line in lines:
            text = " ".join(line.text.split())
            shown = text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…"
            rows.append((path, shown, line.id))
    return rows


def cursor_sentence(cursor: CursorStep) -> str:
    """Say what becomes of the notes of an undone run; empty without news."""
    if cursor.moves and cursor.before is not None and cursor.after is not None:
        first, last = cursor.after + 1, cursor.before
        count = last - first + 1
        notes = f"Note {last}" if count == 1 else f"Notes {first} to {last} ({count:,})"
        return f"{notes} of the history will be tried again with the next update."
    if cursor.entries is not None and cursor.before is not None:
        return "Newer updates stand, so its notes are not tried again."
    return ""


# The subjects of a run's versions in everyday words.
_UPDATES = {
    "manual run": "Memory update, started by hand",
    "scheduled run": "Memory update",
    "interrupted run": "Memory update, interrupted",
    "approved changes": "Memory update, accepted by you",
    "review pass": "Review of the memory files",
}
# By the actor who made changes outside Dream.
_EDITS = {
    "browser": "Changed by you on a page",
    "chat": "Changed in a chat",
    "command": "Changed by a command",
    "outside": "Changed in another program",
    "gardener": "Changed when a project was tidied",
    "project": "Changed by a project",
}


def version_title(version: Version) -> str:
    """Say what a version is, without ids."""
    if version.kind == "dream":
        what, part, number = version.subject.partition(": ")[2].partition(" (")
        return f"{_UPDATES.get(what, 'Memory update')}{part}{number}"
    if version.kind == "restore":
        copy = "a backup" if "from the backup" in version.subject else "a snapshot"
        return "Undid a memory update" if version.undoes else f"Restored {copy}"
    if version.kind == "edits":
        return _EDITS.get(version.actor, "Changed outside a memory update")
    if version.kind == "first":
        return "Brought in from outside" if version.actor == "outside" else "The first version"
    return f"Another program: {version.subject}"


def _left_out_text(done: Undone, back: Callable[[Sequence[str]], str] | None) -> str:
    """List lines that stayed away and the way to bring them back; empty without any."""
    rows = left_out_lines(done.left_out)
    if not rows:
        return ""
    named = [f"- {code_span(path)}: {code_span(text)} (`{one}`)" for path, text, one in rows]
    ids = list(dict.fromkeys(one for _, _, one in rows))
    how = "`manage.py forget --lift ID` lets Jenny know one again"
    if back is not None:
        how = f"[Bring back]({back(ids[:LINES_NAMED])}), or {how}"
    again = f"`/dream-restore {done.plan.version.short}`"
    return (
        f"**Left out, since you had it forgotten:**\n\n{_bullets(named, 'line', LINES_NAMED)}\n\n"
        f"{how}; `/recall` finds it then, and {again} once more puts it in its place."
    )


def _shown(history: History, version: Version, zone: dt.tzinfo) -> str:
    changes = history.changes(version)
    parts = [f"**{_title(version)}**, {_time(version, zone)}"]
    files = [row for row in changes if row.path != CURSOR]
    if not files:
        parts.append("It is recorded without a difference in any file.")
    else:
        parts.append(_bullets([_change_row(row) for row in files], "file"))
        parts.append(diffs.fenced(_diff(files)))
    if version.can_be_undone:
        parts.append(f"`/dream-restore {version.short}` undoes it.")
    else:
        parts.append("Only a memory update, and undoing one, can be undone here.")
    return "\n\n".join(parts)


def _diff(changes: Sequence[FileChange]) -> str:
    text, left_out = "", 0
    for change in changes:
        if len(text) < DIFF_CHARS:
            text += change.diff
        else:
            left_out += 1
    text = diffs.bounded(text, DIFF_CHARS)
    return f"{text}… {left_out:,} more files\n" if left_out else text


def _choice(root: Path, history: History, zone: dt.tzinfo) -> str:
    """List the versions that can be reverted."""
    newest = history.log(kinds=messages.UNDOABLE, limit=LISTED)
    if not newest:
        return _nothing_yet(root)
    rows = "\n".join(_row(version, zone) for version in newest)
    return (
        f"What can be undone, newest first:\n\n{rows}\n\n"
        f"`/dream-log {newest[0].short}` shows one, `/dream-restore {newest[0].short}` undoes it: "
        "what it changed and nothing else. That makes a new version, which can be undone as well."
    )


def _nothing_yet(root: Path) -> str:
    """Return the sentence for a history without versions."""
    try:
        cursor = cursor_in(tracked_files.read_tracked_file(root, CURSOR))
    except OSError:
        cursor = None
    if cursor:
        return (
            "Dream has run, but it has not changed a file since versions are kept. Each run that "
            "does leaves a version here, which can be looked at and undone."
        )
    return (
        "Dream has not run yet. When it does, each run that changes your memory files leaves a "
        "version here: `/dream-log` shows what it changed, `/dream-restore` takes it back."
    )


def _candidates(root: Path, error: VersionAmbiguous, zone: dt.tzinfo) -> str:
    """List the versions that an ambiguous id may mean."""
    try:
        with open_history(root) as history:
            found = [history.version(sha) for sha in error.candidates]
    except WorkspaceError as problem:
        return _problem(problem)
    digits = max(messages.SHORT, _distinct([row.sha for row in found]))
    rows = "\n".join(_row(version, zone, digits) for version in found)
    return f"{error.message} Nothing was changed.\n\n{rows}"


def _distinct(ids: Sequence[str]) -> int:
    return next((n for n in range(1, 41) if len({sha[:n] for sha in ids}) == len(ids)), 40)


def _problem(error: WorkspaceError) -> str:
    text = diffs.plain_path(error.message)
    plain = "".join(f"\\{char}" if char in "\\`*_[]<>|~$" else char for char in text)
    if isinstance(error, VersionsOff):
        return f"Versions are off: {plain} Everything else works."
    return plain


def _time(version: Version, zone: dt.tzinfo) -> str:
    return dt.datetime.fromtimestamp(version.when, zone).strftime(TIME)


def _title(version: Version) -> str:
    """Return the title for Markdown: another program's words are not formatted."""
    title = version_title(version)
    return code_span(title) if version.kind == "foreign" else title


def _row(version: Version, zone: dt.tzinfo, digits: int = messages.SHORT) -> str:
    return f"- {_time(version, zone)}, {_title(version)} (`{version.sha[:digits]}`)"


def _change_row(change: FileChange) -> str:
    mark = " (new)" if change.old is None else " (removed)" if change.new is None else ""
    counts = change.counts
    what = "no text" if counts.is_binary else f"+{counts.added} −{counts.removed}"
    return f"- {code_span(change.path)} {what}{mark}"


def _step_row(step: Step) -> str:
    return f"- {code_span(step.path)} {step.verb}"


def _lost_row(step: Step) -> str:
    """Describe what was done to a file since the version, and by which versions."""
    counts = step.lost.counts
    what = "no text" if counts.is_binary else f"+{counts.added} −{counts.removed}"
    if step.found is None:
        what = "it had been deleted"
    later = len(step.later)
    kept = f", kept in {later:,} later version{'' if later == 1 else 's'}" if later else ""
    return f"- {code_span(step.path)} {what}{kept}"


def _bullets(rows: Sequence[str], noun: str, most: int = FILES_NAMED) -> str:
    left = len(rows) - most
    more = [f"- … and {left:,} more {noun}{'' if left == 1 else 's'}"] if left > 0 else []
    return "\n".join([*rows[:most], *more])


_SHOWN, _SHOWN_CHARS = 5, 120


def undo_run(
    root: Path,
    sha: str,
    *,
    account: int | None = None,
    expect: str | None = None,
    keep_out: bool = True,
) -> Undone:
    """Undo the version with the full id *sha*. *keep_out*: Dream may not write again what the
    version had added; otherwise it is told what was undone, and decides anew.

    Raises:
        UndoRefused, WorkspaceError: as ``undo``; nothing was undone.
    """
    real = paths.real_root(root)
    with transactions.lock_workspace(real):
        done = undo(real, sha, account=account, expect=expect)
        if keep_out and done.plan.version.kind != "restore":
            actor = Actor("restore", account, f"{messages.UNDO_RUN}{sha}")
            dead = list(_undone_facts(real, done.plan, actor))
            suppression.land(real, tombstones.add_tombstones(real, dead, actor))
    return done


def kept_out_text(root: Path, sha: str) -> str:
    """Say which texts the undoing of that version keeps out; empty: none."""
    run = f"{messages.UNDO_RUN}{sha}"
    listed = suppression.list_tombstones(paths.real_root(root))
    found = [row.text for row in listed if row.run == run]
    if not found:
        return ""
    shown = ", ".join(code_span(one_line(text, _SHOWN_CHARS)) for text in found[:_SHOWN])
    more = " …" if found[_SHOWN:] else ""
    return (
        f"Dream does not write this again until you say it anew: {shown}{more}. Memory → Forgotten "
        "lists it and lets it be known again."
    )


def _undone_facts(root: Path, plan: UndoPlan, actor: Actor) -> Iterator[Tombstone]:
    """Yield what the version had stated and no file states now, in whatever words."""
    standing = _standing(root)
    for step in plan.steps:
        change = Change(step.path, step.made, step.wanted, actor, root)
        for fact, text in list_departed(change):
            dead = tombstones.tombstone(text, path=step.path, heading=fact.heading)
            state = State((dead,))
            if not any(state.match(one) for one in standing):
                yield replace(dead, is_replaced=True)


def _standing(root: Path) -> list[Fact]:
    skill_paths = [skill.path for skill in skills.all_skills(root) if not skill.ships]
    return [
        fact
        for path in (*files.BY_PATH, *skill_paths)
        for fact in stated(tracked_files.read_tracked_file(root, path))
    ]
