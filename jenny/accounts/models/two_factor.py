"""The second factor of a login: codes of an authenticator app, and recovery codes."""

import datetime as dt
import time
from typing import Self

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone

from jenny.accounts import totp
from jenny.accounts.models.account import Account
from jenny.accounts.vault import Unreadable, Vault

# Wrong codes until none are accepted for a while: of a million codes, three are right at a time.
MOST_FAILURES = 6
PAUSE = dt.timedelta(minutes=15)
# Binds the secret in the vault, in place of an origin.
_BOUND_TO = "two-factor of account {}"


class TwoFactor(models.Model):
    """An account's secret; without ``confirmed_at`` it is being set up and not required."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="two_factor",
    )
    ciphertext = models.BinaryField()
    confirmed_at = models.DateTimeField(null=True)
    # The newest step whose code was accepted, so that no code is accepted twice.
    last_step = models.BigIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    failed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"two-factor of account {self.account_id}"

    @classmethod
    def of(cls, account: Account) -> Self | None:
        """Return the account's second factor, when it is on."""
        return cls.objects.filter(account=account).exclude(confirmed_at=None).first()

    @classmethod
    def begin(cls, account: Account) -> Self:
        """Create a new secret to be confirmed; it replaces an earlier unconfirmed one."""
        sealed = Vault(settings.SECRET_KEY).encrypt(totp.new_secret(), _BOUND_TO.format(account.pk))
        row, _ = cls.objects.update_or_create(
            account=account,
            defaults={"ciphertext": sealed, "confirmed_at": None, "last_step": 0},
        )
        return row

    def reveal(self) -> str | None:
        """Return the secret; ``None`` when the secret key has changed and it is unreadable."""
        try:
            return Vault(settings.SECRET_KEY).decrypt(
                bytes(self.ciphertext), _BOUND_TO.format(self.account_id)
            )
        except Unreadable:
            return None

    @property
    def minutes_to_wait(self) -> int:
        """Minutes without accepting codes after too many wrong ones; 0: one may be tried."""
        if self.failures < MOST_FAILURES or self.failed_at is None:
            return 0
        left = (self.failed_at + PAUSE - timezone.now()).total_seconds()
        return max(0, -int(-left // 60))

    def try_code(self, given: str) -> bool:
        """Accept a code of the app, or a recovery code; each once. Safe for parallel calls."""
        if not self._count_a_try():
            return False
        is_right = self._takes(given) or RecoveryCode.use(self.account_id, given)
        if is_right:
            type(self).objects.filter(pk=self.pk).update(failures=0, failed_at=None)
        return is_right

    def _count_a_try(self) -> bool:
        """Count the code as wrong first, so that parallel tries cannot exceed the limit.

        ``False``: there were too many.
        """
        now = timezone.now()
        rows = type(self).objects.filter(pk=self.pk)
        rows.filter(failures__gte=MOST_FAILURES, failed_at__lte=now - PAUSE).update(failures=0)
        return bool(
            rows.filter(failures__lt=MOST_FAILURES).update(
                failures=F("failures") + 1, failed_at=now
            )
        )

    def _takes(self, given: str) -> bool:
        secret = self.reveal()
        step = totp.step_of(secret, given, time.time()) if secret else None
        if step is None:
            return False
        rows = type(self).objects.filter(pk=self.pk, last_step__lt=step)
        return bool(rows.update(last_step=step))

    def confirm(self, given: str) -> list[str] | None:
        """Turn it on with the first code of the app; return the recovery codes, which are shown
        once.

        ``None``: the code is wrong.
        """
        if not self._count_a_try() or not self._takes(given):
            return None
        with transaction.atomic():
            type(self).objects.filter(pk=self.pk).update(
                confirmed_at=timezone.now(), failures=0, failed_at=None
            )
            return RecoveryCode.make(self.account_id)


class RecoveryCode(models.Model):
    """A code that works once, for a person who lost the app; only its digest is stored."""

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes"
    )
    digest = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "digest"], name="one_recovery_code")
        ]

    def __str__(self) -> str:
        return f"recovery code of account {self.account_id}"

    @classmethod
    def make(cls, account: int) -> list[str]:
        """Create new codes; they replace all earlier ones."""
        codes = totp.new_codes()
        with transaction.atomic():
            cls.objects.filter(account=account).delete()
            RecoveryCode.objects.bulk_create(
                [
                    cls(
                        account_id=account,
                        digest=totp.digest(settings.SECRET_KEY, account, code),
                    )
                    for code in codes
                ]
            )
        return codes

    @classmethod
    def use(cls, account: int, given: str) -> bool:
        """Use a code up. ``False``: there is none like it, or it was used."""
        digest = totp.digest(settings.SECRET_KEY, account, given)
        fresh = cls.objects.filter(Q(account=account), digest=digest, used_at=None)
        return bool(fresh.update(used_at=timezone.now()))

    @classmethod
    def left(cls, account: Account) -> int:
        return cls.objects.filter(account=account, used_at=None).count()
