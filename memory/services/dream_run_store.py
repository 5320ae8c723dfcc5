"""The run store over the database: the state of a workspace's entries between runs, and the check
of the lease."""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.agent.tokens import Usage
from jenny.db_connections import release_db_connection
from jenny.workspace.write_rules import Actor
from memory.dream.batch import EntryLists
from memory.dream.review import SUFFIX
from memory.dream.values import Batch, Decision, Due, ReviewResult, Status
from memory.models import DreamDigest, DreamEntry, DreamRun, DreamState

# Statuses after which a batch may be at fault.
_FAILED: frozenset[Status] = frozenset({"failed", "wrote_nothing", "partly_written"})
_HALVED_AFTER = 2
_ROWS_AT_ONCE = 500
# State of a review pass that has begun and is not finished.
BEGUN = "begun"

log = logging.getLogger(__name__)


# The runs of this process, by name.
_HELD: dict[str, DreamRun] = {}


def fence(_root: Path, actor: Actor) -> bool:
    """False when an unattended write's run was taken from this process. Asked under the
    workspace's lock (``memory.write_rules``)."""
    run = _HELD.get(actor.run)
    if run is None:
        return True
    try:
        return run.may_write()
    finally:
        release_db_connection()


@contextmanager
def held(run: DreamRun) -> Iterator[None]:
    """Check every write of the run during the block."""
    names = (run.name, f"{run.name}{SUFFIX}")
    _HELD.update(dict.fromkeys(names, run))
    try:
        yield
    finally:
        for name in names:
            del _HELD[name]


class DjangoRunStore:
    """``memory.dream.batch.RunStore`` over the rows of one run's workspace."""

    def __init__(self, run: DreamRun) -> None:
        self._run = run
        self._entries = DreamEntry.objects.filter(workspace=run.workspace_id)
        self._digests = DreamDigest.objects.filter(workspace=run.workspace_id)
        # The entries to show again before the batch was chosen, and when each was queued.
        self._queued: dict[int, datetime] = {}

    def may_write(self) -> bool:
        """True while the run is its holder's; asked under the workspace's lock."""
        return fence(Path(), Actor("dream", run=self._run.name))

    def began(self, cursor: int, snapshot: str) -> None:
        """Store what a process that takes over the run needs."""
        self._run.note(cursor_from=cursor, snapshot=snapshot)

    def reviewing(self, due: Due) -> None:
        """Store that a review pass has begun, so that a process that takes over counts it."""
        self._run.note(review={"due": due, "status": BEGUN})

    def reviewed(self, found: ReviewResult) -> None:
        self._run.note(review=found.json)

    def spent(self, usage: Usage) -> None:
        """Store a request's usage at once, so that a killed run does not lose it."""
        try:
            self._run.spend(usage)
        except DatabaseError as error:
            # The end of the run stores the total again.
            log.warning("dream.usage_not_kept", extra={"cause": type(error).__name__})
        finally:
            release_db_connection()

    def digest(self, key: str) -> str | None:
        """Return the digest with this key; ``None`` without one."""
        return self._digests.filter(key=key).values_list("text", flat=True).first()

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        self._digests.update_or_create(
            workspace=self._run.workspace, key=key, defaults={"cursor": cursor, "text": text}
        )

    def lists(self) -> EntryLists:
        rows = list(self._entries.all())
        states = DreamState.objects.filter(workspace=self._run.workspace_id)
        by_place: dict[str, set[int]] = {place: set() for place in DreamEntry.Place.values}
        for row in rows:
            by_place[row.place].add(row.cursor)
            if row.place == DreamEntry.Place.REOFFERED:
                self._queued[row.cursor] = row.changed_at
        return EntryLists(
            tries={row.cursor: row.tries for row in rows},
            failed=frozenset(row.cursor for row in rows if row.last_status in _FAILED),
            reoffered=frozenset(by_place[DreamEntry.Place.REOFFERED]),
            set_aside=frozenset(by_place[DreamEntry.Place.SET_ASIDE]),
            most=states.values_list("batch_most", flat=True).first() or 0,
        )

    def save_outcome(self, batch: Batch, decision: Decision) -> None:
        """Store which entries come back, are requeued, or are set aside."""
        workspace = self._run.workspace
        with transaction.atomic():
            # What was queued since the batch was chosen is for the next run, whatever this one did.
            again = self._entries.filter(place=DreamEntry.Place.REOFFERED)
            later = {row.cursor for row in again if row.changed_at != self._queued.get(row.cursor)}
            for cursor in (decision.tried | decision.reoffer | decision.set_aside) - later:
                row, _ = DreamEntry.objects.get_or_create(workspace=workspace, cursor=cursor)
                if cursor in decision.tried:
                    row.tries, row.last_status = row.tries + 1, decision.status
                if cursor in decision.set_aside:
                    row.place, row.why = DreamEntry.Place.SET_ASIDE, decision.why
                elif cursor in decision.reoffer and row.place != DreamEntry.Place.REOFFERED:
                    # From here on shown up to four times, whatever its earlier state.
                    row.place, row.tries = DreamEntry.Place.REOFFERED, 0
                row.changed_at = Now()
                row.save()
            done_with = decision.done_with - decision.set_aside - later
            self._entries.filter(cursor__in=done_with).delete()
            if decision.advance_to is not None:
                consumed = self._entries.filter(place=DreamEntry.Place.WAITING)
                consumed.filter(cursor__lte=decision.advance_to).delete()
                read = self._digests.filter(cursor__lte=decision.advance_to)
                read.exclude(cursor__in=self._entries.values("cursor")).delete()
            _size_next(workspace, batch, decision)


def _size_next(workspace: Workspace, batch: Batch, decision: Decision) -> None:
    """Halve the next batch after two failures in a row; success restores it."""
    state = DreamState.of(workspace)
    before = state.batch_most, state.batch_key, state.batch_failures
    if decision.status in _FAILED and decision.tried:
        shown = sorted(batch.cursors)
        key = f"{shown[0]}-{shown[-1]}-{len(shown)}"
        failures = state.batch_failures + 1 if state.batch_key == key else 1
        if failures >= _HALVED_AFTER:
            state.batch_most, failures, key = max(1, len(shown) // 2), 0, ""
        state.batch_key, state.batch_failures = key, failures
    elif decision.status not in _FAILED and decision.status != "held":
        state.batch_most, state.batch_key, state.batch_failures = 0, "", 0
    if (state.batch_most, state.batch_key, state.batch_failures) != before:
        state.save(update_fields=["batch_most", "batch_key", "batch_failures"])


def drop_digests(workspace: Workspace, cursors: Collection[int]) -> None:
    """Delete the digests of entries that are gone."""
    DreamDigest.objects.filter(workspace=workspace, cursor__in=list(cursors)).delete()


def requeue_entries(workspace: Workspace, cursors: "set[int] | frozenset[int]") -> int:
    """Requeue set-aside entries and return their count."""
    rows = DreamEntry.objects.filter(
        workspace=workspace, place=DreamEntry.Place.SET_ASIDE, cursor__in=cursors
    )
    return rows.update(place=DreamEntry.Place.REOFFERED, tries=0, last_status="", changed_at=Now())


def queue_entries(workspace: Workspace, cursors: Collection[int]) -> None:
    """Requeue entries that Dream's cursor has passed, or is about to pass. There may be very
    many."""
    place = DreamEntry.Place.REOFFERED
    DreamEntry.objects.bulk_create(
        [DreamEntry(workspace=workspace, cursor=cursor, place=place) for cursor in cursors],
        _ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["workspace", "cursor"],
        update_fields=["place", "tries", "last_status", "changed_at"],
    )
