"""Runs as writes name them."""

import re

_NAME = re.compile(r"(?:dream|review):(\d{1,18})(?::.*)?")


def run_number(name: str) -> int | None:
    """The number of the Dream run that is called so; ``None``: it is something else's name."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None
