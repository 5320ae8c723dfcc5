"""Keeps the facts of proposals that end without a person's decision.

A later run may replace a proposal: it rewords, moves or removes the line. The earlier text is in
no file and no version, so it is archived here, or its entries are requeued when its file has no
archive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jenny.accounts.models import Workspace
from jenny.workspace import paths
from jenny.workspace.versions import tracked_files
from jenny.workspace.write_rules import Actor, Change
from memory import files, ledgers, skills
from memory.approvals.values import Act
from memory.archive import write_rule
from memory.facts import Fact, facts, normal, stated
from memory.history import cursors, reader
from memory.models import StagedHunk
from memory.services.dream.run_store import queue_entries
from memory.suppression import tombstones

_REPLACED = "replaced before it was approved"
_VOID = "not approved before a restore"


@dataclass(frozen=True, slots=True)
class Ended:
    """A proposal that ended, the run that ended it, and its write."""

    row: StagedHunk
    run: str
    act: Act


def keep_facts(workspace: Workspace, ended: Sequence[Ended]) -> None:
    """Archive or requeue what these proposals would have written. Call it under the workspace's
    lock, after the rows that replace them are stored."""
    root = paths.real_root(workspace.root)
    waiting = list(StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING))
    standing = _standing(root)
    for one in ended:
        said = {normal(fact.text): fact for fact in _facts(one.row)}
        for row in waiting:
            there = {normal(fact.text) for fact in _facts(row)}
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
        lost = [fact for fact in _facts(row) if normal(fact.text) not in standing]
        _archive(root, row.path, lost, Actor(row.actor, reason=_VOID))


def archive_changes(root: Path, row: StagedHunk, actor: Actor) -> list[Change]:
    """Return the changes that archive what a proposal would have written."""
    return _archived(root, row.path, _facts(row), actor)


def _facts(row: StagedHunk) -> list[Fact]:
    """Return the facts that a row would add."""
    before = {normal(fact.text) for fact in facts("\n".join(row.piece["before"]))}
    came = [fact for fact in facts("\n".join(row.piece["after"])) if fact.has_content]
    return [fact for fact in came if normal(fact.text) not in before]


def _standing(root: Path) -> set[str]:
    """Return what memory files and skills state, and what is forgotten."""
    every = [*files.BY_PATH, *(skill.path for skill in skills.all_skills(root) if not skill.ships)]
    said = {
        normal(fact.text)
        for path in every
        for fact in stated(tracked_files.read_tracked_file(root, path))
    }
    return said | {normal(stone.text) for stone in tombstones.list_tombstones(root)}


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
