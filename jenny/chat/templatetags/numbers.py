"""Formats numbers."""

from django import template

register = template.Library()


@register.filter
def count(value: object) -> str:
    """Format a whole number with thousands separators: 12,400. Anything else stays as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)
