"""What the database keeps of a workspace's entries from run to run, and who may still write."""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from jenny.accounts.models import Workspace
from jenny.accounts.models.prepared import Prepared, uuid_slot
from jenny.agent.tokens import Usage
from jenny.workspace.rules import Actor
from memory.dream.judging.counters import Due
from memory.dream.offer.offering import Lists
from memory.dream.reviewing.review import SUFFIX
from memory.dream.reviewing.reviewed import Reviewed
from memory.dream.values import Batch, Decision, Status
from memory.management.dreaming.lending import give_back
from memory.models import DreamDigest, DreamEntry, DreamRun, DreamState

# Statuses after which a batch may be at fault.
_FAILED: frozenset[Status] = frozenset({"failed", "wrote_nothing", "partly_written"})
_HALVED_AFTER = 2
# How a review pass stands that has begun and of which nothing else is known.
BEGUN = "begun"

log = logging.getLogger(__name__)


_ENTRIES = Prepared(lambda: DreamEntry.objects.filter(workspace=uuid_slot("workspace")))
_MOST = Prepared(
    lambda: DreamState.objects.filter(workspace=uuid_slot("workspace")).values_list(
        "batch_most", flat=True
    )
)

# The runs that this process carries out, by name.
_HELD: dict[str, DreamRun] = {}


def fence(_root: Path, actor: Actor) -> bool:
    """Whether an unattended write may land: not that of a run which was taken from this process.
    Asked under the workspace's lock (``memory.funnel``)."""
    run = _HELD.get(actor.run)
    if run is None:
        return True
    try:
        return run.may_write()
    finally:
        give_back()


@contextmanager
def held(run: DreamRun) -> Iterator[None]:
    """While the block lasts, every write of the run's is asked about."""
    names = (run.name, f"{run.name}{SUFFIX}")
    _HELD.update(dict.fromkeys(names, run))
    try:
        yield
    finally:
        for name in names:
            del _HELD[name]


class RowBook:
    """``memory.dream.offer.offering.Book`` over the rows of one run's workspace."""

    def __init__(self, run: DreamRun) -> None:
        self._run = run
        self._entries = DreamEntry.objects.filter(workspace=run.workspace_id)
        self._digests = DreamDigest.objects.filter(workspace=run.workspace_id)

    def may_write(self) -> bool:
        """Whether the run is still its holder's; asked under the workspace's lock."""
        return fence(Path(), Actor("dream", run=self._run.name))

    def began(self, cursor: int, snapshot: str) -> None:
        """Keep what whoever takes the run over must know."""
        self._run.note(cursor_from=cursor, snapshot=snapshot)

    def reviewing(self, due: Due) -> None:
        """Keep that a review pass has begun, so that whoever takes the run over counts it."""
        self._run.note(review={"due": due, "status": BEGUN})

    def reviewed(self, found: Reviewed) -> None:
        """Keep what became of it."""
        self._run.note(review=found.json)

    def spent(self, usage: Usage) -> None:
        """Keep at once what a request used, so that a run that is killed has used it."""
        try:
            self._run.spend(usage)
        except DatabaseError as error:
            # The end of the run stores all of it once more.
            log.warning("dream.usage_not_kept", extra={"cause": type(error).__name__})
        finally:
            give_back()

    def digest(self, key: str) -> str | None:
        """What a summariser made of the text with this key; ``None``: nothing yet."""
        return self._digests.filter(key=key).values_list("text", flat=True).first()

    def keep_digest(self, key: str, cursor: int, text: str) -> None:
        """Keep it until Dream's place is past that entry."""
        self._digests.update_or_create(
            workspace=self._run.workspace, key=key, defaults={"cursor": cursor, "text": text}
        )

    def lists(self) -> Lists:
        """What earlier runs left."""
        rows = _ENTRIES.rows(workspace=self._run.workspace_id)
        by_place: dict[str, set[int]] = {place: set() for place in DreamEntry.Place.values}
        for row in rows:
            by_place[row.place].add(row.cursor)
        return Lists(
            tries={row.cursor: row.tries for row in rows},
            failed=frozenset(row.cursor for row in rows if row.last_status in _FAILED),
            reoffered=frozenset(by_place[DreamEntry.Place.REOFFERED]),
            set_aside=frozenset(by_place[DreamEntry.Place.SET_ASIDE]),
            most=_MOST.first(workspace=self._run.workspace_id) or 0,
        )

    def settle(self, batch: Batch, decision: Decision) -> None:
        """Store what comes back, is offered again, or is given up."""
        workspace = self._run.workspace
        with transaction.atomic():
            for cursor in decision.tried | decision.reoffer | decision.set_aside:
                row, _ = DreamEntry.objects.get_or_create(workspace=workspace, cursor=cursor)
                if cursor in decision.tried:
                    row.tries, row.last_status = row.tries + 1, decision.status
                if cursor in decision.set_aside:
                    row.place, row.why = DreamEntry.Place.SET_ASIDE, decision.why
                elif cursor in decision.reoffer and row.place != DreamEntry.Place.REOFFERED:
                    # Shown again up to four times from here on, however it came to this.
                    row.place, row.tries = DreamEntry.Place.REOFFERED, 0
                row.changed_at = Now()
                row.save()
            self._entries.filter(cursor__in=decision.done_with - decision.set_aside).delete()
            if decision.advance_to is not None:
                consumed = self._entries.filter(place=DreamEntry.Place.WAITING)
                consumed.filter(cursor__lte=decision.advance_to).delete()
                read = self._digests.filter(cursor__lte=decision.advance_to)
                read.exclude(cursor__in=self._entries.values("cursor")).delete()
            _size_next(workspace, batch, decision)


def _size_next(workspace: Workspace, batch: Batch, decision: Decision) -> None:
    """Two failures in a row on one batch halve the next one; whatever got on restores it."""
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
    """Keep no longer what was made of entries that are gone."""
    DreamDigest.objects.filter(workspace=workspace, cursor__in=list(cursors)).delete()


def offer_again(workspace: Workspace, cursors: "set[int] | frozenset[int]") -> int:
    """Put entries that were set aside on the list of those shown again; how many they were."""
    rows = DreamEntry.objects.filter(
        workspace=workspace, place=DreamEntry.Place.SET_ASIDE, cursor__in=cursors
    )
    return rows.update(place=DreamEntry.Place.REOFFERED, tries=0, last_status="", changed_at=Now())


def put_on_offer(workspace: Workspace, cursors: "set[int] | frozenset[int]") -> None:
    """Have entries shown again that Dream's place is past: after an undoing or a restore."""
    for cursor in cursors:
        DreamEntry.objects.update_or_create(
            workspace=workspace,
            cursor=cursor,
            defaults={"place": DreamEntry.Place.REOFFERED, "tries": 0, "last_status": ""},
        )
