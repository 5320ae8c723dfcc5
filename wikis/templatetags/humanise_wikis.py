"""Format names and numbers of wikis for templates."""

from django import template

register = template.Library()


@register.filter
def visible(text: object) -> str:
    """Replace invisible characters (direction marks, control characters) by their numbers."""
    return (
        "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in str(text))
        .encode("utf-8", "replace")
        .decode()
    )


@register.filter
def grouped(number: object) -> str:
    """Format a number with thousands separators."""
    return f"{number:,}" if isinstance(number, int) else str(number)
