"""Metrics in the text format of Prometheus (version 0.0.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

type Number = int | float | Decimal
# Values by their labels; a label is a name and a text.
type Values = Mapping[tuple[tuple[str, str], ...], Number]


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[tuple[str, Mapping[str, str], Number], ...]


def gauge(name: str, about: str, values: Values) -> Family:
    return Family(name, "gauge", about, _samples(name, values))


def counter(name: str, about: str, values: Values) -> Family:
    return Family(name, "counter", about, _samples(name, values))


def render(families: Iterable[Family]) -> str:
    lines = []
    for family in families:
        lines.append(f"# HELP {family.name} {family.help}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for name, labels, value in family.samples:
            inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(f"{name}{{{inside}}} {value}" if inside else f"{name} {value}")
    return "\n".join(lines) + "\n"


def _samples(name: str, values: Values) -> tuple[tuple[str, Mapping[str, str], Number], ...]:
    return tuple((name, dict(labels), value) for labels, value in values.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
