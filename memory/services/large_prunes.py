"""Records runs that removed much from a file until a person has decided about them."""

import logging
from dataclasses import asdict

from django.db.models import QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Account, Workspace
from jenny.workspace import paths, transactions
from jenny.workspace.errors import FileMissing, WorkspaceError
from jenny.workspace.files import Workspace as Files
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import archive
from memory.approvals.values import LargePruneNotice, Outcome, Pruned
from memory.archive import reinsert
from memory.archive.file_format import Archived
from memory.dream.reports import prunes
from memory.dream.review.review_pass import SUFFIX
from memory.errors import NotArchived
from memory.facts import normal, stated
from memory.models import DreamRun, LargePrune

log = logging.getLogger(__name__)


def note_large_prune(run: DreamRun) -> None:
    """Record what an ended run removed from the files, if it is much."""
    review = run.review if isinstance(run.review, dict) else {}
    commits = list(dict.fromkeys([*review.get("commits", ()), *run.commits]))
    if not (commits or run.archived or review.get("archived")):
        return
    names = {run.name, f"{run.name}{SUFFIX}"}
    try:
        taken = prunes.of_run(run.workspace.root, names, commits)
    except WorkspaceError as error:
        log.warning("prune.not_known", extra={"run": run.pk, "cause": type(error).__name__})
        return
    many = sum(len(row.lines) for row in taken) >= prunes.ENTRIES
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
) -> Outcome:
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
        return Outcome(ok=False, message=message)
    LargePrune.objects.filter(pk__in=[row.pk for row in rows]).update(brought_back_at=Now())
    what = f"{landed} lines are" if landed != 1 else "1 line is"
    where = " and ".join(row.path for row in rows)
    stood = f" {standing} stood there already." if standing else ""
    return Outcome(ok=True, message=f"{what} back in {where}.{stood}")


def dismiss(
    workspace: Workspace, run_id: int, *, account: Account | None, kind: str = "browser"
) -> Outcome:
    """Leave the lines out and dismiss the notice."""
    del account, kind
    if not _open(workspace).filter(run=run_id).update(dismissed_at=Now()):
        return _seen_to(workspace, run_id, is_back=False)
    message = f"What run {run_id} took out stays out; it lies in the archive as before."
    return Outcome(ok=True, message=message)


def _open(workspace: Workspace) -> QuerySet[LargePrune]:
    return LargePrune.objects.filter(workspace=workspace, dismissed_at=None, brought_back_at=None)


def _seen_to(workspace: Workspace, run_id: int, *, is_back: bool) -> Outcome:
    rows = LargePrune.objects.filter(workspace=workspace, run=run_id)
    if not rows.exists():
        message = f"Run {run_id} took out nothing that a notice tells of. Nothing was done."
        return Outcome(ok=False, message=message)
    was_back = rows.exclude(brought_back_at=None).exists()
    what = "brought back" if was_back else "dismissed"
    message = f"The notice of run {run_id} was {what} already. Nothing was done."
    return Outcome(ok=was_back == is_back, message=message)


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
