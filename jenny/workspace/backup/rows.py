"""Rows of a backup's tables: what each kind has, said once for writing and for reading.

A row that comes from a file may say anything, so each value is judged by what the database, a page
or a model would make of it. A reader gives the value as the database takes it, and raises
``ValueError`` or ``TypeError`` for what cannot be.
"""

import math
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from jenny.workspace.errors import BackupRefused

MOST_NUMBER = 1 << 62
MOST_COUNT = (1 << 31) - 1
MOST_TEXT = 20_000_000
_MOST_LIST = 100_000
_MOST_DEPTH = 8
_NAME = 200
_YEARS = range(1970, 9999)
_MOST_MONEY = 1_000_000

type Row = dict[str, Any]
type Reader = Callable[[Any], Any]


class Table:
    """The kinds of rows of a table (*about*: what they are, for sentences), and their fields."""

    def __init__(self, about: str, kinds: Mapping[str, Mapping[str, Reader]]) -> None:
        self._about = about
        self.kinds = kinds

    def refused(self, why: str) -> BackupRefused:
        """The refusal of what is in the table."""
        return BackupRefused(f"The {self._about} in this backup {why}. Nothing was changed.")

    def read(self, row: Row) -> tuple[str, Row]:
        """A row's kind, and its values.

        Raises:
            BackupRefused: it is none, has too much or too little, or says what cannot be.
        """
        kind = row.get("row")
        fields = self.kinds.get(kind) if isinstance(kind, str) else None
        if fields is None or row.keys() != {"row", *fields}:
            raise self.refused("have rows that this version of Jenny does not know")
        values: Row = {}
        for name, reader in fields.items():
            try:
                values[name] = reader(row[name])
            except (ValueError, TypeError, OverflowError) as error:
                raise self.refused(f"have a {kind} with an impossible {name}") from error
        return str(kind), values

    def written(self, kind: str, values: Mapping[str, Any]) -> Row:
        """A row for the file, of *values* by the fields' names."""
        return {"row": kind} | {name: _plain(values[name]) for name in self.kinds[kind]}


def whole(most: int = MOST_NUMBER) -> Reader:
    """A whole number from 0 on."""

    def read(value: Any) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise ValueError(value)
        return value

    return read


def text(most: int = MOST_TEXT) -> Reader:
    """A text of at most so many characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise ValueError(type(value))
        return value

    return read


def choice(*values: str) -> Reader:
    """One of these words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(value)
        return value

    return read


def or_none(inner: Reader) -> Reader:
    """That, or nothing."""
    return lambda value: None if value is None else inner(value)


def flag(value: Any) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def moment(value: Any) -> datetime:
    """A time with its zone."""
    found = datetime.fromisoformat(text(_NAME)(value))
    if found.tzinfo is None or found.year not in _YEARS:
        raise ValueError(value)
    return found.astimezone(UTC)


def identity(value: Any) -> uuid.UUID:
    """A UUID, in the one form in which it is written."""
    found = uuid.UUID(text(_NAME)(value))
    if str(found) != value:
        raise ValueError(value)
    return found


def money(value: Any) -> Decimal:
    """An amount of money."""
    try:
        amount = Decimal(text(_NAME)(value))
    except InvalidOperation as error:
        raise ValueError(value) from error
    if not amount.is_finite() or not 0 <= amount < _MOST_MONEY:
        raise ValueError(value)
    return amount


def amount(value: Any) -> float:
    """A number of seconds or the like."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)


def several(inner: Reader) -> Reader:
    """A list of such."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > _MOST_LIST:
            raise ValueError(type(value))
        return [inner(one) for one in value]

    return read


def facts(value: Any) -> Row:
    """Named values, as deep as they may be."""
    if not isinstance(value, dict) or not _is_shallow(value, _MOST_DEPTH):
        raise ValueError(type(value))
    return value


def flat(value: Any) -> Row:
    """Named texts and numbers, and nothing deeper."""
    if not isinstance(value, dict) or not _is_shallow(value, 1):
        raise ValueError(type(value))
    return value


def shaped(needed: Mapping[str, Reader], more: Mapping[str, Reader] | None = None) -> Reader:
    """Named values: those that are *needed*, and of *more* those that are there. Others, which
    nothing asks for, are left out."""

    def read(value: Any) -> Row:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            raise ValueError(type(value))
        wanted = {**needed, **(more or {})}
        return {name: reader(value[name]) for name, reader in wanted.items() if name in value}

    return read


def _is_shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)
    return not isinstance(value, int) or abs(value) <= MOST_NUMBER


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, uuid.UUID | Decimal) else value
