"""What an account's runs use is counted, and bounded by the day's limits.

Each request to a model asks first and tells afterwards (``jenny.agent.preset.Meter``). Nothing of
it is held in a process: any number of workers count and ask at once. What a request that is under
way uses is known only at its end, so that requests made at the same moment may go past a limit by
what they use.
"""

import datetime as dt
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from jenny.accounts import caps, zones
from jenny.accounts.caps import Caps
from jenny.accounts.management.notices import Notice
from jenny.accounts.models import Account, UsageDay, Used, Workspace
from jenny.accounts.models.prepared import Prepared, number_slot
from jenny.agent.preset import Preset
from jenny.agent.tokens import Usage

log = logging.getLogger(__name__)

# Asked before each request to a model.
_OWNER = Prepared(
    lambda: Account.objects.filter(pk=number_slot("account")).only(
        "time_zone", "max_tokens_per_day", "max_cost_per_day"
    )
)
_ZONE = Prepared(
    lambda: Account.objects.filter(pk=number_slot("account")).values_list("time_zone", flat=True)
)
# What could not be counted while the database did not answer; counted with the next request.
_UNCOUNTED: deque[tuple[int, dt.date, dict[str, Any]]] = deque(maxlen=1_000)


@dataclass(frozen=True, slots=True)
class RowMeter:
    """The meter of one account, for one kind of run."""

    account: int
    kind: str
    # What costs nothing, whoever asks for it: the demo model.
    is_free: bool = False

    def is_spent(self) -> bool:
        """Whether no further request may be made today; if in doubt, one may."""
        try:
            return bool(why_spent(self.account))
        except DatabaseError as error:
            log.warning("usage.not_known", extra={"cause": type(error).__name__})
            return False
        finally:
            _give_back()

    def count(self, preset: Preset, usage: Usage) -> None:
        """Count one request, on the account's own day. A database that does not answer makes no
        run fail: it is counted with the next one."""
        known = Decimal(0) if self.is_free else None
        cost = preset.prices.cost(usage) if preset.prices else known
        facts = {"kind": self.kind, "model": preset.model, "usage": usage, "cost": cost}
        try:
            _UNCOUNTED.append((self.account, today(_zone_of(self.account)), facts))
            for one in _taken():
                account, day, about = one
                try:
                    with transaction.atomic():
                        UsageDay.add(account, day, **about)
                except DatabaseError:
                    _UNCOUNTED.append(one)
                    raise
        except DatabaseError as error:
            log.warning("usage.not_counted", extra={"cause": type(error).__name__})
        finally:
            _give_back()

    def of(self, kind: str) -> Self:
        """The same, for another kind of run."""
        return replace(self, kind=kind)


def _taken() -> Iterator[tuple[int, dt.date, dict[str, Any]]]:
    """What is to be counted, each taken by one thread: others count at the same moment."""
    with suppress(IndexError):  # asking first whether any is left would leave room for another
        while True:
            yield _UNCOUNTED.popleft()


def today(zone: str) -> dt.date:
    """The day that it is in a zone."""
    return timezone.now().astimezone(zones.zone(zone)).date()


def used_today(account: Account) -> Used:
    """What the account's runs used since its midnight."""
    return UsageDay.used_on(account.pk, today(account.time_zone))


def caps_of(account: Account) -> Caps:
    """The account's limits for a day."""
    return Caps(account.max_tokens_per_day, account.max_cost_per_day)


def why_spent(account: int) -> str:
    """Why the account's runs ask no model today; empty: they may."""
    owner = _OWNER.first(account=account)
    if owner is None or not (bounds := caps_of(owner)).are_set:
        return ""
    used = used_today(owner)
    said = caps.spent(bounds, used.tokens, used.cost)
    return f"{said} {caps.until(owner.time_zone)}" if said else ""


def notices(workspace: Workspace) -> Iterator[Notice]:
    """That the day's limit is used up; a source of notices."""
    if said := why_spent(workspace.owner_id):
        yield Notice(
            key="usage",
            kind="warning",
            text=f"{said} What you write meanwhile is kept.",
            href="/settings/usage/",
        )


def _zone_of(account: int) -> str:
    return _ZONE.first(account=account) or "UTC"


def _give_back() -> None:
    """Let the pool have this thread's connection: whoever asks a model waits for minutes."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
