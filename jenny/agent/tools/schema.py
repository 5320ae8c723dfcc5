"""A function's docstring and signature as the schema a model sees, and arguments read by it.

A docstring's text is the description; its lines ``name: words`` for a parameter's name are
that parameter's. Models send numbers as strings and lists as JSON text now and then: what can
be read without doubt is read, anything else is refused in words the model can act on.
"""

import dataclasses
import inspect
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from jenny.agent.errors import ToolProblem

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter, or one field of an object within a parameter."""

    name: str
    hint: Any
    help: str
    default: Any = inspect.Parameter.empty

    @property
    def is_required(self) -> bool:
        """Whether a call without it is refused."""
        return self.default is inspect.Parameter.empty


def describe(function: Callable[..., Any]) -> tuple[str, tuple[Field, ...]]:
    """The function's description and its parameters, the first (the context) left out."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    text, helps = _split(inspect.getdoc(function) or "", {each.name for each in parameters})
    fields = tuple(
        Field(each.name, hints[each.name], helps[each.name], each.default) for each in parameters
    )
    return text, fields


def schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    """The fields as a JSON schema of one object."""
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in fields},
        "required": [each.name for each in fields if each.is_required],
        "additionalProperties": False,
    }


def read(fields: tuple[Field, ...], arguments: Any) -> dict[str, Any]:
    """The arguments as the function takes them; ``ToolProblem`` names all that is wrong."""
    if not isinstance(arguments, Mapping):
        message = "The arguments are not an object. Send them as one JSON object."
        raise ToolProblem(message)
    values, problems = _object(fields, arguments)
    if problems:
        known = ", ".join(each.name for each in fields) or "none"
        message = f"Nothing was done: {'; '.join(problems)}. Parameters: {known}."
        raise ToolProblem(message)
    return values


def _split(text: str, names: set[str]) -> tuple[str, dict[str, str]]:
    """A docstring as its description and the words about each name."""
    helps = dict.fromkeys(names, "")
    description: list[str] = []
    current = ""
    for line in text.splitlines():
        match = re.match(r"(\w+): +(.*)", line)
        if match and match[1] in names:
            current, helps[match[1]] = match[1], match[2].strip()
        elif current and line.startswith(" "):
            helps[current] += f" {line.strip()}"
        else:
            current = ""
            description.append(line.strip())
    paragraphs = "\n".join(description).strip().split("\n\n")
    return "\n\n".join(_unwrapped(each) for each in paragraphs), helps


def _unwrapped(paragraph: str) -> str:
    """A paragraph in one line; lists keep a line an item."""
    return re.sub(r"\n(?!- )", " ", paragraph.strip())


def _property(field: Field) -> dict[str, Any]:
    made = _type(field.hint)
    if field.help:
        made["description"] = field.help
    if not field.is_required and isinstance(field.default, str | int | float | bool):
        made["default"] = field.default
    return made


def _type(hint: Any) -> dict[str, Any]:
    hint = _without_none(hint)
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        return {"type": "array", "items": _type(get_args(hint)[0])}
    if dataclasses.is_dataclass(hint):
        return schema(_fields_of(hint))
    return {"type": _NAMES[hint]}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in {Union, types.UnionType}:
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _fields_of(cls: Any) -> tuple[Field, ...]:
    hints = get_type_hints(cls)
    made = dataclasses.fields(cls)
    _, helps = _split(inspect.getdoc(cls) or "", {each.name for each in made})
    empty = inspect.Parameter.empty
    return tuple(
        Field(
            each.name,
            hints[each.name],
            helps[each.name],
            empty if each.default is dataclasses.MISSING else each.default,
        )
        for each in made
    )


def _object(
    fields: tuple[Field, ...], given: Mapping[str, Any], place: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """The values of one object, and what is wrong with them."""
    known = {each.name for each in fields}
    problems = [f"there is no parameter {place}{name}" for name in given if name not in known]
    values: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.name)
        if value is None:
            if field.is_required:
                problems.append(f"{place}{field.name} is missing")
            continue
        try:
            values[field.name] = _value(field.hint, value, f"{place}{field.name}")
        except ToolProblem as problem:
            problems.append(problem.sentence)
    return values, problems


def _value(hint: Any, value: Any, place: str) -> Any:
    """*value* as the hint wants it, or ``ToolProblem``."""
    hint = _without_none(hint)
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint), value, place)
    if get_origin(hint) is list:
        return _list(get_args(hint)[0], value, place)
    if dataclasses.is_dataclass(hint):
        value = _from_text(value)
        if not isinstance(value, Mapping):
            raise ToolProblem(f"{place} must be an object")
        values, problems = _object(_fields_of(hint), value, f"{place}.")
        if problems:
            raise ToolProblem("; ".join(problems))
        return hint(**values)  # type: ignore[operator]  # a dataclass, as asked above
    for candidate in _readings(hint, value):
        return candidate
    raise ToolProblem(f"{place} must be {_WORDS[hint]}")


def _one_of(choices: tuple[Any, ...], value: Any, place: str) -> Any:
    if value in choices:
        return value
    raise ToolProblem(f"{place} must be one of {', '.join(choices)}")


def _list(hint: Any, value: Any, place: str) -> list[Any]:
    value = _from_text(value)
    if not isinstance(value, list):
        raise ToolProblem(f"{place} must be a list")
    return [_value(hint, each, f"{place}[{number}]") for number, each in enumerate(value)]


def _readings(hint: Any, value: Any) -> Iterator[Any]:
    """The value as that plain type; nothing when it cannot be read as one without doubt."""
    if hint is str:
        if isinstance(value, str):
            yield value
        return
    if isinstance(value, str):
        value = _from_text(value.strip().lower())
    if hint is bool:
        if isinstance(value, bool):
            yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if hint is float:
            yield float(value)
        elif value == value // 1 and abs(value) < 2**53:
            yield int(value)


def _from_text(value: Any) -> Any:
    """What a JSON text stands for; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
