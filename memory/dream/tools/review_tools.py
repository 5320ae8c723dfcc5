"""Dream's tools as a review pass has them: the same ones, but a review was shown no entries, so no
call names any. What a line rests on passes on to what replaces it
(``memory.dream.tools.write_session``).
"""

from collections.abc import Sequence
from functools import partial

from jenny.agent.tools import Tool, ToolOutcome
from jenny.agent.tools.toolbox import object_schema
from memory.dream.tools.dream_toolbox import DreamToolbox, DreamToolContext

_SOURCES = "sources"
# Not asked for, and not held against a model that sends it all the same.
_PASSED_BY = frozenset({_SOURCES, "entries"})


class ReviewBox(DreamToolbox):
    """The toolbox of a review pass."""

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool, as every toolbox does."""
        if isinstance(arguments, dict):
            arguments = {key: value for key, value in arguments.items() if key not in _PASSED_BY}
        return super().call(name, arguments)


def without_entries(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools without the parameter that names entries."""
    return tuple(_without(tool) for tool in tools)


def finish(context: DreamToolContext) -> ToolOutcome:
    """End the review. Call it last, once; at once when nothing is to be done."""
    context.session.has_finished = True
    return ToolOutcome(ok=True, content="The review is over.", ends_run=True)


def _without(tool: Tool) -> Tool:
    fields = tuple(field for field in tool.fields if field.name != _SOURCES)
    if len(fields) == len(tool.fields):
        return tool
    return Tool(
        name=tool.name,
        description=tool.description,
        fields=fields,
        function=partial(tool.function, sources=[]),
        schema={**tool.schema, "input_schema": object_schema(fields)},
    )


FINISH_REVIEW = Tool.of(finish)
