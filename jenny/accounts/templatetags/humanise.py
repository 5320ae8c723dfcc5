"""Template filters for names and sizes of files, numbers, and times."""

import datetime as dt

from django import template
from django.utils import timezone
from django.utils.dateformat import format as formatted

from jenny.workspace import names

register = template.Library()
# Decimal units, as disks are sold.
STEP = 1000


register.filter("escape_invisible", names.escape_invisible)


@register.filter
def thousands(number: object) -> str:
    """Format a whole number with thousands separators: 12,400. Anything else stays as it is."""
    return f"{number:,}" if isinstance(number, int | float) else str(number)


@register.filter
def filesize(number: int) -> str:
    if number < STEP:
        return "1 byte" if number == 1 else f"{number} bytes"
    size, units = float(number), ["TB", "GB", "MB", "kB"]
    while True:
        size, unit = size / STEP, units.pop()
        if size < STEP or not units:
            return f"{size:.1f} {unit}" if size < STEP / 10 else f"{size:,.0f} {unit}"


_UNITS = (("B", 1e9), ("M", 1e6), ("k", 1e3))


@register.filter
def short(number: float) -> str:
    """Round a number to a few letters: ``1.5k``, ``20M``, ``0.05``."""
    for unit, size in _UNITS:
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


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
