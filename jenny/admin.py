"""The operator's site with what all floors register, and the schedule that beat keeps."""

from django.contrib import admin
from django_celery_beat.models import PeriodicTask

from jenny.accounts.admin import ReadOnly, site
from jenny.chat import admin as chat
from memory import admin as memory

__all__ = ["chat", "memory", "site"]


@admin.register(PeriodicTask, site=site)
class PeriodicTaskAdmin(ReadOnly):
    """What beat starts by itself; each start of Jenny puts the rows right."""

    list_display = (
        "name",
        "task",
        "interval",
        "queue",
        "enabled",
        "last_run_at",
        "total_run_count",
    )
    list_select_related = ("interval",)
    fields = (
        "name",
        "task",
        "interval",
        "queue",
        "enabled",
        "last_run_at",
        "total_run_count",
        "description",
    )
    ordering = ("name",)
