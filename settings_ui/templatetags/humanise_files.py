"""How names and numbers of files are shown."""

from django import template

from jenny.workspace import names

register = template.Library()
# Decimal units, as disks are sold.
STEP = 1000


@register.filter
def visible(name: str) -> str:
    """A name with nothing invisible in it: a mark that turns the reading direction, or a control
    character, is shown by its number."""
    return names.shown(name)[1:-1]


@register.filter
def thousands(number: int) -> str:
    """A number with its thousands parted."""
    return f"{number:,}"


@register.filter
def filesize(number: int) -> str:
    """Bytes in a unit that fits, decimal as disks are sold: ``1.2 kB``."""
    if number < STEP:
        return "1 byte" if number == 1 else f"{number} bytes"
    size, units = float(number), ["TB", "GB", "MB", "kB"]
    while True:
        size, unit = size / STEP, units.pop()
        if size < STEP or not units:
            return f"{size:.1f} {unit}" if size < STEP / 10 else f"{size:,.0f} {unit}"
