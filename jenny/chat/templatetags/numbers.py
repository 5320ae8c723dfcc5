"""Numbers as people read them."""

from django import template

register = template.Library()


@register.filter
def count(value: object) -> str:
    """A whole number with its thousands parted: 12,400. Anything else as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)
