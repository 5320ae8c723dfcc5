"""When each part of Jenny was up: stretches of time, lengthened once a minute."""

import datetime as dt
from typing import Self

from django.db import models
from django.db.models.functions import Now

BEAT_SECONDS = 60.0
# Longer without a beat is a gap; a part that starts again sooner goes on with its stretch.
GAP = dt.timedelta(seconds=150)
KEPT = dt.timedelta(days=30)


class UpSpan(models.Model):
    """A stretch in which one part of Jenny ran on one host. Times are the database's own."""

    part = models.CharField(max_length=32)
    host = models.CharField(max_length=64)
    started_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["part", "host", "-last_at"], name="up_spans")]

    def __str__(self) -> str:
        """Part and host."""
        return f"{self.part} on {self.host}"

    @classmethod
    def beat(cls, part: str, host: str) -> Self | None:
        """Say that the part is up: lengthen its newest stretch, or begin one after a gap, which
        is given."""
        mine = cls.objects.filter(part=part, host=host, last_at__gte=Now() - GAP)
        if mine.update(last_at=Now()):
            return None
        row = cls.objects.create(part=part, host=host)
        cls.objects.filter(last_at__lt=Now() - KEPT).delete()
        return row
