"""What is shown of a page's header: title, type, tags and dates, nothing else."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from jenny.markdown import front_matter

TITLE_CHARS = 200
SHOWN_TAGS = 50
_DATES = ("date", "created", "updated")
_DATE_CHARS = 40


@dataclass(frozen=True, slots=True)
class Head:
    """What is shown of a page's header; of one that cannot be read, why (``problem``)."""

    title: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def head(header: front_matter.FrontMatter) -> Head:
    """What is shown of a header: title, type, tags and dates, nothing else."""
    values = header.values
    dates = tuple(
        (name, shown)
        for name in _DATES
        if (shown := _day(values.get(name))) and len(shown) < _DATE_CHARS
    )
    return Head(
        one_line(values.get("title")),
        one_line(values.get("type")),
        _tags(values.get("tags")),
        dates,
        header.problem,
    )


def one_line(value: Any) -> str:
    """A header's value as one line; nothing for what is no plain value."""
    if value is None or isinstance(value, dict | list):
        return ""
    return " ".join(str(value).split())[:TITLE_CHARS]


def _tags(value: Any) -> tuple[str, ...]:
    """Tags from a list, or from one line parted by commas."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    found = [one_line(one).lstrip("#") for one in value]
    return tuple(dict.fromkeys(tag for tag in found if tag))[:SHOWN_TAGS]


def _day(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, dt.date):
        return value.isoformat()
    return one_line(value)
