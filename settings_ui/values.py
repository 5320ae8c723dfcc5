"""Settings of a workspace as a page shows and takes them: one row a field of ``config.json``.

Fields are named by their keys, whole or their last part, so that what a script posts reads like
the file. Only what was sent is changed; a value that stands already is not written again, so that
a page never turns defaults into decisions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jenny.workspace import config
from jenny.workspace.config import Config, Field, Raw, Value


@dataclass(frozen=True, slots=True)
class Row:
    """A setting on its page. ``text``: what stands in its control; ``was``: what is on disk;
    ``default``, ``range``: in words; ``problem``: why what was typed is not taken."""

    field: Field
    text: str
    was: str
    default: str
    range: str
    problem: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The control's name."""
        return self.field.name

    @property
    def is_on(self) -> bool:
        """Whether a switch is on."""
        return self.text == "true"


@dataclass(slots=True)
class Asked:
    """What somebody asks to be written: values by key, what was typed, and what is wrong."""

    values: dict[str, Value] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def fields_of(group: str) -> list[Field]:
    """The settings of one page, in their order."""
    return [row for row in config.BY_KEY.values() if row.group == group]


def rows(found: Config, fields: Iterable[Field], asked: Asked | None = None) -> list[Row]:
    """The rows of a page: values as they are on disk, or as they were typed."""
    asked = asked or Asked()
    return [
        Row(
            field=one,
            text=asked.typed.get(one.key, text_of(found.get(one.key))),
            was=text_of(found.get(one.key)),
            default=_in_words(one, one.default),
            range=one.range,
            problem=asked.problems.get(one.key, ""),
            choices=_choices(found, one),
        )
        for one in fields
    ]


def asked_of(found: Config, fields: Iterable[Field], sent: Mapping[str, str]) -> Asked:
    """What *sent* (names or keys to texts) asks for, checked field by field.

    A form also says what stood in each control when it was opened (``was.`` and the name): what
    its writer left alone is not asked for, so that it does not take back what others saved since.
    """
    asked = Asked()
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
            asked.problems[one.key] = f"No model preset is called “{value}”. There are: {known}."
            continue
        asked.values[one.key] = value
    return asked


def write_into(data: Raw, found: Config, values: Mapping[str, Value]) -> None:
    """Put *values* into the file's object, but for those that hold already."""
    for key, value in values.items():
        if found.get(key) == value and type(found.get(key)) is type(value):
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
    """What is different now, in words: ``Review every: 12 runs → 24 runs``."""
    found = []
    for key in values:
        one = config.BY_KEY[key]
        old, new = before.get(key), after.get(key)
        if old != new:
            found.append(f"{one.label}: {_in_words(one, old)} → {_in_words(one, new)}")
    return found


def text_of(value: Value) -> str:
    """A value as its control holds it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choices(found: Config, one: Field) -> tuple[tuple[str, str], ...]:
    if one.kind != "preset":
        return one.choices
    current = found.get(one.key)
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
    # "1 minute"; a unit of several words, as "US dollars a million tokens", stays as it is.
    unit = one.unit.removesuffix("s") if value == 1 and " " not in one.unit else one.unit
    return f"{number} {unit}".strip()
