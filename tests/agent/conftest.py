"""A workspace with tools on it, as a turn of a chat has them."""

from pathlib import Path
from typing import Any, Protocol

import pytest

from jenny.agent.tools import Toolbox, ToolContext, ToolOutcome
from jenny.agent.tools.chart_tool import PLOT
from jenny.agent.tools.file_tools import APPLY_PATCH, FILE_TOOLS
from jenny.agent.tools.sandbox import PYTHON_EXEC
from jenny.agent.tools.search_tools import SEARCH_TOOLS
from jenny.workspace.files import Actor, open_workspace
from tests.agent.asking import model, turn

__all__ = ["box", "call", "context", "model", "root", "turn"]


class Call(Protocol):
    """Calls a tool by name."""

    def __call__(self, name: str, **arguments: Any) -> ToolOutcome: ...


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace's folder with a few files, beside a folder that nobody may reach."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "MEMORY.md").write_text("- Bees since 2024\n- Hive two is weak\n")
    (folder / "USER.md").write_text("# User\n\nLikes “short” answers.\n")
    outside = tmp_path / "workspace_evil"
    outside.mkdir()
    (outside / "secret.md").write_text("secret\n")
    return folder


@pytest.fixture
def context(root: Path) -> ToolContext:
    """What the tools of one turn share."""
    return ToolContext(open_workspace(root, Actor("chat", run="turn:1")))


@pytest.fixture
def box(context: ToolContext) -> Toolbox:
    """All tools of the agent."""
    tools = [*FILE_TOOLS.values(), *SEARCH_TOOLS.values(), APPLY_PATCH, PLOT, PYTHON_EXEC]
    return Toolbox(tools, context)


@pytest.fixture
def call(box: Toolbox) -> Call:
    """Call a tool as the loop does."""

    def call_tool(name: str, **arguments: Any) -> ToolOutcome:
        return box.call(name, arguments)

    return call_tool
