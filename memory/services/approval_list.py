"""Lists pending and decided hunks for pages and commands."""

import logging
from collections.abc import Sequence
from typing import cast

from django.db import DatabaseError
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.workspace import paths
from jenny.workspace.errors import WorkspaceError
from memory.approvals import merge
from memory.approvals.values import Hunk, Piece
from memory.approvals.values import State as HunkState
from memory.models import StagedHunk
from memory.services.approval_decisions import State, partners_of, text_of
from memory.services.proposals import open_rows, piece_of, withdraw_forgotten

log = logging.getLogger(__name__)

_CHANGED = "Its place in the file has changed since Dream proposed it."


def waiting(workspace: Workspace, *, run_id: int | None = None) -> tuple[Hunk, ...]:
    """Return the pending hunks by file and place; of one run only, if asked."""
    every = resolve_hunk(workspace)
    texts = _Texts(workspace)
    rows = [row for row in every if run_id is None or row.run_id == run_id]
    return tuple(_hunk(row, texts, every) for row in rows)


def decided(
    workspace: Workspace, *, run_id: int | None = None, most: int = 200
) -> tuple[Hunk, ...]:
    rows = StagedHunk.objects.filter(workspace=workspace).exclude(state=State.WAITING)
    if run_id is not None:
        rows = rows.filter(run=run_id)
    return tuple(_plain(row) for row in rows.order_by("-decided_at", "-pk")[:most])


def count(workspace: Workspace) -> int:
    return open_rows(workspace).count()


def find(workspace: Workspace, hunk_id: int) -> Hunk | None:
    """Return one hunk in its present state; ``None`` without one."""
    row = StagedHunk.objects.filter(workspace=workspace, pk=hunk_id).first()
    if row is None or row.state != State.WAITING:
        return None if row is None else _plain(row)
    return _hunk(row, _Texts(workspace), list(open_rows(workspace)))


def resolve_hunk(workspace: Workspace) -> list[StagedHunk]:
    """Return pending rows; those whose file says the same already are stored as settled, those that
    would add what was forgotten since as forgotten.

    Read-only pages call this as well, so a full disk may prevent the storing; the next call
    repeats it.
    """
    texts = _Texts(workspace)
    rows = list(open_rows(workspace))
    done = [row for row in rows if texts.is_settled(row)]
    if done:
        mine = StagedHunk.objects.filter(pk__in=[row.pk for row in done], state=State.WAITING)
        try:
            mine.update(state=State.SETTLED, decided_at=Now())
        except DatabaseError as error:
            log.warning("approval.not_settled", extra={"cause": type(error).__name__})
    waiting = [row for row in rows if row not in done]
    try:
        return withdraw_forgotten(paths.real_root(workspace.root), waiting)
    except (DatabaseError, WorkspaceError) as error:
        log.warning("approval.not_withdrawn", extra={"cause": type(error).__name__})
        return waiting


class _Texts:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, str | None] = {}
        self._problems: dict[str, str] = {}

    def is_settled(self, row: StagedHunk) -> bool:
        text, problem = self.of(row.path)
        return not problem and merge.is_settled(text, piece_of(row))

    def of(self, path: str) -> tuple[str | None, str]:
        """Return a file's text, and why it cannot be read."""
        if path not in self._texts:
            try:
                self._texts[path] = text_of(self._workspace, path)
            except WorkspaceError as error:
                self._texts[path], self._problems[path] = None, error.message
        return self._texts[path], self._problems.get(path, "")


def _hunk(row: StagedHunk, texts: _Texts, every: Sequence[StagedHunk]) -> Hunk:
    piece = piece_of(row)
    text, problem = texts.of(row.path)
    is_placed = not problem and not merge.merge_hunks(text, [piece]).conflicts
    if is_placed:
        return _plain(row, together=[one.pk for one in partners_of(row, every)])
    now = "" if problem else merge.standing(text, piece)
    return _plain(row, why=problem or _CHANGED, now=now, state="conflict")


def _plain(
    row: StagedHunk,
    *,
    why: str = "",
    now: str = "",
    state: HunkState | None = None,
    together: Sequence[int] = (),
) -> Hunk:
    piece: Piece = piece_of(row)
    return Hunk(
        id=row.pk,
        run_id=row.run_id,
        path=row.path,
        kind=piece.kind,
        before="\n".join(piece.before).strip("\n"),
        after="\n".join(piece.after).strip("\n"),
        context=(piece.previous, piece.following),
        heading=piece.heading,
        sources=tuple(row.sources),
        state=state or cast("HunkState", row.state),
        why=why,
        now=now,
        reason=row.reason,
        by_review=row.actor == "review",
        is_wish=row.is_wish,
        text=row.text if row.is_edited else None,
        together_with=tuple(together),
        offered=tuple(row.offered),
        staged_at=row.staged_at,
        decided_at=row.decided_at,
    )
