"""Template filters for short numbers."""

from django import template

register = template.Library()
_UNITS = (("B", 1e9), ("M", 1e6), ("k", 1e3))


@register.filter
def short(number: float) -> str:
    """Round a number to a few letters: ``1.5k``, ``20M``, ``0.05``."""
    for unit, size in _UNITS:
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
