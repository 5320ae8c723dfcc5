"""Forgotten facts in the database: wishes to forget, and facts that may be known again.

A wish that a person said in a conversation, when its model called no tool: what is meant is
suppressed at once, so that no model sees it. The lines that say it stay in their files and wait for
the person's decision with the proposals.

A fact that may be known again: entries that Dream passed over because of it are shown to Dream
again when only the history has the fact.
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from django.db import transaction

from jenny.accounts.models import Workspace
from jenny.agent.prompt import one_line
from jenny.workspace import paths, transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import archive, suppression
from memory.approvals import diff, overlay
from memory.errors import CursorBroken
from memory.facts import Fact
from memory.history import cursors, reader
from memory.models import DreamRun, StagedHunk
from memory.paraphrases import ParaphraseMatcher
from memory.services.approval_decisions import text_of
from memory.services.dream_run_store import queue_entries
from memory.services.proposals import as_json, keep_marks, open_rows
from memory.suppression import ForgettableLine, Tombstone
from memory.suppression.forget import list_lines
from memory.suppression.tombstones import State, sought

logger = logging.getLogger(__name__)

_REASON = "you asked in a conversation to have “{}” forgotten"
_SHOWN = 200


def note_wishes(workspace: Workspace, wishes: Iterable[str]) -> None:
    """Suppress what is meant, and propose the lines that say it to be taken out.

    Raises:
        WorkspaceError: something could not be noted.
    """
    root = paths.real_root(workspace.root)
    for wish in dict.fromkeys(wishes):
        with transactions.lock_workspace(root):
            found = suppression.note_wish(
                root, wish, Actor(StagedHunk.WISH, account=workspace.owner_id)
            )
            for row in found:
                _propose(workspace, wish, row)
            keep_marks(workspace)


def _propose(workspace: Workspace, wish: str, row: ForgettableLine) -> None:
    root = paths.real_root(workspace.root)
    try:
        new = suppression.file_without(root, row)
        pieces = diff.derive(row.path, text_of(workspace, row.path), new)
    except WorkspaceError as error:
        logger.warning("forgotten.not_proposed", extra={"cause": type(error).__name__})
        return
    overlay.set_flag(root, overlay.MARK)
    with transaction.atomic():
        known = [
            one.piece for one in open_rows(workspace).filter(path=row.path, actor=StagedHunk.WISH)
        ]
        for number, piece in enumerate(pieces):
            if as_json(piece) in known:
                continue
            StagedHunk.objects.create(
                workspace=workspace,
                actor=StagedHunk.WISH,
                path=row.path,
                kind=piece.kind,
                piece=as_json(piece),
                number=number,
                reason=_REASON.format(one_line(wish, _SHOWN)),
                text=wish,
            )


# Of the newest entries that say a fact; one run is shown as many.
MOST_ENTRIES = 20
# Of lines that have the words of the fact: so many are compared within about a second.
_MOST_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class Lifted:
    """A fact that may be known again. ``entries``: those that the next run is shown because of it,
    whether Dream had read them or not."""

    tombstone: Tombstone
    entries: tuple[int, ...] = ()

    @property
    def more(self) -> str:
        """Say where the fact comes back from; empty unless only the history has it."""
        if not self.entries:
            return ""
        return " Only the history has it, so the next memory update is shown it again."


def lift(workspace: Workspace, prefix: str, actor: Actor) -> Lifted:
    """Lift a tombstone by its id or the beginning of it.

    Raises:
        NotForgotten: no tombstone or several have this id.
        WriteFailed, LockTimeout: it stays forgotten.
    """
    root = paths.real_root(workspace.root)
    tombstone = suppression.find_tombstone(root, prefix)
    # Others write while a long history is searched.
    entries = _only_in_history(root, tombstone)
    with transactions.lock_workspace(root):
        # Queued first: when the lifting fails, a run passes over them once more.
        _queue(workspace, root, entries)
        suppression.lift_tombstone(root, tombstone.id, actor)
        # A run may have begun, and passed over them, between the two.
        _queue(workspace, root, entries)
    return Lifted(tombstone, tuple(sorted(entries)))


def requeue_lifted(workspace: Workspace, before: Collection[Tombstone]) -> None:
    """Show Dream again what it passed over because of those of the tombstones *before* that do not
    hold any more."""
    root = paths.real_root(workspace.root)
    held = {row.id for row in suppression.list_tombstones(root)}
    for tombstone in before:
        if tombstone.id not in held:
            _queue(workspace, root, _only_in_history(root, tombstone))


def _only_in_history(root: Path, tombstone: Tombstone) -> list[int]:
    """Return the newest entries that say the fact; none when a file or the archive says it."""
    state, words = State((tombstone,)), ParaphraseMatcher(sought(tombstone))

    def says(text: str | Fact) -> bool:
        plain = text if isinstance(text, str) else text.text
        return words.may_be_in(plain) and state.match(text) is not None

    lines = (fact for _, fact in list_lines(open_workspace(root, Actor("pipeline"))))
    archived = (row.as_fact for row in archive.listing(root))
    if any(map(says, chain(lines, archived))):
        return []
    found: list[int] = []
    room = _MOST_CHARS
    for entry in reader.newest_first(root):
        near = [line for line in entry.content.split("\n") if words.may_be_in(line)]
        if any(map(says, near)):
            found.append(entry.cursor)
        room -= sum(map(len, near))
        if len(found) == MOST_ENTRIES or room < 0:
            break
    return found


def _queue(workspace: Workspace, root: Path, entries: Collection[int]) -> None:
    """Queue those entries that Dream has read. A run under way may have passed over any of them
    before its place moves."""
    running = DreamRun.objects.filter(workspace=workspace, state=DreamRun.State.RUNNING)
    is_running = bool(entries) and running.exists()
    try:
        place = cursors.dream_cursor(root)
    except CursorBroken:
        # Dream waits until its place is known.
        return
    queue_entries(workspace, [cursor for cursor in entries if is_running or cursor <= place])
