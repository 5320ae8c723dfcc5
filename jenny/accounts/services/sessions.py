"""A session store with a prepared query, and cookies with names of this instance."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.contrib.sessions.models import Session
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from jenny.accounts.models import Account
from jenny.accounts.services.prepared_statements import Prepared, Slot, text_slot

# Prepared, since each request asks.
_LIVE = Prepared(
    lambda: Session.objects.filter(
        session_key=text_slot("key"), expire_date__gt=Slot("now", models.DateTimeField())
    )
)


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> AbstractBaseSession | None:
        found = _LIVE.first(key=self.session_key, now=timezone.now())
        return found or super()._get_session_from_db()  # type: ignore[misc]  # the stubs lack it


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
