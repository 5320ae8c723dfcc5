"""The tools of a conversation's turn, as its kind of run has them."""

from pathlib import Path

from jenny.agent import sandbox
from jenny.agent.file_tools import FILE_TOOLS
from jenny.agent.runs import RUN_KINDS
from jenny.agent.sandbox import PYTHON_EXEC
from jenny.agent.search_tools import SEARCH_TOOLS
from jenny.agent.tools import Stop, Toolbox, ToolContext
from jenny.workspace.files import Actor, open_workspace

TOOLS = {**FILE_TOOLS, **SEARCH_TOOLS, PYTHON_EXEC.name: PYTHON_EXEC}


def toolbox_for(
    kind: str, root: Path, actor: Actor, watch: Stop, *, max_result_chars: int
) -> Toolbox:
    """The tools that a run of *kind* has, in the order of the table of run kinds.

    Where no sandbox can be had, ``python_exec`` is left out.
    """
    names = RUN_KINDS[kind].tools
    off = {PYTHON_EXEC.name} if PYTHON_EXEC.name in names and sandbox.unavailable() else set()
    context = ToolContext(open_workspace(root, actor), watch)
    tools = [TOOLS[name] for name in names if name not in off]
    return Toolbox(tools, context, max_result_chars=max_result_chars)
