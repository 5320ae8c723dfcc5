"""Template filter for times, with the day in words when it is near."""

import datetime as dt

from django import template
from django.utils import timezone
from django.utils.dateformat import format as formatted

register = template.Library()


@register.filter
def moment(value: dt.datetime | None) -> str:
    """Format a time in the account's zone: ``today, 14:05``; ``yesterday, 14:05``; ``Mon 3
    August, 14:05``; with the year when it is not this one."""
    if value is None:
        return ""
    local, today = timezone.localtime(value), timezone.localdate()
    words = {0: "today", -1: "yesterday", 1: "tomorrow"}
    day = words.get((local.date() - today).days)
    if day is None:
        day = formatted(local, "D j F" if local.year == today.year else "j F Y")
    return f"{day}, {local:%H:%M}"
