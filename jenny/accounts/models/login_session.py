"""The sessions people are logged in with."""

import datetime as dt
import logging

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, models
from django.http import HttpRequest
from django.utils import timezone

from jenny.accounts.devices import describe
from jenny.accounts.models.account import Account
from jenny.accounts.models.prepared import Prepared, number_slot, text_slot

log = logging.getLogger(__name__)


class LoginSession(models.Model):
    """A session somebody is logged in with, so that it can be listed and ended.

    A session without such a row is no login (``jenny.accounts.middleware``).
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="login_sessions",
    )
    session_key = models.CharField(max_length=40, unique=True)
    device = models.CharField(max_length=200, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        """Whose it is, and the device."""
        return f"{self.account_id} {self.device}"

    @classmethod
    def of(cls, session_key: str, account: Account) -> "LoginSession | None":
        """The login of *account* by that session; each request asks for it."""
        return _LISTED.first(key=session_key, account=account.pk)

    @classmethod
    def begin(cls, request: HttpRequest, account: Account, address: str | None) -> None:
        """Note that *account* logged in with the request's session; forget those that ran out."""
        if request.session.session_key is None:
            request.session.save()
        Session.objects.filter(expire_date__lt=timezone.now()).delete()
        cls.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
        cls.objects.update_or_create(
            session_key=request.session.session_key,
            defaults={
                "account": account,
                "device": describe(request.headers.get("User-Agent", "")),
                "address": address,
                "seen_at": timezone.now(),
            },
        )

    def note_visit(self, address: str | None) -> bool:
        """Move *last seen*, once a minute at most: a write for every request would be waste.

        ``False``: the database takes nothing now, for which no page must be refused.
        """
        now = timezone.now()
        if now - self.seen_at >= dt.timedelta(minutes=1) or address != self.address:
            try:
                LoginSession.objects.filter(pk=self.pk).update(seen_at=now, address=address)
            except DatabaseError as error:
                log.warning("session.visit_not_noted", extra={"cause": type(error).__name__})
                return False
        return True

    def end(self) -> bool:
        """End the session: the next request that bears it is a stranger's."""
        Session.objects.filter(session_key=self.session_key).delete()
        deleted, _ = self.delete()
        return bool(deleted)


_LISTED = Prepared(
    lambda: LoginSession.objects.filter(
        session_key=text_slot("key"), account=number_slot("account")
    )
)
