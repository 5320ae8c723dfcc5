"""The operator's site with the rows that all apps register, and beat's schedule."""

from django.contrib import admin
from django_celery_beat.models import PeriodicTask

from jenny.accounts.admin import ReadOnly, site
from jenny.chat import admin as chat
from memory import admin as memory

__all__ = ["chat", "memory", "site"]


@admin.register(PeriodicTask, site=site)
class PeriodicTaskAdmin(ReadOnly):
    """Tasks that beat starts; each start of Jenny resets the rows."""

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
