"""Tools, their schemas, and the toolbox that calls them for a model.

A tool is a function whose first parameter is the ``ToolContext`` of the run; its docstring and
signature are its schema: the text is the description, lines ``name: words`` describe the parameter
of that name. It returns a ``ToolOutcome``, or raises ``ToolProblem``. Only ``Cancelled`` leaves
``Toolbox.call``.

Models sometimes send numbers as strings and lists as JSON text: an unambiguous value is accepted,
anything else is refused in words the model can act on.
"""

import contextlib
import dataclasses
import hashlib
import inspect
import json
import logging
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self, Union, get_args, get_origin, get_type_hints

from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.messages import clean
from jenny.workspace.errors import WorkspaceError, WriteRefused
from jenny.workspace.files import Workspace

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
        """True when a call without it is refused."""
        return self.default is inspect.Parameter.empty


def describe(function: Callable[..., Any]) -> tuple[str, tuple[Field, ...]]:
    """Return the function's description and its parameters without the first (the context)."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    text, helps = _split(inspect.getdoc(function) or "", {each.name for each in parameters})
    fields = tuple(
        Field(each.name, hints[each.name], helps[each.name], each.default) for each in parameters
    )
    return text, fields


def object_schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in fields},
        "required": [each.name for each in fields if each.is_required],
        "additionalProperties": False,
    }


def read_arguments(fields: tuple[Field, ...], arguments: Any) -> dict[str, Any]:
    """Return the arguments as the function takes them; ``ToolProblem`` names all errors."""
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
    """Split a docstring into its description and the words about each name."""
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
    """Join a paragraph to one line; lists keep one line per item."""
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
        return object_schema(_fields_of(hint))
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
    """Return the values of one object, and its errors."""
    known = {each.name for each in fields}
    problems = [f"there is no parameter {place}{name}" for name in given if name not in known]
    values: dict[str, Any] = {}
    for each in fields:
        value = given.get(each.name)
        if value is None:
            if each.is_required:
                problems.append(f"{place}{each.name} is missing")
            continue
        try:
            values[each.name] = _value(each.hint, value, f"{place}{each.name}")
        except ToolProblem as problem:
            problems.append(problem.message)
    return values, problems


def _value(hint: Any, value: Any, place: str) -> Any:
    """Convert *value* to the hint's type, or raise ``ToolProblem``."""
    if value is None and type(None) in get_args(hint):
        return None
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
    """Yield the value as that plain type; nothing when the conversion is ambiguous."""
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
            with contextlib.suppress(OverflowError):
                yield float(value)
        elif value == value // 1 and abs(value) < 2**53:
            yield int(value)


def _from_text(value: Any) -> Any:
    """Parse a JSON text; anything else stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


logger = logging.getLogger(__name__)

# In a refused outcome's data: the change that a person may still allow.
PROPOSED = "proposed"
SPILL_FOLDER = "output/tool-results"
# The number of the newest results kept there.
_SPILLED = 200
# The end's share of a shortened result: errors are at the end.
_TAIL_SHARE = 0.25
# Characters left free for the marker, so that the whole stays within the limit.
_MARKER_ROOM = 300


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call: words for the model, values for the program.

    *source* is the file of the content, if there is one. *ends_run*: the model is not asked again
    and no further call is executed.
    """

    ok: bool
    content: str
    data: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    ends_run: bool = False


class Stop(Protocol):
    """The part of the run's ``CancellationToken`` that a slow tool needs."""

    def check(self) -> None:
        """Raise ``Cancelled`` when the run should end."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The part of a file that the model has seen in this run."""

    version: str
    lines: int
    is_whole: bool


@dataclass(slots=True)
class ToolContext:
    """Shared by the tools of one run; *zone* is the person's, an IANA name.

    *view* returns what the model may see of a file's text, by its path; lines keep their numbers.
    *shipped* are read-only files that come with the program (bundled skills), by the path at which
    the model reads them; a file of the workspace at that path comes first. *search* looks through
    what the run may see (``memory.recall.Search``).
    """

    workspace: Workspace
    watch: Stop | None = None
    max_result_chars: int = 16_000
    zone: str = "UTC"
    # Time limit of one search or one run of code.
    seconds: float = 10.0
    shipped: Mapping[str, str] = field(default_factory=dict)
    search: Callable[..., Any] | None = None
    seen: dict[str, Seen] = field(default_factory=dict)
    view: Callable[[str, str], str] = lambda _path, text: text

    def visible(self, path: str, data: bytes) -> bytes:
        """Return what the model may see of a file's content.

        Raises:
            PathRefused: nothing of it.
        """
        text = data.decode("utf-8", "surrogateescape")
        shown = self.view(path, text)
        return data if shown == text else shown.encode("utf-8", "surrogateescape")

    def check(self) -> None:
        if self.watch is not None:
            self.watch.check()


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    fields: tuple[Field, ...]
    function: Callable[..., ToolOutcome]
    # The tool as the Messages API wants it; nobody changes it.
    schema: dict[str, Any]

    @classmethod
    def of(cls, function: Callable[..., ToolOutcome]) -> Self:
        description, fields = describe(function)
        schema = {
            "name": function.__name__,
            "description": description,
            "input_schema": object_schema(fields),
        }
        return cls(function.__name__, description, fields, function, schema)


class Toolbox:
    def __init__(self, tools: Sequence[Tool], context: ToolContext) -> None:
        self.context = context
        self._tools = {tool.name: tool for tool in tools}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the tools' names in their stable order."""
        return tuple(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools for the Messages API in their stable order."""
        return [tool.schema for tool in self._tools.values()]

    def call(self, name: str, arguments: Any) -> ToolOutcome:
        """Run a tool. Every error is in the outcome; only ``Cancelled`` is raised."""
        try:
            return self._shortened(name, self._called(name, arguments))
        except Cancelled:
            raise
        except (ToolProblem, WorkspaceError) as problem:
            change = problem.change if isinstance(problem, WriteRefused) else None
            data = {} if change is None else {PROPOSED: change}
            return ToolOutcome(ok=False, content=problem.message, data=data)
        except Exception:
            # The outermost edge of a tool call: an internal error must not end the turn.
            logger.exception("tool %s failed", name)
            return ToolOutcome(
                ok=False,
                content=f"{name} failed by a fault of the program, which is in its log. "
                "Do not repeat the call unchanged.",
            )

    def _called(self, name: str, arguments: Any) -> ToolOutcome:
        tool = self._tools.get(name)
        if tool is None:
            message = (
                f"There is no tool named {name[:80]!r}. The tools are: {', '.join(self.names)}."
            )
            raise ToolProblem(message)
        self.context.check()
        return tool.function(self.context, **read_arguments(tool.fields, arguments))

    def _shortened(self, name: str, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome within the context's limit; the whole is in a file that it names."""
        limit, text = self.context.max_result_chars, clean(outcome.content)
        if len(text) <= limit:
            return replace(outcome, content=text)
        path = outcome.source or self._spill(name, text)
        where = f"The whole is in {path}." if path else "The rest could not be kept."
        room = max(limit - _MARKER_ROOM, 0)
        tail = int(room * _TAIL_SHARE)
        head = room - tail
        cut = len(text) - room
        marker = f"\n\n[… {cut:,} of {len(text):,} characters are left out here. {where} …]\n\n"
        content = f"{text[:head]}{marker}{text[-tail:] if tail else ''}"
        return replace(outcome, content=content, data={**outcome.data, "whole": path})

    def _spill(self, name: str, text: str) -> str:
        """Save a long result in the workspace; return its path, empty when it cannot be saved."""
        data = text.encode()
        path = f"{SPILL_FOLDER}/{name}-{hashlib.sha256(data).hexdigest()[:12]}.txt"
        workspace = self.context.workspace
        try:
            workspace.write(path, data)
            kept = sorted(workspace.list(SPILL_FOLDER), key=lambda entry: -entry.modified)
            for old in kept[_SPILLED:]:
                if old.kind == "file" and old.path != path:
                    workspace.delete(old.path)
        except (WorkspaceError, OSError):
            logger.exception("a long result of %s could not be kept", name)
            return ""
        return path
