"""Read the header of a Markdown file: YAML between two lines of ``---`` at its very beginning.

Every value stays text: ``No``, ``1.10``, ``007`` and ``12:30`` do not become booleans, numbers or
times. Anchors, aliases and tags are refused, so a header never expands. Headers are only read: an
invalid one is reported as a problem, and its bytes stay as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

# Longer headers are refused: a header is a few lines about a file.
MAX_CHARS = 20_000
MAX_VALUES = 5_000
MAX_DEPTH = 20

TRUE_WORDS = frozenset({"true", "yes", "on"})
FALSE_WORDS = frozenset({"false", "no", "off", "null", "~", ""})

_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"^---[ \t]*$", re.MULTILINE)
# libyaml, if installed, reads a header in a tenth of the time.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

type Value = str | list[Value] | dict[str, Value]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A header's values and source, the text below it, and a problem if it is invalid."""

    values: dict[str, Value] = field(default_factory=dict)
    body: str = ""
    problem: str = ""
    raw: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """Split *text* into header and body; without a header, the body is all of it.

    A byte order mark and any kind of line end are accepted. ``---`` further down is a rule, not a
    header.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    opening = _OPEN.match(text)
    if opening is None:
        return FrontMatter(body=text)
    closing = _CLOSE.search(text, opening.end())
    if closing is None:
        return FrontMatter(body=text, problem="the header has no closing line of ---")
    header, body = text[opening.end() : closing.start()], text[closing.end() + 1 :]
    values, problem = _parsed(header)
    return FrontMatter(values, body, problem, header)


def parse_flag(value: Value | None) -> bool | None:
    """Parse a boolean by its word (``TRUE_WORDS``, ``FALSE_WORDS``); ``None``: it is neither.

    A missing value is false.
    """
    word = (value or "").strip().casefold() if isinstance(value, str | None) else "?"
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def format_value(value: Value) -> str:
    """Format a value on one line: the items of a list or a mapping, separated by commas."""
    if isinstance(value, list):
        return ", ".join(map(format_value, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_value(inner)}" for key, inner in value.items())
    return value


class _Refused(Exception):
    """The header uses a YAML feature that is refused."""


def _parsed(header: str) -> tuple[dict[str, Value], str]:
    if len(header) > MAX_CHARS:
        return {}, f"the header is longer than {MAX_CHARS:,} characters"
    try:
        values = _built(yaml.parse(header, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        return {}, _said(error)
    except _Refused as error:
        return {}, str(error)
    except (yaml.YAMLError, ValueError) as error:
        return {}, f"the header is no YAML ({_short(error)})"
    if not isinstance(values, dict):
        return {}, "the header is no list of “key: value” lines"
    return values, ""


def _built(events: Iterator[Any]) -> Value:
    """Build the value from the parser's *events*, without recursion."""
    document: list[Value] = []
    # The open lists and mappings, and for each mapping the key that waits for a value.
    open_: list[tuple[Value, list[str]]] = [(document, [])]
    count = 0
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            open_.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        _check(event)
        count += 1
        if count > MAX_VALUES or len(open_) > MAX_DEPTH:
            what = f"has more than {MAX_VALUES:,} values"
            what = what if count > MAX_VALUES else f"is nested deeper than {MAX_DEPTH} levels"
            raise _Refused(f"the header {what}")
        value: Value = event.value if isinstance(event, yaml.ScalarEvent) else []
        if isinstance(event, yaml.MappingStartEvent):
            value = {}
        _put(open_[-1], value, event)
        if not isinstance(value, str):
            open_.append((value, []))
    if len(document) > 1:
        raise _Refused("the header is more than one document")
    return document[0] if document else {}


def _put(place: tuple[Value, list[str]], value: Value, event: Any) -> None:
    values, waiting = place
    if isinstance(values, list):
        values.append(value)
    elif isinstance(values, dict) and waiting:
        values[waiting.pop()] = value
    elif isinstance(values, dict):
        if not isinstance(value, str):
            raise _Refused(f"a key in line {event.start_mark.line + 2} of the header is no text")
        if value in values:
            message = f"the key “{value[:60]}” is there twice"
            raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)
        waiting.append(value)


def _check(event: Any) -> None:
    line = event.start_mark.line + 2
    if event.anchor is not None:
        raise _Refused(
            f"the header is no plain YAML in line {line} (a value that begins with & or * must "
            "stand in quotes)"
        )
    if getattr(event, "tag", None) is not None:
        raise _Refused(
            f"the header is no plain YAML in line {line} (a value that begins with ! must stand "
            "in quotes)"
        )


def _said(error: yaml.MarkedYAMLError) -> str:
    """Put the parser's error on one line, with the line number of the file."""
    where = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
    what = str(error.problem or error.context or error)
    if what.startswith("mapping values are not allowed"):
        # The most frequent mistake: "summary: Bees: our hives".
        what = "a value with a colon in it must stand in quotes"
    return f"the header is no YAML{where} ({_short(what)})"


def _short(error: object) -> str:
    return " ".join(str(error).split())[:120]
