"""The proposals of each workspace in the database, and a run's access to them.

Rows are read and written under the workspace's lock. The flag file is set before the first row
and removed after the last one, so that no chat overlooks a row.

A later run may replace a proposal: it rewords, moves or removes the line. The earlier text is in
no file and no version, so it is archived, or its entries are requeued when its file has no archive.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.db_connections import release_db_connection
from jenny.workspace import paths
from jenny.workspace.config import Config
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Actor, Change
from memory import facts, files, ledgers, skills
from memory.approvals import overlay
from memory.approvals.diff import is_alike
from memory.approvals.values import Kind, Mode, Piece, ProposalAct, Staged, Waiting
from memory.archive import write_rule
from memory.facts import Fact
from memory.history import cursors, reader
from memory.models import DreamRun, StagedHunk
from memory.services.dream_run_store import queue_entries
from memory.suppression import tombstones
from memory.suppression.hide import filtered

_REPLACED = "replaced before it was approved"
_VOID = "not approved before a restore"


@dataclass(frozen=True, slots=True)
class Ended:
    """A proposal that ended, the run that ended it, and its write."""

    row: StagedHunk
    run: str
    act: ProposalAct


def keep_facts(workspace: Workspace, ended: Sequence[Ended]) -> None:
    """Archive or requeue what these proposals would have written. Call it under the workspace's
    lock, after the rows that replace them are stored."""
    root = paths.real_root(workspace.root)
    waiting = list(StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING))
    standing = _standing(root)
    for one in ended:
        said = {facts.normal(fact.text): fact for fact in _staged_facts(one.row)}
        for row in waiting:
            there = {facts.normal(fact.text) for fact in _staged_facts(row)}
            if said.keys() & there:
                # It is pending in another place and still rests on the same entries.
                row.sources = sorted({*row.sources, *one.row.sources})
                row.save(update_fields=["sources"])
            said = {key: fact for key, fact in said.items() if key not in there}
        lost = [fact for key, fact in said.items() if key not in standing]
        if not lost:
            continue
        actor = Actor(one.act.actor, run=one.run, reason=one.act.reason or _REPLACED)
        is_inherited = any(
            row.path == one.row.path and {*one.row.sources} <= {*row.sources} for row in waiting
        )
        if not _archive(root, one.row.path, lost, actor) and not is_inherited:
            _offer(workspace, root, one.row.sources)


def keep_unsourced_facts(workspace: Workspace, rows: Sequence[StagedHunk]) -> None:
    """Archive invalid proposals whose entries cannot be requeued: they have none, or the history
    no longer has them."""
    root = paths.real_root(workspace.root)
    standing = _standing(root)
    known = reader.find_by_cursor(root, {cursor for row in rows for cursor in row.sources})
    for row in rows:
        if row.sources and known.keys() >= set(row.sources):
            continue
        lost = [fact for fact in _staged_facts(row) if facts.normal(fact.text) not in standing]
        _archive(root, row.path, lost, Actor(row.actor, reason=_VOID))


def archive_changes(root: Path, row: StagedHunk, actor: Actor) -> list[Change]:
    """Return the changes that archive what a proposal would have written."""
    return _archived(root, row.path, _staged_facts(row), actor)


def _staged_facts(row: StagedHunk) -> list[Fact]:
    """Return the facts that a row would add."""
    before = {facts.normal(fact.text) for fact in facts.facts("\n".join(row.piece["before"]))}
    came = [fact for fact in facts.facts("\n".join(row.piece["after"])) if fact.has_content]
    return [fact for fact in came if facts.normal(fact.text) not in before]


def _standing(root: Path) -> set[str]:
    """Return what memory files and skills state, and what is forgotten."""
    every = [*files.BY_PATH, *(skill.path for skill in skills.all_skills(root) if not skill.ships)]
    said = {
        facts.normal(fact.text)
        for path in every
        for fact in facts.stated(tracked_files.read_tracked_file(root, path))
    }
    return said | {facts.normal(tombstone.text) for tombstone in tombstones.list_tombstones(root)}


def _archive(root: Path, path: str, lost: Sequence[Fact], actor: Actor) -> bool:
    """Archive these texts. ``False``: it is no memory file.

    Texts of SOUL.md are archived, too: its versions have removed lines, and this one was never in
    it.
    """
    if path not in files.BY_PATH:
        return False
    if changes := _archived(root, path, lost, actor):
        ledgers.land(root, changes)
    return True


def _archived(root: Path, path: str, lost: Sequence[Fact], actor: Actor) -> list[Change]:
    if path not in files.BY_PATH:
        return []
    items = write_rule.taken_out(Change(path, None, None, actor, root), lost, added=[])
    return write_rule.archived(root, items) if items else []


def _offer(workspace: Workspace, root: Path, sources: Sequence[int]) -> None:
    place = cursors.dream_cursor(root)
    queue_entries(workspace, {cursor for cursor in sources if cursor <= place})


log = logging.getLogger(__name__)

# Newest decisions that keep Dream from proposing the same again.
REMEMBERED = 500
_LINES = frozenset({"before", "after"})


def mode_of(config: Config) -> Mode:
    mode: Mode = config.agents.defaults.dream.approve
    return mode


def open_rows(workspace: Workspace | UUID | None) -> QuerySet[StagedHunk]:
    """Return pending rows in the order in which they are merged."""
    rows = StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING)
    return rows.order_by("path", "number", "pk")


def load_waiting(root: Path) -> Waiting:
    try:
        # No model sees what a person asked to have forgotten.
        rows = (
            StagedHunk.objects.filter(workspace__slug=root.name, state=StagedHunk.State.WAITING)
            .exclude(actor=StagedHunk.WISH)
            .order_by("path", "number", "pk")
        )
        return Waiting(tuple(map(staged_of, rows)))
    finally:
        release_db_connection()


def load_unwanted(root: Path) -> Waiting:
    """Return what the workspace's person rejected, for Dream's prompt."""
    try:
        rejected, kept = _unwanted(StagedHunk.objects.filter(workspace__slug=root.name))
        return Waiting(rejected=rejected, kept=kept)
    finally:
        release_db_connection()


def withdraw_forgotten(root: Path, rows: Sequence[StagedHunk]) -> list[StagedHunk]:
    """Take what was forgotten out of pending rows, and return those that are left. A row that adds
    nothing else is stored as forgotten."""
    state = tombstones.state(root) if rows else None
    if state is None or not state.active:
        return list(rows)
    left = []
    for row in rows:
        piece = piece_of(row)
        after = filtered(state, "\n".join(piece.after))
        if row.is_wish or not after.left_out:
            left.append(row)
            continue
        kept = replace(piece, after=tuple(after.text.split("\n")) if after.text.strip() else ())
        if kept.after and not set(_facts(kept.after)) <= set(_facts(kept.before)):
            row.piece = as_json(kept)
            row.save(update_fields=["piece"])
            left.append(row)
        else:
            # As of every text that is forgotten, a copy stays.
            if changes := archive_changes(root, row, Actor("command", reason="forgotten")):
                ledgers.land(root, changes)
            mine = StagedHunk.objects.filter(pk=row.pk, state=StagedHunk.State.WAITING)
            mine.update(state=StagedHunk.State.NEVER, decided_at=Now())
    return left


def staged_of(row: StagedHunk) -> Staged:
    return Staged(row.pk, row.path, piece_of(row), tuple(row.sources))


def piece_of(row: StagedHunk) -> Piece:
    lines = {key: tuple(row.piece[key]) for key in _LINES}
    return Piece(**(row.piece | lines))


def as_json(piece: Piece) -> dict[str, Any]:
    """Return a piece as a row stores it."""
    return asdict(piece)


def is_piece(found: dict[str, Any]) -> bool:
    """True when an imported value is a piece as rows store it."""
    like = as_json(Piece("add"))
    if found.keys() != like.keys() or found["kind"] not in get_args(Kind.__value__):
        return False
    lines = [found["before"], found["after"]]
    if not all(isinstance(row, list) and all(isinstance(one, str) for one in row) for row in lines):
        return False
    return all(type(found[name]) is type(one) for name, one in like.items() if name not in _LINES)


def keep_marks(workspace: Workspace) -> None:
    """Set or remove the flag files; call it under the workspace's lock.

    A flag that stays too long costs one query; if the disk refuses, the next call repeats it.
    """
    root = paths.real_root(workspace.root)
    rejected = StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.REJECTED)
    for name, rows in ((overlay.MARK, open_rows(workspace)), (overlay.UNWANTED, rejected)):
        try:
            (overlay.set_flag if rows.exists() else overlay.clear_flag)(root, name)
        except OSError as error:
            log.warning("approval.not_marked", extra={"cause": type(error).__name__})


class DjangoProposalStore:
    """``memory.approvals.values.ProposalStore`` over the rows of one run's workspace."""

    def __init__(self, run: DreamRun, mode: Mode) -> None:
        self._run = run
        self._ended: list[Ended] = []
        self.mode: Mode = mode

    def waiting(self) -> Waiting:
        try:
            mine = StagedHunk.objects.filter(workspace=self._run.workspace_id)
            rejected, kept = _unwanted(mine)
            found = list(open_rows(self._run.workspace_id).exclude(actor=StagedHunk.WISH))
            root = paths.real_root(self._run.workspace.root) if found else Path()
            rows = tuple(map(staged_of, withdraw_forgotten(root, found)))
        finally:
            release_db_connection()
        return Waiting(rows, rejected, kept)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Store all of the block or nothing."""
        try:
            overlay.set_flag(paths.real_root(self._run.workspace.root), overlay.MARK)
        except OSError as error:
            message = f"The change could not be put aside: {reason_of(error)}. Nothing was written."
            raise WriteFailed(message) from error
        self._ended = []
        try:
            with transaction.atomic():
                yield
                if self._ended:
                    keep_facts(self._run.workspace, self._ended)
        finally:
            keep_marks(self._run.workspace)
            release_db_connection()

    def put(self, path: str, pieces: Sequence[Piece], act: ProposalAct) -> int:
        """Stage pieces for the file, with those that had no place in it."""
        rows = open_rows(self._run.workspace_id).exclude(actor=StagedHunk.WISH)
        waiting = rows.filter(path=path)
        old = list(waiting.exclude(pk__in=act.unplaced))
        new: list[tuple[int, Piece]] = []
        for number, piece in enumerate(pieces):
            same = next((row for row in old if piece_of(row).content == piece.content), None)
            if same is None:
                new.append((number, piece))
                continue
            old.remove(same)
            same.piece, same.number = as_json(piece), number
            same.save(update_fields=["piece", "number"])
        for number, piece in new:
            taken = [row for row in old if _touch(piece_of(row), piece)]
            every = {*act.sources, *(cursor for row in taken for cursor in row.sources)}
            StagedHunk.objects.create(
                workspace_id=self._run.workspace_id,
                run=self._run,
                actor=act.actor,
                path=path,
                kind=piece.kind,
                piece=as_json(piece),
                number=number,
                sources=sorted(every),
                reason=act.reason,
            )
        self._ended += [Ended(row, self._run.name, act) for row in old]
        gone = StagedHunk.objects.filter(pk__in=[row.pk for row in old])
        gone.update(state=StagedHunk.State.SUPERSEDED, decided_at=Now())
        return len(new)

    def count(self) -> int:
        try:
            return open_rows(self._run.workspace_id).filter(run=self._run).count()
        finally:
            release_db_connection()


def _touch(old: Piece, new: Piece) -> bool:
    """True when a piece concerns the one that it replaces."""
    if old.kind == new.kind == "skill":
        return True
    shared = set(filter(str.strip, (*old.before, *old.after))) & {*new.before, *new.after}
    return bool(shared) or is_alike(old.after or old.before, new.after or new.before)


def _unwanted(rows: QuerySet[StagedHunk]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return rejected wordings and rejected removals among *rows*, newest first."""
    wordings: list[str] = []
    kept: list[str] = []
    rejected = rows.filter(state=StagedHunk.State.REJECTED).order_by("-pk")
    for kind, piece, path in rejected.values_list("kind", "piece", "path")[:REMEMBERED]:
        if kind == "skill" or path not in files.BY_PATH:
            wordings.append("\n".join(piece["after"]) + "\n")
            continue
        before, after = _facts(piece["before"]), _facts(piece["after"])
        wordings += [text for text in after if text not in before]
        if kind == "remove":
            kept += before
    return tuple(wordings), tuple(kept)


def _facts(lines: Sequence[str]) -> list[str]:
    return [row.text for row in facts.facts("\n".join(lines)) if row.has_content]
