"""A login between password and second step, and the slowing down of guessed passwords.

The pending login is stored in the visitor's session, which has no account until then.

``django-axes`` counts failures of a name from one address. Here the failures of a name from all
addresses count together. Nobody is locked out for long: above the limit one try is allowed per
interval, and a browser that the account has logged in from before is not delayed.
"""

import math
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Max, Sum
from django.http import HttpRequest
from django.utils import timezone

from jenny.accounts import access
from jenny.accounts.models import Account
from jenny.accounts.services import sessions

PENDING_LOGIN = "halfway"
# Time to open an app and type six digits; after it the password is asked for again.
PENDING_LOGIN_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """The account of the login; *proof* changes with the password."""

    account: int
    proof: str


def begin_pending_login(session: MutableMapping[str, Any], account: int, proof: str) -> None:
    session[PENDING_LOGIN] = {"account": account, "proof": proof, "at": time.time()}


def read_pending_login(session: MutableMapping[str, Any]) -> PendingLogin | None:
    """Return the pending login, unless it has expired."""
    found = session.get(PENDING_LOGIN)
    if not isinstance(found, dict) or not 0 <= time.time() - found["at"] < PENDING_LOGIN_SECONDS:
        return None
    return PendingLogin(int(found["account"]), str(found["proof"]))


def forget_pending_login(session: MutableMapping[str, Any]) -> None:
    session.pop(PENDING_LOGIN, None)


# Failures of one name in the time that axes counts (``AXES_COOLOFF_TIME``).
FREE_FAILURES = 24
LONGEST_WAIT_SECONDS = 60


def get_wait_seconds(request: HttpRequest, username: str) -> int:
    """Return the seconds until this browser may try that name's password again; 0: now."""
    name = access.throttled_name(request, {"username": username})
    now = timezone.now()
    found = AccessAttempt.objects.filter(
        username=name, attempt_time__gt=now - timedelta(hours=settings.AXES_COOLOFF_TIME)
    ).aggregate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
    surplus: int = (found["failures"] or 0) - FREE_FAILURES
    if surplus < 0 or found["last"] is None:
        return 0
    wait = min(2 ** min(surplus, 10), LONGEST_WAIT_SECONDS)
    left: float = wait - (now - found["last"]).total_seconds()
    if left <= 0 or _is_known(request, username):
        return 0
    return math.ceil(left)


def _is_known(request: HttpRequest, username: str) -> bool:
    try:
        account = Account.objects.get_by_natural_key(username)
    except Account.DoesNotExist:
        return False
    return sessions.is_known_device(request, account)
