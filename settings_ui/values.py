"""Settings of a workspace on a page: one row a field of ``config.json``.

Fields are named by their keys, whole or their last part, so that a script's request reads like
the file. Only fields that were sent change, and a value that holds already is not written, so
that a page never turns defaults into choices.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jenny.workspace import config
from jenny.workspace.config import Config, Field, Raw, Value


@dataclass(frozen=True, slots=True)
class Row:
    """A setting on its page.

    ``text`` is the content of its control, ``was`` the value on disk; ``default`` and ``range``
    are words; ``problem`` says why the input is refused.
    """

    field: Field
    text: str
    was: str
    default: str
    range: str
    problem: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def is_on(self) -> bool:
        return self.text == "true"


@dataclass(slots=True)
class SentForm:
    """Requested changes: values by key, the input as typed, and the problems."""

    values: dict[str, Value] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def fields_of(group: str) -> list[Field]:
    return [row for row in config.BY_KEY.values() if row.group == group]


def rows(found: Config, fields: Iterable[Field], asked: SentForm | None = None) -> list[Row]:
    asked = asked or SentForm()
    return [
        Row(
            field=one,
            text=asked.typed.get(one.key, text_of(found.values[one.key])),
            was=text_of(found.values[one.key]),
            default=_in_words(one, one.default),
            range=one.range,
            problem=asked.problems.get(one.key, ""),
            choices=_choices(found, one),
        )
        for one in fields
    ]


def asked_of(found: Config, fields: Iterable[Field], sent: Mapping[str, str]) -> SentForm:
    """Check *sent* (texts by name or key) field by field and return the requested changes.

    A form also sends what each control held when it was opened (``was.`` and the name): an
    untouched control is no request, so that it does not revert what others saved since.
    """
    asked = SentForm()
    for one in fields:
        text = sent.get(one.key, sent.get(one.name))
        if text is None or text == sent.get(f"was.{one.name}"):
            continue
        asked.typed[one.key] = text
        try:
            value = one.from_text(text)
        except ValueError as error:
            asked.problems[one.key] = f"{one.label} {error}."
            continue
        if one.kind == "preset" and value and value not in found.presets:
            known = ", ".join(sorted(found.presets)) or "none yet"
            asked.problems[one.key] = f"No model is called “{value}”. There are: {known}."
            continue
        asked.values[one.key] = value
    return asked


def write_into(data: Raw, found: Config, values: Mapping[str, Value]) -> None:
    """Store *values* in the file's object, except those that it has already."""
    for key, value in values.items():
        if found.values[key] == value and type(found.values[key]) is type(value):
            continue
        *folders, name = key.split(".")
        place = data
        for part in folders:
            inner = place.get(part)
            if not isinstance(inner, dict):
                inner = place[part] = {}
            place = inner
        place[name] = value


def changed(before: Config, after: Config, values: Iterable[str]) -> list[str]:
    """List the differences in words: ``Review every: 12 runs → 24 runs``."""
    found = []
    for key in values:
        one = config.BY_KEY[key]
        old, new = before.values[key], after.values[key]
        if old != new:
            found.append(f"{one.label}: {_in_words(one, old)} → {_in_words(one, new)}")
    return found


def text_of(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choices(found: Config, one: Field) -> tuple[tuple[str, str], ...]:
    if one.kind != "preset":
        return one.choices
    current = found.values[one.key]
    names = sorted({*found.presets, *([str(current)] if current else [])})
    return (("", "The main model"), *((name, name) for name in names))


def _in_words(one: Field, value: Value) -> str:
    if one.kind == "switch":
        return "on" if value else "off"
    if value in (None, ""):
        return "none"
    if one.choices:
        return dict(one.choices).get(str(value), str(value))
    number = f"{value:,}" if isinstance(value, int) else str(value)
    # "1 minute"; a unit of several words, as "US dollars a million tokens", is not changed.
    unit = one.unit.removesuffix("s") if value == 1 and " " not in one.unit else one.unit
    return f"{number} {unit}".strip()
