"""Template filters for names, numbers and sizes of files."""

from django import template

from jenny.workspace import names

register = template.Library()
# Decimal units, as disks are sold.
STEP = 1000


@register.filter
def visible(name: str) -> str:
    """Replace invisible characters of a name (direction marks, control characters) by their code
    points."""
    return names.shown(name)[1:-1]


@register.filter
def thousands(number: int) -> str:
    """Format a number with thousands separators."""
    return f"{number:,}"


@register.filter
def filesize(number: int) -> str:
    if number < STEP:
        return "1 byte" if number == 1 else f"{number} bytes"
    size, units = float(number), ["TB", "GB", "MB", "kB"]
    while True:
        size, unit = size / STEP, units.pop()
        if size < STEP or not units:
            return f"{size:.1f} {unit}" if size < STEP / 10 else f"{size:,.0f} {unit}"
