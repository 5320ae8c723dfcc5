"""Records runs that removed much from a file until a person has decided about them.

Much is more than 30 % of a file's characters, or 8 entries, by what the run left behind: the
archive for files that have one, its versions for the others. What was reworded, moved, or stands
in a memory file again was not taken out.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db.models import QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.workspace import paths, transactions
from jenny.workspace.errors import FileMissing, VersionsOff, WorkspaceError
from jenny.workspace.files import Workspace as Files
from jenny.workspace.files import open_workspace
from jenny.workspace.versions import tracked_files
from jenny.workspace.versions.history import FileChange, open_history
from jenny.workspace.write_rules import Actor
from memory import archive, budgets, files
from memory.approvals.diff import is_alike
from memory.approvals.values import DecisionOutcome, LargePruneNotice, Pruned
from memory.archive import reinsert, write_rule
from memory.archive.file_format import Archived
from memory.dream.review import SUFFIX
from memory.errors import NotArchived
from memory.facts import normal, stated
from memory.models import DreamRun, LargePrune

PRUNE_SHARE = 0.3
PRUNE_ENTRIES = 8


@dataclass(frozen=True, slots=True)
class PrunedFile:
    """The text that a run took out of one file: *chars* characters of the *size* it had before."""

    path: str
    chars: int
    size: int
    lines: tuple[Pruned, ...]

    @property
    def is_large(self) -> bool:
        return len(self.lines) >= PRUNE_ENTRIES or self.chars > PRUNE_SHARE * max(self.size, 1)


def find_prunes(
    root: Path, runs: Collection[str], commits: Sequence[str]
) -> tuple[PrunedFile, ...]:
    """Return the texts that a run took out of the memory files, by the names of its parts and its
    versions, in order."""
    changes = _changes(root, commits)
    standing = _standing(root)
    found = []
    for file in files.MEMORY_FILES:
        own = [change for change in changes if change.path == file.path]
        lines = _archived(root, runs, file.path) if file.archived else _left(own)
        came = [fact.text for row in own for fact in write_rule.leaving_facts(row.new, row.old)]
        lines = [
            line
            for line in lines
            if normal(line.text) not in standing
            and not any(is_alike([line.text], [text]) for text in came)
        ]
        if not lines:
            continue
        lines = _in_order(lines, own)
        chars = sum(len(line.text) for line in lines)
        now = budgets.characters(_on_disk(root, file.path))
        size = budgets.characters(own[0].old) if own else now + chars
        found.append(PrunedFile(file.path, chars, size, tuple(lines)))
    return tuple(found)


def _archived(root: Path, runs: Collection[str], path: str) -> list[Pruned]:
    """Return the lines of a file that the run moved to the archive."""
    return [
        Pruned(row.text, row.heading, row.kind, row.id)
        for row in archive.removed_by(root, runs)
        if row.source == path
    ]


def _in_order(lines: list[Pruned], changes: Sequence[FileChange]) -> list[Pruned]:
    """The lines as they stood in the file, as far as its versions tell."""
    places = {normal(fact.text): at for row in changes for at, fact in enumerate(stated(row.old))}
    return sorted(lines, key=lambda line: places.get(normal(line.text), 0))


def _left(changes: Sequence[FileChange]) -> list[Pruned]:
    """Return the lines that left a file without an archive, by the run's versions."""
    return [
        Pruned(fact.text, fact.heading, fact.kind)
        for change in changes
        for fact in write_rule.leaving_facts(change.old, change.new)
    ]


def _changes(root: Path, commits: Sequence[str]) -> list[FileChange]:
    if not commits:
        return []
    try:
        with open_history(root) as history:
            return [row for sha in commits for row in history.changes(history.version(sha))]
    except VersionsOff:
        return []


def _standing(root: Path) -> set[str]:
    return {normal(fact.text) for path in files.BY_PATH for fact in stated(_on_disk(root, path))}


def _on_disk(root: Path, path: str) -> bytes | None:
    try:
        return tracked_files.read_tracked_file(root, path)
    except OSError:
        return None


log = logging.getLogger(__name__)


def note_large_prune(run: DreamRun) -> None:
    """Record what an ended run removed from the files, if it is much."""
    review = run.review if isinstance(run.review, dict) else {}
    commits = list(dict.fromkeys([*review.get("commits", ()), *run.commits]))
    if not (commits or run.archived or review.get("archived")):
        return
    names = {run.name, f"{run.name}{SUFFIX}"}
    try:
        taken = find_prunes(run.workspace.root, names, commits)
    except WorkspaceError as error:
        log.warning("prune.not_known", extra={"run": run.pk, "cause": type(error).__name__})
        return
    many = sum(len(row.lines) for row in taken) >= PRUNE_ENTRIES
    for row in taken:
        if row.is_large or many:
            LargePrune.objects.get_or_create(
                run=run,
                path=row.path,
                defaults={
                    "workspace_id": run.workspace_id,
                    "chars": row.chars,
                    "size": row.size,
                    "lines": [asdict(line) for line in row.lines],
                },
            )


def large_prunes(
    workspace: Workspace, *, run_id: int | None = None
) -> tuple[LargePruneNotice, ...]:
    """Return those without a decision, newest first."""
    rows = _open(workspace)
    if run_id is not None:
        rows = rows.filter(run=run_id)
    return tuple(_prune(row) for row in rows.order_by("-run", "path"))


def bring_all_back(
    workspace: Workspace, run_id: int, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Bring back every line that the run removed from the files of its notice."""
    rows = list(_open(workspace).filter(run=run_id).order_by("path"))
    if not rows:
        return _seen_to(workspace, run_id, is_back=True)
    actor = Actor(kind, account=account.pk if account else None, reason="brought back")
    landed = standing = 0
    try:
        # One lock for all lines: nobody else writes in between.
        with transactions.lock_workspace(paths.real_root(workspace.root)):
            for row in rows:
                for line in row.lines:
                    if _bring_back(workspace, row.path, Pruned(**line), actor):
                        landed += 1
                    else:
                        standing += 1
    except WorkspaceError as error:
        many = f"{landed} lines are" if landed != 1 else "1 line is"
        message = f"{many} back, and the others are not: {error.message} Try it again."
        return DecisionOutcome(ok=False, message=message)
    LargePrune.objects.filter(pk__in=[row.pk for row in rows]).update(brought_back_at=Now())
    what = f"{landed} lines are" if landed != 1 else "1 line is"
    where = " and ".join(row.path for row in rows)
    stood = f" {standing} stood there already." if standing else ""
    return DecisionOutcome(ok=True, message=f"{what} back in {where}.{stood}")


def dismiss(
    workspace: Workspace, run_id: int, *, account: Account | None, kind: str = "browser"
) -> DecisionOutcome:
    """Leave the lines out and dismiss the notice."""
    del account, kind
    if not _open(workspace).filter(run=run_id).update(dismissed_at=Now()):
        return _seen_to(workspace, run_id, is_back=False)
    message = f"What run {run_id} took out stays out; it lies in the archive as before."
    return DecisionOutcome(ok=True, message=message)


def _open(workspace: Workspace) -> QuerySet[LargePrune]:
    return LargePrune.objects.filter(workspace=workspace, dismissed_at=None, brought_back_at=None)


def _seen_to(workspace: Workspace, run_id: int, *, is_back: bool) -> DecisionOutcome:
    rows = LargePrune.objects.filter(workspace=workspace, run=run_id)
    if not rows.exists():
        message = f"Run {run_id} took out nothing that a notice tells of. Nothing was done."
        return DecisionOutcome(ok=False, message=message)
    was_back = rows.exclude(brought_back_at=None).exists()
    what = "brought back" if was_back else "dismissed"
    message = f"The notice of run {run_id} was {what} already. Nothing was done."
    return DecisionOutcome(ok=was_back == is_back, message=message)


def _bring_back(workspace: Workspace, path: str, line: Pruned, actor: Actor) -> bool:
    """Write one line back to its file. ``False``: it is there already."""
    root = workspace.root
    if line.archive_id:
        try:
            return archive.bring_back(root, line.archive_id, actor).landed
        except NotArchived:
            # The archive was edited by hand meanwhile; the notice has the text as well.
            log.warning("prune.not_in_archive", extra={"id": line.archive_id})
    opened = open_workspace(root, actor)
    data = _content(opened, path)
    if normal(line.text) in {normal(fact.text) for fact in stated(data)}:
        return False
    item = Archived("", line.text, source=path, heading=line.heading, kind=line.kind)
    opened.write(path, reinsert.inserted(data, item))
    return True


def _content(opened: Files, path: str) -> bytes | None:
    try:
        return opened.read(path, limit=64_000_000).data
    except FileMissing:
        return None


def _prune(row: LargePrune) -> LargePruneNotice:
    lines = tuple(Pruned(**line) for line in row.lines)
    return LargePruneNotice(
        run_id=row.run_id, path=row.path, chars=row.chars, size=row.size, lines=lines
    )
