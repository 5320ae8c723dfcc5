"""How names and numbers of wikis are shown."""

from django import template

register = template.Library()


@register.filter
def visible(text: object) -> str:
    """A name with nothing invisible in it: a mark that turns the reading direction, or a control
    character, is shown by its number."""
    return (
        "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in str(text))
        .encode("utf-8", "replace")
        .decode()
    )


@register.filter
def grouped(number: object) -> str:
    """A number with its thousands parted."""
    return f"{number:,}" if isinstance(number, int) else str(number)
