"""Tools: functions a model may call, and the box that calls them for it.

A tool is a function whose first parameter is the ``ToolContext`` of the run; its docstring
and signature are what the model sees (``schema``). It returns what it has to say, or
raises ``ToolProblem``. Nothing but ``Cancelled`` ever leaves ``Toolbox.call``.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from jenny.agent.errors import Cancelled, ToolProblem
from jenny.agent.messages import clean
from jenny.agent.tools import schema as tool_schema
from jenny.workspace.errors import WorkspaceError, WriteRefused
from jenny.workspace.files import Workspace

logger = logging.getLogger(__name__)

# In a refused outcome's data: the change that somebody may still agree to.
PROPOSED = "proposed"
SPILL_FOLDER = "output/tool-results"
# Of the results kept there, the newest so many.
_SPILLED = 200
# Of a result that is too long, this share of what is shown is its end: errors stand there.
_TAIL_SHARE = 0.25
# Left free for the marker, so that the whole stays within the limit.
_MARKER_ROOM = 300


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call gave: words for the model, values for the program.

    *source* is the path of the file that the content was read from, if it was.
    """

    ok: bool
    content: str
    data: dict[str, Any] = field(default_factory=dict)
    source: str = ""


class Stop(Protocol):
    """What a tool that takes its time asks of the run's ``Watch``."""

    def check(self) -> None:
        """Raise ``Cancelled`` when the run should end."""

    def wait(self, fileno: int, direction: Any, seconds: float) -> bool:
        """Wait until a file descriptor is ready; raise ``Cancelled`` when the run should end."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How much of a file the model has been shown in this run."""

    version: str
    lines: int
    is_whole: bool


@dataclass(slots=True)
class ToolContext:
    """What the tools of one run share; *zone* is the person's, an IANA name.

    *shipped* are read-only files that come with the program (bundled skills), by the path at
    which the model reads them; a file of the workspace at that path wins.
    """

    workspace: Workspace
    watch: Stop | None = None
    max_result_chars: int = 16_000
    zone: str = "UTC"
    # How long one search or one run of code may take.
    seconds: float = 10.0
    shipped: Mapping[str, str] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ``Cancelled`` when the run should end."""
        if self.watch is not None:
            self.watch.check()


@dataclass(frozen=True, slots=True)
class Tool:
    """One function a model may call."""

    name: str
    description: str
    fields: tuple[tool_schema.Field, ...]
    function: Callable[..., ToolOutcome]
    # The tool as the Messages API wants it; nobody changes it.
    schema: dict[str, Any]

    @classmethod
    def of(cls, function: Callable[..., ToolOutcome]) -> Self:
        """The tool that *function* is."""
        description, fields = tool_schema.describe(function)
        schema = {
            "name": function.__name__,
            "description": description,
            "input_schema": tool_schema.schema(fields),
        }
        return cls(function.__name__, description, fields, function, schema)


class Toolbox:
    """The tools of one run."""

    def __init__(self, tools: Sequence[Tool], context: ToolContext) -> None:
        self.context = context
        self._tools = {tool.name: tool for tool in tools}

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in their stable order."""
        return tuple(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as the Messages API wants them, in their stable order."""
        return [tool.schema for tool in self._tools.values()]

    def call(self, name: str, arguments: Any) -> ToolOutcome:
        """Run a tool. Whatever goes wrong is said in the outcome; only ``Cancelled`` is raised."""
        try:
            return self._shortened(name, self._called(name, arguments))
        except Cancelled:
            raise
        except (ToolProblem, WorkspaceError) as problem:
            change = problem.change if isinstance(problem, WriteRefused) else None
            data = {} if change is None else {PROPOSED: change}
            return ToolOutcome(ok=False, content=problem.sentence, data=data)
        except Exception:
            # The outermost edge of a tool call: a fault of ours must not end the turn.
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
        return tool.function(self.context, **tool_schema.read(tool.fields, arguments))

    def _shortened(self, name: str, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome within the context's limit; the whole lies in a file that it names."""
        limit, text = self.context.max_result_chars, clean(outcome.content)
        if len(text) <= limit:
            return ToolOutcome(outcome.ok, text, outcome.data, outcome.source)
        path = outcome.source or self._spill(name, text)
        where = f"The whole is in {path}." if path else "The rest could not be kept."
        room = max(limit - _MARKER_ROOM, 0)
        tail = int(room * _TAIL_SHARE)
        head = room - tail
        cut = len(text) - room
        marker = f"\n\n[… {cut:,} of {len(text):,} characters are left out here. {where} …]\n\n"
        content = f"{text[:head]}{marker}{text[-tail:] if tail else ''}"
        return ToolOutcome(outcome.ok, content, {**outcome.data, "whole": path}, outcome.source)

    def _spill(self, name: str, text: str) -> str:
        """Keep a long result in the workspace; its path, or nothing when it cannot be kept."""
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
