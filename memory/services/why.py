"""Explains a line of a memory file by its writes, entries and messages."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from jenny.accounts.models import Workspace
from jenny.workspace import names
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Actor, Change, open_workspace
from jenny.workspace.versions.history import open_history
from jenny.workspace.versions.messages import Version
from memory import files
from memory.errors import NoSuchLine
from memory.facts import Fact, decoded, digest, digests, facts
from memory.history import reader
from memory.message_sources import (
    MessageQuery,
    SourceConversation,
    find_source_messages,
    written_at,
)
from memory.provenance import (
    TURN,
    Why,
    WhyEntry,
    Writing,
    derive_origins,
)
from memory.services import origins
from memory.versions import version_title

_LARGEST = 64_000_000
MOST_ENTRIES = 60

# Phrases for actors and relations.
WHO = {
    "chat": "the assistant, in a chat",
    "dream": "Dream",
    "review": "Dream, tidying up",
    "browser": "you, in the pages",
    "command": "a command",
    "restore": "a restore",
    "outside": "a text editor",
    "setup": "the setting up of the workspace",
    "temporary": "the assistant, in a temporary chat",
    "pipeline": "Jenny, by herself",
}
HOW = {
    "added": "added it",
    "moved": "moved it here",
    "reworded": "reworded it",
    "replaced": "wrote it in the place of something else",
}


def why(workspace: Workspace, path: str, line: int) -> Why:
    """Explain line *line* (from 1) of a memory file or skill.

    Raises:
        NoSuchLine: it is no such file, or the line is empty.
        WorkspaceError: it cannot be read.
    """
    origins.save_origins(workspace)
    found = open_workspace(workspace.root, Actor("browser"))
    path = found.relative(path)
    fact, data = _fact(found.root, path, line)
    writes = origins.writings(workspace, *digests(fact.text))
    version = None
    if not any(row.is_own for row in writes):
        before, version = _from_versions(found.root, path, fact, data)
        if before:
            older = origins.writings(workspace, *before)
            writes = tuple(replace(row, is_own=False) for row in older)
    result = Why(
        path,
        fact.first,
        fact.text,
        writes,
        _entries(workspace, writes, fact.text),
        _speech(found.root, writes, fact.text),
        version,
    )
    return replace(result, message=_told(result))


def _fact(root: Path, path: str, line: int) -> tuple[Fact, bytes]:
    is_skill = files.skill_of(path) is not None
    if not is_skill and files.memory_file(root, path) is None:
        shown = names.shown(path)
        message = f"{shown} is no memory file and no skill, so nobody notes where it comes from."
        raise NoSuchLine(message)
    try:
        data = open_workspace(root, Actor("browser")).read(path, limit=_LARGEST).data
    except FileMissing as error:
        raise NoSuchLine(error.message) from error
    for fact in facts(decoded(data)):
        if fact.first <= line <= fact.last and fact.has_content:
            return fact, data
    raise NoSuchLine(f"Line {line} of {names.shown(path)} says nothing.")


def _from_versions(
    root: Path, path: str, fact: Fact, data: bytes
) -> tuple[tuple[str, ...], Version | None]:
    """Explain a line without recorded origin: digests of its predecessor in the newest version,
    if it was edited outside since, and the version that added it."""
    try:
        with open_history(root) as history:
            lines = history.blame(path)
            old = history.file_as_of(path, history.tip) if history.tip else None
    except (OSError, WorkspaceError):
        return (), None
    version = lines[fact.first - 1].version if fact.first <= len(lines) else None
    if version is not None or old is None:
        return (), version
    rows = derive_origins([Change(path, old, data, Actor("outside"), root)])
    sought = digest(fact.text)
    return next((row.was for row in rows if row.digest == sought), ()), None


def _entries(workspace: Workspace, writes: Sequence[Writing], about: str) -> tuple[WhyEntry, ...]:
    """Return the entries of the writes, newest first, each with its messages."""
    root = workspace.root
    cursors = sorted({one for row in writes for one in row.sources}, reverse=True)[:MOST_ENTRIES]
    try:
        there = reader.find_by_cursor(root, cursors)
    except WorkspaceError:
        there = {}
    found = []
    for cursor in cursors:
        entry = there.get(cursor)
        said = None
        if entry is not None and entry.messages and entry.conversation:
            said = find_source_messages(
                MessageQuery(
                    root,
                    conversation=entry.conversation,
                    messages=entry.messages,
                    until=written_at(entry),
                    about=about,
                )
            )
        found.append(WhyEntry(cursor, entry, said))
    return tuple(found)


def _speech(root: Path, writes: Sequence[Writing], about: str) -> tuple[SourceConversation, ...]:
    runs = dict.fromkeys(row.run for row in writes if row.run.startswith(TURN))
    found = (find_source_messages(MessageQuery(root, run=run, about=about)) for run in runs)
    return tuple(said for said in found if said is not None)


def _told(found: Why) -> str:
    """Format the explanation, a line each."""
    where = f"{names.shown(found.path)}, line {found.line}"
    text = " ".join(found.text.split())
    lines = [f"{where}: {text if len(text) <= 300 else f'{text[:300]}…'}"]  # noqa: PLR2004 - characters of a line
    lines += [_write(row) for row in found.writes]
    if found.version is not None:
        when = datetime.fromtimestamp(found.version.when, UTC)
        by = f" by {found.version.actor}" if found.version.actor else ""
        lines.append(
            f"{when:%Y-%m-%d %H:%M}  It came{by} with a version: "
            f"{version_title(found.version)}. It is older than the record of writes."
        )
    elif not any(row.is_own for row in found.writes):
        how = "changed" if found.writes else "written"
        lines.append(f"It was {how} in a text editor since, or nobody noted by whom.")
    for row in found.entries:
        lines += _entry(row)
    for said in found.speech:
        lines += _messages(said)
    return "\n".join(lines)


def _write(row: Writing) -> str:
    who = WHO.get(row.actor, row.actor)
    run = f" ({row.run})" if row.run else ""
    how = HOW.get(row.relation, row.relation)
    if row.was_path:
        how += f" from {names.shown(row.was_path)}"
    own = "" if row.is_own else ", in the words it had before"
    reason = f": {row.reason}" if row.reason else ""
    rests = f" It rests on {_list(row.sources)}." if row.sources else ""
    gone = f" It named {_list(row.missing)}, not in the history." if row.missing else ""
    start = f"{row.at.astimezone(UTC):%Y-%m-%d %H:%M}  {who[0].upper()}{who[1:]}{run} {how}"
    return f"{start}{own}{reason}.{rests}{gone}"


def _list(cursors: Sequence[int]) -> str:
    what = "note" if len(cursors) == 1 else "notes"
    return f"{what} {', '.join(map(str, cursors))}"


def _entry(row: WhyEntry) -> list[str]:
    if row.entry is None:
        return [f"Note {row.cursor} is not there any more."]
    text = " ".join(row.entry.content.split())
    shown = text if len(text) <= 300 else f"{text[:300]}…"  # noqa: PLR2004 - characters of a line
    lines = [f"Note {row.cursor}, {row.entry.timestamp}: {shown}"]
    return lines + (_messages(row.speech) if row.speech else [])


def _messages(found: SourceConversation) -> list[str]:
    title = f"“{found.title}”" if found.title else "a conversation"
    lines = [f"Said in {title}:"]
    for row in found.said:
        who = "You" if row.who == "user" else "Jenny"
        lines.append(f"  {row.at.astimezone(UTC):%Y-%m-%d %H:%M}  {who}: {row.excerpt}  {row.url}")
    if found.more:
        lines.append(f"  and {found.more} more")
    return lines
