"""Tools: functions a model may call.

``box`` says what a tool is and calls it; ``schema`` is what the model sees of one. The tools
themselves: ``file_tools``, ``patch_tool``, ``search_tools``, ``sandbox``.
"""

from jenny.agent.tools.box import (
    PROPOSED,
    SPILL_FOLDER,
    Seen,
    Stop,
    Tool,
    Toolbox,
    ToolContext,
    ToolOutcome,
)

__all__ = [
    "PROPOSED",
    "SPILL_FOLDER",
    "Seen",
    "Stop",
    "Tool",
    "ToolContext",
    "ToolOutcome",
    "Toolbox",
]
