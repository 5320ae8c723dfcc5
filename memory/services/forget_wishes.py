"""Wishes to forget that a person said in a conversation, when its model called no tool.

What is meant is suppressed at once, so that no model sees it. The lines that say it stay in their
files and wait for the person's decision with the proposals.
"""

import logging
from collections.abc import Iterable

from django.db import transaction

from jenny.accounts.models import Workspace
from jenny.agent.prompt import one_line
from jenny.workspace import paths, transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Actor
from memory import suppression
from memory.approvals import diff, overlay
from memory.models import StagedHunk
from memory.services.approval_decisions import text_of
from memory.services.proposals import as_json, keep_marks, open_rows
from memory.suppression import ForgettableLine

log = logging.getLogger(__name__)

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
        log.warning("forgotten.not_proposed", extra={"cause": type(error).__name__})
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
