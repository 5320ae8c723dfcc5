"""Define the rows of a backup's tables once, for export and import.

An imported row is untrusted, so each value is checked for what the database, a page or a model
would do with it. A field reads a value into its database form, and raises ``ValueError`` or
``TypeError`` for an invalid one. On export each value is first clamped to what the field can read,
so that an import accepts whatever an export wrote.
"""

import json
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from jenny.workspace.errors import BackupRefused

MOST_NUMBER = 1 << 62
MOST_COUNT = (1 << 31) - 1
MOST_TEXT = 20_000_000
_MOST_LIST = 100_000
MOST_DEPTH = 8
_NAME = 200
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
_ENDLESS = 1e300
_MOST_MONEY = 1_000_000

type Row = dict[str, Any]
type Reader = Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """The two functions of a value: one reads it from a file, one fits a database value to that."""

    read: Reader
    fit: Reader = _as_it_is

    def __call__(self, value: Any) -> Any:
        return self.read(value)

    def accepts(self, value: Any) -> bool:
        try:
            self.read(value)
        except (ValueError, TypeError, OverflowError):
            return False
        return True


class Table:
    """The kinds of rows of a table and their fields.

    *about* names the rows in messages. *upgrade* turns a row of an earlier version into one of
    today's, before any check.
    """

    def __init__(
        self,
        about: str,
        kinds: Mapping[str, Mapping[str, Field]],
        upgrade: Callable[[Row], Row] = _as_it_is,
    ) -> None:
        self._about = about
        self.kinds = kinds
        self._upgrade = upgrade

    def refused(self, why: str) -> BackupRefused:
        """Return the error for an invalid row of the table."""
        return BackupRefused(f"The {self._about} in this backup {why}. Nothing was changed.")

    def read(self, row: Row) -> tuple[str, Row]:
        """Return a row's kind and its values.

        Raises:
            BackupRefused: it is invalid, or has missing or extra fields.
        """
        row = self._upgrade(row)
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
        """Return a row for the file, from *values* by field name.

        Raises:
            ValueError: a value cannot be written so that it can be read again.
        """
        row: Row = {"row": kind}
        for name, field in self.kinds[kind].items():
            row[name] = field.fit(_plain(values[name]))
            if not field.accepts(row[name]):
                message = f"The {name} of a {kind} cannot be written."
                raise ValueError(message)
        return row


def rename_key(values: Any, old: str, new: str) -> Any:
    """Return *values* with the key *new* in place of *old*; anything but a mapping as it is."""
    if not isinstance(values, dict) or old not in values or new in values:
        return values
    return {new if key == old else key: value for key, value in values.items()}


def clamped(moment: datetime) -> datetime:
    """Return the time, or the nearest one that a backup can hold."""
    try:
        return min(max(moment.astimezone(UTC), _FIRST), _LAST)
    except OverflowError:
        return _FIRST if moment.year < _FIRST.year else _LAST


def whole(most: int = MOST_NUMBER) -> Field:
    """Return a field for a whole number from 0 on."""

    def read(value: Any) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise ValueError(value)
        return value

    def fit(value: Any) -> Any:
        return min(max(value, 0), most) if type(value) is int else value

    return Field(read, fit)


def text(most: int = MOST_TEXT) -> Field:
    """Return a field for a text of at most *most* characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise ValueError(type(value))
        return value

    return Field(read, lambda value: value[:most] if isinstance(value, str) else value)


def choice(*values: str) -> Field:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(value)
        return value

    return Field(read)


def or_none(inner: Field) -> Field:
    return Field(
        lambda value: None if value is None else inner.read(value),
        lambda value: None if value is None else inner.fit(value),
    )


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


flag = Field(_flag)
"""A boolean."""

_short = text(_NAME)


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(_short.read(value))
    if found.tzinfo is None or not _FIRST <= found.astimezone(UTC) <= _LAST:
        raise ValueError(value)
    return found.astimezone(UTC)


moment = Field(_moment)
"""A time with its zone; ``clamped`` on export."""


def _identity(value: Any) -> uuid.UUID:
    found = uuid.UUID(_short.read(value))
    if str(found) != value:
        raise ValueError(value)
    return found


identity = Field(_identity)
"""A UUID in its canonical form."""


def _money(value: Any) -> Decimal:
    try:
        amount = Decimal(_short.read(value))
    except InvalidOperation as error:
        raise ValueError(value) from error
    if not amount.is_finite() or not 0 <= amount < _MOST_MONEY:
        raise ValueError(value)
    return amount


def _fit_money(value: Any) -> str:
    amount = Decimal(value)
    if not amount.is_finite():
        return "0"
    return str(min(max(amount, Decimal(0)), _MOST_MONEY - Decimal("0.000001")))


money = Field(_money, _fit_money)
"""An amount of money."""


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)


def _fit_amount(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return 0.0
    return min(max(value, 0.0), _ENDLESS)


amount = Field(_amount, _fit_amount)
"""A number, such as seconds."""


def several(inner: Field) -> Field:
    """Return a field for a list of *inner*. On export, invalid items are left out."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > _MOST_LIST:
            raise ValueError(type(value))
        return [inner.read(one) for one in value]

    def fit(value: Any) -> Any:
        if not isinstance(value, list):
            return []
        return [one for one in map(inner.fit, value[:_MOST_LIST]) if inner.accepts(one)]

    return Field(read, fit)


def named_values(depth: int) -> Field:
    """Return a field for a JSON object, nested at most *depth* deep."""

    def read(value: Any) -> Row:
        if not isinstance(value, dict) or not _is_shallow(value, depth):
            raise ValueError(type(value))
        return value

    return Field(read, lambda value: _flattened(value, depth) if isinstance(value, dict) else {})


facts = named_values(MOST_DEPTH)
"""A JSON object, nested up to the limit."""

flat = named_values(1)
"""A JSON object of texts and numbers, not nested."""


def shaped(needed: Mapping[str, Field], more: Mapping[str, Field] | None = None) -> Field:
    """Return a field for an object with the keys of *needed* and, optionally, of *more*.

    Other keys are dropped.
    """
    wanted = {**needed, **(more or {})}

    def read(value: Any) -> Row:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            raise ValueError(type(value))
        return {name: field.read(value[name]) for name, field in wanted.items() if name in value}

    def fit(value: Any) -> Any:
        if not isinstance(value, dict):
            return {} if not needed else value
        found = {name: field.fit(value[name]) for name, field in wanted.items() if name in value}
        return {
            name: one for name, one in found.items() if name in needed or wanted[name].accepts(one)
        }

    return Field(read, fit)


def _is_shallow(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)
    return not isinstance(value, int) or abs(value) <= MOST_NUMBER


def _flattened(value: Any, depth: int) -> Any:
    """Return the value; parts nested too deep, and numbers that cannot be stored, become text."""
    if isinstance(value, dict | list):
        if depth <= 0:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            return [_flattened(one, depth - 1) for one in value]
        return {name: _flattened(one, depth - 1) for name, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > MOST_NUMBER else value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clamped(value).isoformat()
    return str(value) if isinstance(value, uuid.UUID | Decimal) else value
