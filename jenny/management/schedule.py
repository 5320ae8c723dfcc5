"""Makes beat's rows equal to the table in ``jenny.celery``."""

from django.db import transaction
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks

from jenny.celery import SCHEDULE

# Rows with this description are ours; others an operator made are let be.
MARK = "Made by Jenny at its start."


def sync_schedule() -> None:
    """Make the rows that are missing, change those that differ, take away those that left."""
    changed = False
    with transaction.atomic():
        ours = PeriodicTask.objects.filter(description=MARK)
        changed |= bool(ours.exclude(name__in=SCHEDULE).delete()[0])
        for name, (task, seconds, queue) in SCHEDULE.items():
            interval, _ = IntervalSchedule.objects.get_or_create(
                every=seconds, period=IntervalSchedule.SECONDS
            )
            # No expiry: it is a time of the sender's clock, and a worker whose clock is ahead
            # by more than the interval would drop every run.
            wanted = {"task": task, "interval": interval, "queue": queue, "description": MARK}
            row = PeriodicTask.objects.filter(name=name).first()
            if row is None:
                PeriodicTask.objects.create(name=name, **wanted)
                changed = True
            elif any(getattr(row, key) != value for key, value in wanted.items()):
                for key, value in wanted.items():
                    setattr(row, key, value)
                row.save()
                changed = True
    if changed:
        PeriodicTasks.update_changed()
