"""Selects the tools of a run by its kind (``jenny.agent.run_kinds``)."""

from pathlib import Path

from jenny.agent.clock import zone_of
from jenny.agent.run_kinds import RUN_KINDS
from jenny.agent.tools import Stop, Tool, Toolbox, ToolContext, sandbox
from jenny.agent.tools.chart_tool import PLOT
from jenny.agent.tools.file_tools import APPLY_PATCH, FILE_TOOLS
from jenny.agent.tools.search_tools import SEARCH_TOOLS
from jenny.workspace import config
from jenny.workspace.files import Actor, open_workspace
from memory import skills, suppression
from memory.recall import Search
from memory.tools import MEMORY_TOOLS
from wikis import project as wiki_project
from wikis.gardener import GARDENER_TOOLS
from wikis.project_tools import PROJECT_TOOLS

# The only table of tools, by the names in the rows of run kinds.
TOOLS: dict[str, Tool] = {
    **FILE_TOOLS,
    **SEARCH_TOOLS,
    APPLY_PATCH.name: APPLY_PATCH,
    PLOT.name: PLOT,
    **MEMORY_TOOLS,
    **PROJECT_TOOLS,
    **GARDENER_TOOLS,
    sandbox.PYTHON_EXEC.name: sandbox.PYTHON_EXEC,
}


def tools_of(kind: str) -> list[Tool]:
    """Return the tools in that kind's row, also those that this machine cannot run."""
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
    search: Search | None = None,
) -> Toolbox:
    """Build the toolbox of one run in the workspace at *root*, without what this machine cannot
    run.

    *run* names it in the write log, such as ``turn:12``; *zone* is the person's (an IANA name),
    used when the workspace has none; *search* is that of ``recall``. The tools of a *project* see
    only its folder.

    Raises:
        WorkspaceError: the workspace cannot be opened.
    """
    settings = config.load_config(root)
    if project:
        wiki_project.read_project(root, project)
    actor = Actor(RUN_KINDS[kind].actor, account=account, run=run)
    workspace = open_workspace(
        root, actor, within=wiki_project.folder_of(project) if project else ""
    )
    wanted = settings.agents.defaults.timezone or zone
    context = ToolContext(
        workspace,
        watch=watch,
        max_result_chars=settings.agents.defaults.max_tool_result_chars,
        zone=str(zone_of(wanted)),
        search=search,
        shipped={} if project else skills.shipped_files(),
        view=suppression.view(workspace.root),
    )
    names = RUN_KINDS[kind].tools
    if sandbox.PYTHON_EXEC.name in names and sandbox.unavailable():
        names = tuple(name for name in names if name != sandbox.PYTHON_EXEC.name)
    return Toolbox([TOOLS[name] for name in names], context)
