"""Usage of models, summed by day, kind of run and model."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F, Sum

from jenny.accounts.models.account import Account
from jenny.agent.tokens import Usage


@dataclass(frozen=True, slots=True)
class Used:
    """A day's usage. ``unpriced``: tokens without a known price, which are not in the cost."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0


class UsageDay(models.Model):
    """An account's requests to one model in one kind of run on one day (in the account's zone).

    It has no text and no name of a conversation: messages can be deleted, their cost stays.
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="usage_days"
    )
    day = models.DateField()
    kind = models.CharField(max_length=24)
    model = models.CharField(max_length=200)
    requests = models.PositiveBigIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=6, default=Decimal(0))
    # Tokens for which no price was known; they are not in ``cost``.
    unpriced_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "kind", "model"], name="one_usage_row_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.kind} {self.model}"

    @classmethod
    def add(
        cls,
        account: int,
        day: dt.date,
        *,
        kind: str,
        model: str,
        usage: Usage,
        cost: Decimal | None,
    ) -> None:
        """Count one request; *cost* ``None``: its price is unknown. Safe for parallel calls."""
        key = {"account_id": account, "day": day, "kind": kind[:24], "model": model[:200]}
        counts: dict[str, int | Decimal] = {
            "requests": 1,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "cost": cost or Decimal(0),
            "unpriced_tokens": usage.total if cost is None else 0,
        }
        added = {name: F(name) + count for name, count in counts.items()}
        if cls.objects.filter(**key).update(**added):
            return
        if not Account.objects.filter(pk=account).exists():
            # The account was deleted meanwhile, with its usage.
            return
        try:
            with transaction.atomic():
                cls.objects.create(**key, **counts)
        except IntegrityError:
            cls.objects.filter(**key).update(**added)

    @classmethod
    def used_on(cls, account: int, day: dt.date) -> Used:
        every = F("input_tokens") + F("output_tokens") + F("cache_read_tokens")
        found = cls.objects.filter(account=account, day=day).aggregate(
            tokens=Sum(every + F("cache_write_tokens")),
            cost=Sum("cost"),
            unpriced=Sum("unpriced_tokens"),
        )
        return Used(found["tokens"] or 0, found["cost"] or Decimal(0), found["unpriced"] or 0)
