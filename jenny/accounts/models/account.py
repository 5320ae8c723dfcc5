"""A person who can log in, their sessions, and their keys for model servers."""

import datetime as dt
import logging
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.sessions.models import Session
from django.db import DatabaseError, IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils import timezone

from jenny.accounts.errors import AccountExists, OwnerExists, OwnerMissing
from jenny.accounts.models.workspace import Workspace
from jenny.accounts.vault import Unreadable, Vault, mask


class Accounts(UserManager["Account"]):
    # Migrations must not depend on this module.
    use_in_migrations = False

    def get_by_natural_key(self, username: str | None) -> "Account":
        """Return the account of that name, ignoring case."""
        return self.get(Q(username=username) | Q(username__iexact=username))

    def make_owner(
        self, username: str, password: str, zone: str, *, attach: bool = False
    ) -> "Account":
        """Create the first account; *attach* as in ``Workspace.make``.

        :raises OwnerExists: there is an account, perhaps of another visitor since a moment ago.
        """
        if self.exists():
            raise OwnerExists
        try:
            return self._make(username, password, zone, is_superuser=True, attach=attach)
        except IntegrityError as error:
            raise OwnerExists from error

    def make_account(
        self, username: str, password: str, zone: str, *, attach: bool = False
    ) -> "Account":
        """Create a further account; *attach* as in ``Workspace.make``.

        :raises OwnerMissing, AccountExists: none was created.
        """
        if not self.exists():
            raise OwnerMissing
        try:
            return self._make(username, password, zone, is_superuser=False, attach=attach)
        except IntegrityError as error:
            raise AccountExists(username) from error

    def _make(
        self, username: str, password: str, zone: str, *, is_superuser: bool, attach: bool
    ) -> "Account":
        # Hashing takes tens of milliseconds, so it happens outside the transaction.
        account = self.model(
            username=self.model.normalize_username(username),
            is_superuser=is_superuser,
            time_zone=zone,
        )
        account.set_password(password)
        with transaction.atomic():
            account.save(using=self._db)
            account.current_workspace = Workspace.make(account, account.username, attach=attach)
            account.save(update_fields=["current_workspace"])
        return account


class Theme(models.TextChoices):
    SYSTEM = "system", "As the system has it"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Account(AbstractUser):
    """A person who can log in. The first one is the owner (``is_superuser``)."""

    time_zone = models.CharField(max_length=64, default="UTC")
    current_workspace = models.ForeignKey(
        "Workspace", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    # Only changes what the file browser lists.
    developer_mode = models.BooleanField(default=False)
    theme = models.CharField(max_length=8, choices=Theme, default=Theme.SYSTEM)
    # Limit of all runs of a day (in the account's zone) together; null: no limit.
    max_tokens_per_day = models.PositiveBigIntegerField(null=True, blank=True)
    max_cost_per_day = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)

    objects: ClassVar[Accounts] = Accounts()

    class Meta(AbstractUser.Meta):
        constraints = [
            # Two people may finish the first run at once; the database accepts one.
            models.UniqueConstraint(
                fields=["is_superuser"],
                condition=Q(is_superuser=True),
                name="one_owner",
            ),
            models.UniqueConstraint(Lower("username"), name="one_account_a_name"),
        ]

    def keys(self) -> dict[str, str]:
        """Return the account's API keys by origin, decrypted; empty where one is unreadable by
        now.
        """
        return {row.origin: row.reveal() or "" for row in self.api_keys.all()}

    def end_sessions(self, *, keep: str = "") -> int:
        """End every session of this account but the one with the key *keep*; return how many."""
        rows = self.login_sessions.exclude(session_key=keep)
        return sum(row.end() for row in rows)


# The order matters: most browsers also claim to be Safari, and Edge to be Chrome.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python-", "Python"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
UNKNOWN = "Unknown browser"


def describe_browser(user_agent: str) -> str:
    """Return text such as ``Firefox on Linux`` from a ``User-Agent`` header."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), UNKNOWN)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser


log = logging.getLogger(__name__)


class LoginSession(models.Model):
    """A session that somebody is logged in with, so that it can be listed and ended.

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
        return f"{self.account_id} {self.device}"

    @classmethod
    def of(cls, session_key: str, account: Account) -> "LoginSession | None":
        """Return the login of *account* by that session; each request asks for it."""
        return cls.objects.filter(session_key=session_key, account=account).first()

    @classmethod
    def begin(cls, request: HttpRequest, account: Account, address: str | None) -> None:
        """Record the login of *account* with the request's session, and delete expired sessions."""
        if request.session.session_key is None:
            request.session.save()
        Session.objects.filter(expire_date__lt=timezone.now()).delete()
        cls.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
        cls.objects.update_or_create(
            session_key=request.session.session_key,
            defaults={
                "account": account,
                "device": describe_browser(request.headers.get("User-Agent", "")),
                "address": address,
                "seen_at": timezone.now(),
            },
        )

    def note_visit(self, address: str | None) -> bool:
        """Update *last seen*, at most once a minute to save writes.

        ``False``: the database accepts no writes now, for which no page must be refused.
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
        """End the session: the next request with it counts as one without login."""
        Session.objects.filter(session_key=self.session_key).delete()
        deleted, _ = self.delete()
        return bool(deleted)


class ApiKey(models.Model):
    """A key for one origin (scheme, host, port), encrypted; never sent to another origin."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys"
    )
    origin = models.CharField(max_length=255)
    ciphertext = models.BinaryField()
    hint = models.CharField(max_length=16)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "origin"], name="one_key_per_origin")
        ]

    def __str__(self) -> str:
        return f"{self.origin} {self.hint}"

    @classmethod
    def keep(cls, account: Account, origin: str, key: str) -> None:
        """Store *key* for *origin*; it replaces an earlier one."""
        cls.objects.update_or_create(
            account=account,
            origin=origin,
            defaults={
                "ciphertext": Vault(settings.SECRET_KEY).encrypt(key, origin),
                "hint": mask(key),
            },
        )

    def reveal(self) -> str | None:
        """Return the key; ``None`` when the secret key has changed and it is unreadable."""
        try:
            return Vault(settings.SECRET_KEY).decrypt(bytes(self.ciphertext), self.origin)
        except Unreadable:
            return None
