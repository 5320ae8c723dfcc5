"""A person who can log in, and how accounts are made."""

from typing import Any, ClassVar

from django.apps import apps
from django.contrib.auth.models import AbstractUser, UserManager
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Lower

from jenny.accounts.errors import AccountExists, OwnerExists, OwnerMissing
from jenny.accounts.models.prepared import Prepared, number_slot
from jenny.accounts.models.workspace import Workspace


class Accounts(UserManager["Account"]):
    """Makes accounts, each with its first workspace's row."""

    # Migrations must not depend on this module.
    use_in_migrations = False

    def get(self, *args: Any, **kwargs: Any) -> "Account":
        """As ever; each request asks for the account of its session, by number alone."""
        # A group's manager is made of this class, and asks for one of the group.
        is_of_all = type(self) is Accounts
        if is_of_all and not args and kwargs.keys() == {"pk"} and isinstance(kwargs["pk"], int):
            found = _BY_NUMBER.first(account=kwargs["pk"])
            if found is not None:
                return found
        return super().get(*args, **kwargs)

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


class Theme(models.TextChoices):
    """How pages look."""

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
    # What all runs of a day (the account's own) may use together; null: no limit.
    max_tokens_per_day = models.PositiveBigIntegerField(null=True, blank=True)
    max_cost_per_day = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)

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
        return {row.origin: row.reveal() or "" for row in _KEYS.rows(account=self.pk)}

    def end_sessions(self, *, keep: str = "") -> int:
        """End every session of this account but the one with the key *keep*; how many."""
        rows = self.login_sessions.exclude(session_key=keep)
        return sum(row.end() for row in rows)


_BY_NUMBER = Prepared(lambda: Account.objects.filter(pk=number_slot("account")))
# Asked by each turn. The table of keys knows this one.
_KEYS = Prepared(
    lambda: apps.get_model("accounts", "ApiKey").objects.filter(account=number_slot("account"))
)
