"""Counts what an account's runs use, and checks the daily limits and the pause.

Each request to a model asks first and reports afterwards (``jenny.agent.preset.Meter``). No process
holds state: any number of workers count and ask in parallel. A request's usage is known only at its
end, so parallel requests may exceed a limit by what they use.
"""

import datetime as dt
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from jenny.accounts.models import Account, UsageDay, Used, Workspace
from jenny.accounts.services.notices import Notice
from jenny.agent import clock
from jenny.agent.errors import PAUSED, WAITS, CallsPaused, CallsSpent, CancelReason
from jenny.agent.preset import Preset
from jenny.agent.tokens import Usage
from jenny.workspace.config import load_config
from jenny.workspace.errors import WorkspaceError

WHERE = "Settings → Usage"


@dataclass(frozen=True, slots=True)
class Caps:
    tokens: int | None = None
    cost: Decimal | None = None

    @property
    def are_set(self) -> bool:
        return self.tokens is not None or self.cost is not None


def spent_sentence(caps: Caps, tokens: int, cost: Decimal) -> str:
    """Return a sentence about the limit that the day's use has reached; empty: none."""
    if caps.tokens is not None and tokens >= caps.tokens:
        noun = "token" if caps.tokens == 1 else "tokens"
        return f"Today's limit of {caps.tokens:,} {noun} is used up ({tokens:,} were used)."
    if caps.cost is not None and cost >= caps.cost:
        return f"Today's limit of ${caps.cost:,.2f} is used up (${cost:,.2f} were spent)."
    return ""


def until_sentence(zone: str) -> str:
    return (
        f"No model is asked any more until midnight ({zone}), or until you raise the limit in "
        f"{WHERE}."
    )


log = logging.getLogger(__name__)

# Usage that could not be counted while the database was down; counted with the next request.
_UNCOUNTED: deque[tuple[int, dt.date, dict[str, Any]]] = deque(maxlen=1_000)


@dataclass(frozen=True, slots=True)
class RowMeter:
    account: int
    kind: str
    # The demo model is free, whoever asks it.
    is_free: bool = False

    def is_spent(self) -> bool:
        """True when no further request is allowed today; in doubt False."""
        try:
            return bool(why_spent(self.account))
        except DatabaseError as error:
            log.warning("usage.not_known", extra={"cause": type(error).__name__})
            return False
        finally:
            _give_back()

    def count(self, preset: Preset, usage: Usage) -> None:
        """Count one request, on the day of the account's zone.

        A database that does not answer makes no run fail: the request is counted with the next one.
        """
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
        return replace(self, kind=kind)


def _taken() -> Iterator[tuple[int, dt.date, dict[str, Any]]]:
    """Yield the uncounted usage; parallel threads never get the same item."""
    with suppress(IndexError):  # a check before popping would race with another thread
        while True:
            yield _UNCOUNTED.popleft()


def today(zone: str) -> dt.date:
    return timezone.now().astimezone(clock.zone_of(zone)).date()


def used_today(account: Account) -> Used:
    return UsageDay.used_on(account.pk, today(account.time_zone))


def caps_of(account: Account) -> Caps:
    return Caps(account.max_tokens_per_day, account.max_cost_per_day)


def why_spent(account: int) -> str:
    """Return why the account's runs ask no model today; empty: they may."""
    columns = ("time_zone", "max_tokens_per_day", "max_cost_per_day")
    owner = Account.objects.only(*columns).filter(pk=account).first()
    if owner is None or not (bounds := caps_of(owner)).are_set:
        return ""
    used = used_today(owner)
    said = spent_sentence(bounds, used.tokens, used.cost)
    return f"{said} {until_sentence(owner.time_zone)}" if said else ""


def limit_notices(workspace: Workspace) -> Iterator[Notice]:
    """Return a notice when the day's limit is used up."""
    if said := why_spent(workspace.owner_id):
        yield Notice(
            key="usage",
            kind="warning",
            text=f"{said} What you write meanwhile is kept.",
            href="/settings/usage/",
        )


def _zone_of(account: int) -> str:
    zones = Account.objects.filter(pk=account).values_list("time_zone", flat=True)
    return zones.first() or "UTC"


def _give_back() -> None:
    """Return this thread's connection to the pool, since a model request takes minutes."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()


# The setting in config.json that pauses all calls to models.
PAUSE = "privacy.pauseModelCalls"


def calls_stopped(root: Path) -> CancelReason | None:
    """Return why a request under way should end.

    Rereading the settings costs three disk accesses, so a worker can check within a second.
    """
    try:
        return "paused" if load_config(root).privacy.pause_model_calls else None
    except WorkspaceError:
        return None


def why_calls_wait(row: Workspace) -> str:
    """Return why no model is asked in that workspace now; empty: calls are allowed."""
    reason = calls_stopped(row.root)
    return WAITS[reason] if reason else why_spent(row.owner_id)


def check_calls_allowed(row: Workspace) -> None:
    """Raise an error when no model may be asked in that workspace now.

    :raises CallsPaused: its message says why, and what was kept.
    """
    if load_config(row.root).privacy.pause_model_calls:
        raise CallsPaused
    if said := why_spent(row.owner_id):
        raise CallsSpent(f"{said} What was said is kept.")


def pause_notices(workspace: Workspace) -> Iterator[Notice]:
    """Warn that model calls are paused."""
    if calls_stopped(workspace.root) == "paused":
        yield Notice(
            key="pause",
            kind="warning",
            text=f"{PAUSED} What you write is kept, and answered when they are resumed.",
            href="/settings/privacy/",
            link="Resume",
        )
