"""The tools of a run, by its kind (``jenny.agent.runs``)."""

from pathlib import Path

from jenny.agent.runs import RUN_KINDS
from jenny.agent.tools import Stop, Tool, Toolbox, ToolContext, sandbox
from jenny.agent.tools.file_tools import FILE_TOOLS
from jenny.agent.tools.patch_tool import APPLY_PATCH
from jenny.agent.tools.search_tools import SEARCH_TOOLS
from jenny.chat.prompt import zone_of
from jenny.workspace import config
from jenny.workspace.files import Actor, open_workspace
from memory import skills
from memory.tools import MEMORY_TOOLS
from wikis.gardener.tools import GARDENER_TOOLS
from wikis.project import about
from wikis.project.tools import PROJECT_TOOLS

# The one table of tools: what a name in a run kind's row stands for.
TOOLS: dict[str, Tool] = {
    **FILE_TOOLS,
    **SEARCH_TOOLS,
    APPLY_PATCH.name: APPLY_PATCH,
    **MEMORY_TOOLS,
    **PROJECT_TOOLS,
    **GARDENER_TOOLS,
    sandbox.PYTHON_EXEC.name: sandbox.PYTHON_EXEC,
}


def tools_of(kind: str) -> list[Tool]:
    """The tools in that kind's row, whether this machine can give them or not."""
    return [TOOLS[name] for name in RUN_KINDS[kind].tools]


def toolbox_for(
    kind: str,
    root: Path,
    *,
    run: str,
    watch: Stop | None = None,
    account: int | None = None,
    zone: str = "",
    project: str = "",
) -> Toolbox:
    """The tools of one run in the workspace at *root*; what this machine cannot give is left out.

    *run* names it for the log of writes, such as ``turn:12``; *zone* is the person's (an IANA
    name), unless the workspace has its own. Those of a *project* see its folder and nothing else.

    Raises:
        WorkspaceError: the workspace cannot be opened.
    """
    settings = config.load(root)
    if project:
        about.project(root, project)
    actor = Actor(RUN_KINDS[kind].actor, account=account, run=run)
    workspace = open_workspace(root, actor, within=about.folder_of(project) if project else "")
    wanted = settings.get("agents.defaults.timezone") or zone
    context = ToolContext(
        workspace,
        watch=watch,
        max_result_chars=settings.get("agents.defaults.maxToolResultChars"),
        zone=str(zone_of(wanted)),
        shipped={} if project else skills.shipped_files(),
    )
    names = RUN_KINDS[kind].tools
    if sandbox.PYTHON_EXEC.name in names and sandbox.unavailable():
        names = tuple(name for name in names if name != sandbox.PYTHON_EXEC.name)
    return Toolbox([TOOLS[name] for name in names], context)
