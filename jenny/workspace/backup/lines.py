"""Lines of JSON that somebody gives us."""

import json
from typing import Any

from jenny.workspace.backup.directory import refused
from jenny.workspace.backup.values import MOST_LINE_BYTES


def row_of(data: bytes, where: str) -> dict[str, Any]:
    """A line of JSON: an object, and of no more than a database can keep."""
    if len(data) > MOST_LINE_BYTES:
        raise refused(f"is damaged at {where}")
    try:
        row = json.loads(data.decode("utf-8"), parse_constant=_no_number)
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise refused(f"is damaged at {where}") from error
    # A text may speak of a NUL; none may hold one, which no database keeps.
    if not isinstance(row, dict) or (b"\\u0000" in data and _has_nul(row)):
        raise refused(f"is damaged at {where}")
    return row


def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_nul(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\0" in value


def _no_number(text: str) -> None:
    """Infinity and the like are no JSON."""
    raise ValueError(text)
