"""Dream's tools in one table. They share a ``DreamToolContext``."""

from jenny.agent.tools import Stop, Tool
from memory import skills, suppression
from memory.dream.tools.dream_toolbox import DreamToolbox, DreamToolContext
from memory.dream.tools.edits import APPLY_PATCH, EDIT_FILE, MOVE_ENTRY, WRITE_FILE
from memory.dream.tools.finish import FINISH, Reminder
from memory.dream.tools.read import READ_FILE
from memory.dream.tools.review_tools import FINISH_REVIEW, ReviewBox, without_entries
from memory.dream.tools.write_session import WriteSession

TOOLS: tuple[Tool, ...] = (READ_FILE, EDIT_FILE, APPLY_PATCH, WRITE_FILE, MOVE_ENTRY, FINISH)
REVIEW_TOOLS: tuple[Tool, ...] = (*without_entries(TOOLS[:-1]), FINISH_REVIEW)
WRITERS = frozenset(tool.name for tool in TOOLS) - {READ_FILE.name, FINISH.name}

__all__ = [
    "REVIEW_TOOLS",
    "TOOLS",
    "WRITERS",
    "DreamToolContext",
    "DreamToolbox",
    "Reminder",
    "WriteSession",
    "toolbox",
]


def toolbox(
    session: WriteSession, *, watch: Stop | None = None, max_result_chars: int = 16_000
) -> DreamToolbox:
    """The box of a run, to be given to the loop."""
    ctx = DreamToolContext(
        session.workspace,
        watch=watch,
        max_result_chars=max_result_chars,
        shipped=skills.shipped_files(),
        session=session,
        view=suppression.view(session.workspace.root),
    )
    if session.kind == "review":
        return ReviewBox(REVIEW_TOOLS, ctx, writers=WRITERS)
    return DreamToolbox(TOOLS, ctx, writers=WRITERS)
