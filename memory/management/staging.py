"""The shelf in the database: what waits for a person in each workspace, and for a run's hand.

Rows are read and written under the workspace's lock. The mark that anything waits is set before
the first row is, and taken away after the last one is gone, so that no chat overlooks one.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.accounts.models.prepared import Prepared, Slot, uuid_slot
from jenny.workspace import marks, paths
from jenny.workspace.config import Config
from jenny.workspace.errors import WriteFailed, reason_of
from memory import facts, files
from memory.approval import overlay
from memory.approval.hunks import is_alike
from memory.approval.values import SETTING, Kind, Mode, Piece, Staged, Waiting
from memory.management.dreaming.lending import give_back
from memory.models import DreamRun, StagedHunk

log = logging.getLogger(__name__)

# So many of the newest verdicts of a person keep Dream from proposing the same again.
REMEMBERED = 500
_LINES = frozenset({"before", "after"})


# Asked for each run, before its first write.
_OPEN = Prepared(lambda: _waiting(uuid_slot("workspace")))
_REJECTED = Prepared(
    lambda: (
        StagedHunk.objects.filter(workspace=uuid_slot("workspace"), state=StagedHunk.State.REJECTED)
        .order_by("-pk")
        .values_list("kind", "piece", "path")[:REMEMBERED]
    )
)


def mode_of(config: Config) -> Mode:
    """What of Dream's writes waits in a workspace with these settings."""
    mode: Mode = config.get(SETTING)
    return mode


def open_rows(workspace: Workspace | UUID | None) -> QuerySet[StagedHunk]:
    """The rows that wait, in the order in which they are put together."""
    return _waiting(workspace)


def _waiting(workspace: Workspace | UUID | Slot | None) -> QuerySet[StagedHunk]:
    rows = StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.WAITING)
    return rows.order_by("path", "number", "pk")


def source(root: Path) -> Waiting:
    """What waits in the workspace at *root*, for prompts."""
    try:
        rows = StagedHunk.objects.filter(
            workspace__slug=root.name, state=StagedHunk.State.WAITING
        ).order_by("path", "number", "pk")
        return Waiting(tuple(map(staged, rows)))
    finally:
        give_back()


def unwanted(root: Path) -> Waiting:
    """What the person of the workspace at *root* did not want, for Dream's prompt."""
    try:
        workspace = Workspace.objects.filter(slug=root.name).values_list("pk", flat=True).first()
        rejected, kept = _unwanted(workspace)
        return Waiting(rejected=rejected, kept=kept)
    finally:
        give_back()


def staged(row: StagedHunk) -> Staged:
    """A row as a value."""
    return Staged(row.pk, row.path, piece_of(row), tuple(row.sources))


def piece_of(row: StagedHunk) -> Piece:
    """What a row does to its file."""
    lines = {key: tuple(row.piece[key]) for key in _LINES}
    return Piece(**(row.piece | lines))


def as_json(piece: Piece) -> dict[str, Any]:
    """A piece as a row keeps it."""
    return asdict(piece)


def is_piece(found: dict[str, Any]) -> bool:
    """Whether what came from elsewhere is a piece as rows keep it."""
    like = as_json(Piece("add"))
    if found.keys() != like.keys() or found["kind"] not in get_args(Kind.__value__):
        return False
    lines = [found["before"], found["after"]]
    if not all(isinstance(row, list) and all(isinstance(one, str) for one in row) for row in lines):
        return False
    return all(type(found[name]) is type(one) for name, one in like.items() if name not in _LINES)


def keep_marks(workspace: Workspace) -> None:
    """Set the marks in the workspace's folder, or take them away; its lock is held. A mark that
    stays too long costs a question; where the disk refuses, the next look sees to it."""
    root = paths.real_root(workspace.root)
    rejected = StagedHunk.objects.filter(workspace=workspace, state=StagedHunk.State.REJECTED)
    for name, rows in ((overlay.MARK, open_rows(workspace)), (overlay.UNWANTED, rejected)):
        try:
            (marks.put if rows.exists() else marks.take)(root, name)
        except OSError as error:
            log.warning("approval.not_marked", extra={"cause": type(error).__name__})


class RowShelf:
    """``memory.approval.values.Shelf`` over the rows of one run's workspace."""

    def __init__(self, run: DreamRun, mode: Mode) -> None:
        self._run = run
        self.mode: Mode = mode

    def waiting(self) -> Waiting:
        """What waits now, and what a person did not want."""
        try:
            rejected, kept = _unwanted(self._run.workspace_id)
            rows = tuple(map(staged, _OPEN.rows(workspace=self._run.workspace_id)))
        finally:
            give_back()
        return Waiting(rows, rejected, kept)

    @contextmanager
    def act(self) -> Iterator[None]:
        """All or nothing of what is put."""
        try:
            marks.put(paths.real_root(self._run.workspace.root), overlay.MARK)
        except OSError as error:
            message = f"The change could not be put aside: {reason_of(error)}. Nothing was written."
            raise WriteFailed(message) from error
        try:
            with transaction.atomic():
                yield
        finally:
            keep_marks(self._run.workspace)
            give_back()

    def put(
        self, path: str, pieces: Sequence[Piece], *, sources: Sequence[int], reason: str, actor: str
    ) -> int:
        """These pieces wait for the file, and no others."""
        old = list(open_rows(self._run.workspace_id).filter(path=path))
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
            every = {*sources, *(cursor for row in taken for cursor in row.sources)}
            StagedHunk.objects.create(
                workspace_id=self._run.workspace_id,
                run=self._run,
                actor=actor,
                path=path,
                kind=piece.kind,
                piece=as_json(piece),
                number=number,
                sources=sorted(every),
                reason=reason,
            )
        gone = StagedHunk.objects.filter(pk__in=[row.pk for row in old])
        gone.update(state=StagedHunk.State.SUPERSEDED, decided_at=Now())
        return len(new)

    def count(self) -> int:
        """How many of the run's wait."""
        try:
            return open_rows(self._run.workspace_id).filter(run=self._run).count()
        finally:
            give_back()


def _touch(old: Piece, new: Piece) -> bool:
    """Whether a piece has to do with one that it takes the place of."""
    if old.kind == new.kind == "skill":
        return True
    shared = set(filter(str.strip, (*old.before, *old.after))) & {*new.before, *new.after}
    return bool(shared) or is_alike(old.after or old.before, new.after or new.before)


def _unwanted(workspace: UUID | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The wordings that a person rejected, and what they kept from being taken out; newest
    first."""
    wordings: list[str] = []
    kept: list[str] = []
    for kind, piece, path in _REJECTED.rows(workspace=workspace) if workspace else ():
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
