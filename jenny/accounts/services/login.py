"""Logins: sessions, the time between password and second step, and guessed passwords.

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
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.db.models import Max, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from jenny.accounts import access
from jenny.accounts.models import Account

# Cookies with names of this instance.


# All instances of earlier versions used Django's name.
_EARLIER_NAME = "sessionid"
_DEVICE_SALT = "jenny.accounts.device"
_DEVICE_SECONDS = 400 * 24 * 3600


class SessionMiddleware(DjangoSessionMiddleware):
    """Django's middleware, which also moves a login from the earlier cookie name to the new one."""

    def process_request(self, request: HttpRequest) -> None:
        """Use the session of the earlier name where there is none of the new one."""
        earlier = request.COOKIES.get(_EARLIER_NAME)
        if not earlier or settings.SESSION_COOKIE_NAME in request.COOKIES:
            super().process_request(request)
            return
        request.session = self.SessionStore(earlier)
        if not request.session.is_empty() and "_auth_user_id" in request.session:
            # Saving it sets the cookie.
            request.session.modified = True
        else:
            # The cookie is another instance's.
            request.session = self.SessionStore(None)


class _MessagesCookie(CookieStorage):
    cookie_name = settings.JENNY_MESSAGES_COOKIE


class Messages(FallbackStorage):
    storage_classes = (_MessagesCookie, SessionStorage)


def remember_device(request: HttpRequest, response: HttpResponse, account: Account) -> None:
    """Mark the browser as one that this account has logged in from."""
    response.set_signed_cookie(
        settings.JENNY_DEVICE_COOKIE,
        _device_of(account),
        salt=_DEVICE_SALT,
        max_age=_DEVICE_SECONDS,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )


def is_known_device(request: HttpRequest, account: Account) -> bool:
    """True when the account logged in from this browser since its password was last changed."""
    found = request.get_signed_cookie(
        settings.JENNY_DEVICE_COOKIE, default="", salt=_DEVICE_SALT, max_age=_DEVICE_SECONDS
    )
    return found == _device_of(account)


def _device_of(account: Account) -> str:
    return f"{account.pk}:{account.get_session_auth_hash()}"


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
    return is_known_device(request, account)
