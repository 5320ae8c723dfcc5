import re

_NAME = re.compile(r"(?:dream|review):(\d{1,18})(?::.*)?")


def run_number(name: str) -> int | None:
    """Parse a Dream run's number from the run name of a write; ``None`` for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None
