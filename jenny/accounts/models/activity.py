"""Records when each part of Jenny was up, as time spans that are extended once a minute."""

import datetime as dt
from typing import Self

from django.db import models
from django.db.models.functions import Now

from jenny.workspace import retention

BEAT_SECONDS = 60.0
# A longer time without a beat is a gap; a part that restarts sooner continues its span.
GAP = dt.timedelta(seconds=150)


class UpSpan(models.Model):
    """A time span in which one part of Jenny ran on one host, by the database's clock."""

    part = models.CharField(max_length=32)
    host = models.CharField(max_length=64)
    started_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["part", "host", "-last_at"], name="up_spans")]

    def __str__(self) -> str:
        return f"{self.part} on {self.host}"

    @classmethod
    def beat(cls, part: str, host: str) -> Self | None:
        """Extend the part's newest span, or begin one after a gap and return that gap."""
        mine = cls.objects.filter(part=part, host=host, last_at__gte=Now() - GAP)
        if mine.update(last_at=Now()):
            return None
        row = cls.objects.create(part=part, host=host)
        cls.objects.filter(last_at__lt=Now() - retention.ACTIVITY).delete()
        return row
