"""Accounts, the workspaces they own, their API keys and their sessions."""

import datetime as dt
import uuid
from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.sessions.models import Session
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils import timezone

from jenny.accounts import slugs
from jenny.accounts.devices import describe
from jenny.accounts.errors import AccountExists, OwnerExists, OwnerMissing
from jenny.accounts.vault import Unreadable, Vault, mask
from jenny.workspace.errors import WriteFailed, reason_of
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.seed import seed


class Accounts(UserManager["Account"]):
    """Makes accounts, each with its first workspace's row."""

    # Migrations must not depend on this module.
    use_in_migrations = False

    def get_by_natural_key(self, username: str | None) -> "Account":
        """The account of that name, in any case: nobody remembers a capital letter."""
        return self.get(Q(username=username) | Q(username__iexact=username))

    def make_owner(self, username: str, password: str, zone: str) -> "Account":
        """The first account. :raises OwnerExists: somebody was faster, or there are accounts."""
        if self.exists():
            raise OwnerExists
        try:
            return self._make(username, password, zone, is_superuser=True)
        except IntegrityError as error:
            raise OwnerExists from error

    def make_account(self, username: str, password: str, zone: str) -> "Account":
        """A further account.

        :raises OwnerMissing, AccountExists: none was made.
        """
        if not self.exists():
            raise OwnerMissing
        try:
            return self._make(username, password, zone, is_superuser=False)
        except IntegrityError as error:
            raise AccountExists(username) from error

    def _make(self, username: str, password: str, zone: str, *, is_superuser: bool) -> "Account":
        # Hashing takes tens of milliseconds: outside the transaction.
        account = self.model(
            username=self.model.normalize_username(username),
            is_superuser=is_superuser,
            time_zone=zone,
        )
        account.set_password(password)
        with transaction.atomic():
            account.save(using=self._db)
            account.current_workspace = Workspace.make(account, account.username)
            account.save(update_fields=["current_workspace"])
        return account


class Account(AbstractUser):
    """A person who can log in. The first one is the owner (``is_superuser``)."""

    time_zone = models.CharField(max_length=64, default="UTC")
    current_workspace = models.ForeignKey(
        "Workspace", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    # Only changes what the file browser lists.
    developer_mode = models.BooleanField(default=False)

    objects: ClassVar[Accounts] = Accounts()

    class Meta(AbstractUser.Meta):
        constraints = [
            # Two people may finish the first run at once; the database lets one through.
            models.UniqueConstraint(
                fields=["is_superuser"],
                condition=Q(is_superuser=True),
                name="one_owner",
            ),
            models.UniqueConstraint(Lower("username"), name="one_account_a_name"),
        ]

    def keys(self) -> dict[str, str]:
        """The account's API keys by origin, decrypted; empty where one can no longer be read."""
        return {row.origin: row.reveal() or "" for row in self.api_keys.all()}

    def end_sessions(self, *, keep: str = "") -> int:
        """End every session of this account but the one with the key *keep*; how many."""
        rows = self.login_sessions.exclude(session_key=keep)
        return sum(row.end() for row in rows)


class LiveWorkspaces(models.Manager["Workspace"]):
    """Workspaces that were not deleted."""

    def get_queryset(self) -> models.QuerySet["Workspace"]:
        """All rows but the deleted ones."""
        return super().get_queryset().filter(deleted_at=None)


class Workspace(models.Model):
    """A workspace folder's row. A slug names its folder and is never used again,
    so the row of a deleted workspace stays (``07-contract``: data folder)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workspaces"
    )
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    # Once the folder was made, one that is missing is a loss and never silently made anew.
    folder_made_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = LiveWorkspaces()
    all_objects = models.Manager["Workspace"]()

    class Meta:
        default_manager_name = "all_objects"
        base_manager_name = "all_objects"

    def __str__(self) -> str:
        """The slug."""
        return self.slug

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return Path(settings.JENNY_DATA.workspaces / self.slug)

    def make_folder(self) -> None:
        """Make the folder with its first files, unless that was done. Safe to repeat.

        :raises WorkspaceError: the disk refuses; the next visit tries again.
        """
        if self.folder_made_at is not None:
            return
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f"The folder {self.root} cannot be made: {reason_of(error)}."
            raise WriteFailed(message) from error

        seed(open_workspace(self.root, Actor("setup", account=self.owner_id)))
        self.folder_made_at = timezone.now()
        self.save(update_fields=["folder_made_at"])

    @classmethod
    def make(cls, owner: Account, name: str) -> "Workspace":
        """A row with a slug that no row ever had and no folder bears: a folder that lies
        there without a row is somebody's files, and not to be taken over unasked."""
        for slug in slugs.candidates(name):
            if (settings.JENNY_DATA.workspaces / slug).exists():
                continue
            try:
                with transaction.atomic():
                    return cls.all_objects.create(owner=owner, slug=slug, name=name[:80])
            except IntegrityError:
                continue
        raise AssertionError  # candidates() has no end


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
        """The origin and the masked key."""
        return f"{self.origin} {self.hint}"

    @classmethod
    def keep(cls, account: Account, origin: str, key: str) -> None:
        """Store *key* for *origin*, in place of an earlier one."""
        cls.objects.update_or_create(
            account=account,
            origin=origin,
            defaults={
                "ciphertext": Vault(settings.SECRET_KEY).encrypt(key, origin),
                "hint": mask(key),
            },
        )

    def reveal(self) -> str | None:
        """The key; ``None`` when it cannot be read since the secret key is another one."""
        try:
            return Vault(settings.SECRET_KEY).decrypt(bytes(self.ciphertext), self.origin)
        except Unreadable:
            return None


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

    def note_visit(self, address: str | None) -> None:
        """Move *last seen*, once a minute at most: a write for every request would be waste."""
        now = timezone.now()
        if now - self.seen_at >= dt.timedelta(minutes=1) or address != self.address:
            LoginSession.objects.filter(pk=self.pk).update(seen_at=now, address=address)

    def end(self) -> bool:
        """End the session: the next request that bears it is a stranger's."""
        Session.objects.filter(session_key=self.session_key).delete()
        deleted, _ = self.delete()
        return bool(deleted)
