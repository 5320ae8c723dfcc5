"""Tools: functions a model may call.

``toolbox`` defines tools, describes them for the model and calls them. The tools themselves:
``file_tools`` (with ``text_match``), ``search_tools`` (with ``search_process``), ``sandbox``.
"""

from jenny.agent.tools.toolbox import (
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
