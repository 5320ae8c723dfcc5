"""What waits for a person is void by a restore, and waits on when the restore comes to nothing."""

import logging
from dataclasses import dataclass, field

from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from jenny.accounts.models import Workspace
from memory.management import approving
from memory.management.staging import keep_marks, open_rows
from memory.models import DreamEntry, StagedHunk

log = logging.getLogger(__name__)


@dataclass
class Voiding:
    """The voiding that one restore does. All of it happens under the workspace's lock."""

    workspace: Workspace
    _rows: list[int] = field(default_factory=list)
    _offered: set[int] = field(default_factory=set)

    def void(self) -> int:
        """Nothing waits any more; how many changes did."""
        self._rows = list(open_rows(self.workspace).values_list("pk", flat=True))
        if not self._rows:
            return 0
        before = set(self._entries().values_list("cursor", flat=True))
        count, offered = approving.void(self.workspace)
        self._offered = set(offered) - before
        return count

    def take_back(self) -> None:
        """It all waits again, and nothing is offered to Dream for it: no file was changed. On a
        disk that is full this may fail as well; then the entries are shown once too often."""
        if not self._rows:
            return
        state = StagedHunk.State
        rows = StagedHunk.objects.filter(pk__in=self._rows, state=state.VOID)
        try:
            with transaction.atomic():
                rows.update(state=state.WAITING, decided_at=None)
                self._entries().filter(cursor__in=self._offered).delete()
        except DatabaseError as error:
            log.warning("approval.stays_void", extra={"cause": type(error).__name__})
        keep_marks(self.workspace)

    def _entries(self) -> "QuerySet[DreamEntry]":
        """What Dream is offered again, or has set aside."""
        return DreamEntry.objects.filter(workspace=self.workspace)
