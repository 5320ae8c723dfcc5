"""Define the types of values a setting can have, their validation and its messages."""

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pydantic
from croniter import CroniterBadDateError, CroniterError, croniter
from pydantic import AfterValidator, StringConstraints
from pydantic.fields import FieldInfo

from jenny.workspace.names import shown

_ALIASES = ("@hourly", "@midnight", "@daily", "@weekly", "@monthly", "@yearly", "@annually")
_FIELDS = 5
_MINUTE = timedelta(minutes=1)
_LONGEST = 200
# A larger step matches only one number of its field, which nobody means.
_LARGEST_STEPS = (59, 23, 31, 12, 7)
# croniter also has random and hashed fields; the times of an expression must not vary.
_FIELD = re.compile(r"(?:[0-9*,/?#-]|l(?=[0-9,]|$)|[a-z]{3})+")
# 29 February falls on one certain weekday every 28 years, or 40 over a century.
_SEARCHED_YEARS = 40
_FORM = (
    "five fields: minute, hour, day, month, weekday (such as 0 */4 * * *), or one of "
    + ", ".join(_ALIASES)
)


class BadCron(ValueError):
    """An expression that is invalid or matches no time; the message says what is accepted."""


def check_cron(text: str) -> str:
    """Return the expression with single spaces.

    :raises BadCron: it cannot be read, or no time in the next years fits it.
    """
    expression = " ".join(text.split())
    if not _has_form(expression.lower()):
        raise BadCron(f"it takes {_FORM}")
    try:
        croniter.expand(expression)
    except (CroniterError, ValueError, KeyError) as error:
        raise BadCron(f"it takes {_FORM}") from error
    if not _comes(expression):
        raise BadCron("no day in the next years fits it; it takes days that its months have")
    return expression


def cron_occurrences(expression: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of the expression in that zone, later than *after*, in order (UTC).

    A time that the clocks skip is shifted by as much as they were put forward; one that occurs
    twice counts once, the first time.
    """
    place = ZoneInfo(zone)
    last = after.astimezone(UTC)
    # In local time without a zone: the library's own handling of clock changes counts some times
    # twice. From midnight, since the clocks may have been put back since.
    begin = after.astimezone(place).replace(tzinfo=None)
    times = croniter(
        expression,
        begin.replace(hour=0, minute=0, second=0, microsecond=0) - _MINUTE,
        max_years_between_matches=_SEARCHED_YEARS,
        # Standard cron behaviour: a day field that begins with * restricts the other one.
        implement_cron_bug=True,
    )
    while True:
        try:
            face = times.get_next(datetime)
        except (CroniterBadDateError, OverflowError):
            return
        moment = face.replace(tzinfo=place).astimezone(UTC)
        if moment > last:
            last = moment
            yield moment


@functools.lru_cache(maxsize=256)
def _comes(expression: str) -> bool:
    """True when any time matches. Cached, since settings are checked for every page."""
    return next(cron_occurrences(expression, "UTC", datetime.now(tz=UTC)), None) is not None


def _has_form(expression: str) -> bool:
    if expression in _ALIASES:
        return True
    fields = expression.split()
    if len(fields) != _FIELDS or len(expression) > _LONGEST or not expression.isascii():
        return False
    return all(
        _FIELD.fullmatch(field) and all(0 < step <= largest for step in _steps(field))
        for field, largest in zip(fields, _LARGEST_STEPS, strict=True)
    )


def _steps(field: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"/([0-9]{1,4})", field)]


type Value = bool | int | float | str | None
type Kind = Literal[
    "switch", "whole", "number", "text", "choice", "zone", "language", "cron", "preset", "address"
]


def _text(value: str) -> str:
    if not value.isprintable() or looks_secret(value):
        raise ValueError
    return value.strip()


def _zone(value: str) -> str:
    # These are not places: the host's own setting, and "none was set".
    if value in {"localtime", "Factory"}:
        raise ValueError
    try:
        return ZoneInfo(value).key if value else ""
    except (KeyError, OSError) as error:  # unknown, or a folder
        raise ValueError from error


def _cron(value: str) -> str:
    return check_cron(value) if value.strip() else ""


def _address(value: str) -> str:
    text = value.strip().rstrip("/")
    if not text:
        return ""
    parts = urlsplit(text)
    right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    alone = not (parts.username or parts.password or parts.query or parts.fragment)
    if not (right and alone and text.isascii() and text.isprintable()):
        raise ValueError
    return text


# The string in ``Annotated`` is the kind of the field.
Text = Annotated[str, AfterValidator(_text), "text"]
PresetName = Annotated[str, AfterValidator(_text), "preset"]
ZoneName = Annotated[str, AfterValidator(_zone), "zone"]
LanguageTag = Annotated[
    str, StringConstraints(pattern=r"^(?:[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)?$"), "language"
]
CronText = Annotated[str, AfterValidator(_cron), "cron"]
Address = Annotated[str, AfterValidator(_address), "address"]
_KINDS: dict[Any, Kind] = {bool: "switch", int: "whole", float: "number"}

_STRICT = pydantic.ConfigDict(strict=True, allow_inf_nan=False)


class Section(pydantic.BaseModel):
    """An object of ``config.json``; its settings are made by ``setting``."""

    model_config = pydantic.ConfigDict(frozen=True, **_STRICT)


def setting(
    default: Value,
    *,
    group: str,
    label: str,
    help: str,  # noqa: A002 - as on the pages
    unit: str = "",
    choices: Mapping[str, str] | None = None,
    confirm_below: int | None = None,
    **limits: Any,
) -> Any:
    """A field of a section, with everything that forms, checks and pages need.

    ``group`` is the page of Settings it is on. A number newly set below ``confirm_below`` is
    written only when the person confirmed it. *limits*: ``ge``, ``le``, ``max_length``.
    """
    extra: dict[str, Any] = {
        "group": group,
        "unit": unit,
        "choices": dict(choices or {}),
        "confirm_below": confirm_below,
    }
    return pydantic.Field(default, title=label, description=help, json_schema_extra=extra, **limits)


@dataclass(frozen=True, kw_only=True)
class Field:
    """One setting, as forms and pages show it.

    ``key`` is its dotted path in ``config.json``; ``*`` stands for the name of a preset. ``null``
    (or empty) means "none" where the default is none or a text.
    """

    key: str
    kind: Kind
    default: Value
    group: str
    label: str
    help: str
    low: float
    high: float
    choices: tuple[tuple[str, str], ...]
    unit: str
    confirm_below: int | None
    type: pydantic.TypeAdapter[Value] = field(repr=False, compare=False)

    @classmethod
    def of(cls, key: str, info: FieldInfo) -> Self:
        extra: dict[str, Any] = dict(info.json_schema_extra)  # type: ignore[arg-type]  # as ``setting`` made it
        plain = next(each for each in (*get_args(info.annotation), info.annotation) if each)
        named: list[Any] = [each for each in info.metadata if isinstance(each, str)]
        limits = {
            name: getattr(each, name)
            for each in info.metadata
            for name in ("ge", "le", "max_length")
            if hasattr(each, name)
        }
        as_declared: Any = Annotated[info.annotation, info]
        return cls(
            key=key,
            kind=named[0] if named else _KINDS.get(plain, "choice"),
            default=info.default,
            group=extra["group"],
            label=info.title or "",
            help=info.description or "",
            low=limits.get("ge", -math.inf),
            high=limits.get("le", limits.get("max_length", math.inf)),
            choices=tuple(extra["choices"].items()),
            unit=extra["unit"],
            confirm_below=extra["confirm_below"],
            type=pydantic.TypeAdapter(as_declared, config=_STRICT),
        )

    @property
    def name(self) -> str:
        return self.key.rsplit(".", 1)[-1]

    @property
    def range(self) -> str:
        """The accepted values, in words: "takes …"."""
        return _TAKES[self.kind](self)

    def check(self, value: object) -> Value:
        """Return the value as the program uses it.

        Raises:
            ValueError: it is invalid; the message says what is accepted.
        """
        if value is None and self._has_none():
            return self.default
        try:
            return self.type.validate_python(value)
        except pydantic.ValidationError as error:
            cause = error.errors()[0].get("ctx", {}).get("error")
            taken = str(cause) if isinstance(cause, BadCron) else f"it takes {self.range}"
            message = f"is {_spelled(value)}; {taken}"
            raise ValueError(message) from error

    def from_text(self, text: str) -> Value:
        """Parse a value that was typed or is from an environment variable.

        Raises:
            ValueError: as ``check``.
        """
        typed = text.strip()
        if not typed and self._has_none():
            return self.default
        if self.kind == "switch":
            return self.check({"true": True, "false": False}.get(typed.lower(), typed))
        if self.kind in ("whole", "number"):
            for number in (int, float):
                try:
                    return self.check(number(typed))
                except (ValueError, OverflowError):
                    continue
        return self.check(typed)

    def _has_none(self) -> bool:
        return self.default is None or isinstance(self.default, str)


def _spelled(value: object) -> str:
    """Format a wrong value for a sentence."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    words = {True: "true", False: "false", None: "null"}
    if isinstance(value, bool) or value is None:
        return words[value]
    return shown(value) if isinstance(value, str) else str(value)


def _between(field: Field) -> str:
    return f"from {field.low:,g} to {field.high:,.10g}"


_TAKES: dict[Kind, Callable[[Field], str]] = {
    "switch": lambda _field: "true or false",
    "whole": lambda field: f"a whole number {_between(field)}",
    "number": lambda field: f"a number {_between(field)}",
    "text": lambda field: f"text on one line of at most {field.high:,.10g} characters, no keys",
    "preset": lambda _field: "the name of a model preset",
    "choice": lambda field: "one of " + ", ".join(value or "(empty)" for value, _ in field.choices),
    "zone": lambda _field: "the name of a time zone such as Europe/Prague",
    "language": lambda _field: "a language's tag such as en or pt-BR",
    "cron": lambda _field: (
        "five fields: minute, hour, day, month, weekday (such as 0 */4 * * *), or @daily"
    ),
    "address": lambda _field: "an address that begins with http:// or https://, without a password",
}

_SECRET_VALUE = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}"
)
_SECRET_NAME = re.compile(
    r"(api|access|secret|private|auth)[_-]?(key|token)$|^(token|secret|password|passwd|bearer)$"
    r"|[_-](token|secret|password)$|[a-z](Token|Secret|Password)$",
    re.IGNORECASE,
)


def looks_secret(value: str) -> bool:
    """True when the text has the form of a well-known kind of key."""
    return _SECRET_VALUE.search(value) is not None


def names_secret(key: str) -> bool:
    """True when a setting of this name would hold a secret (``apiKey``, ``password``)."""
    return _SECRET_NAME.search(key) is not None
