"""Dream's tools, and nothing else: one table, from which the prompt's list is made as well.

``hand`` is what they share and how they write; ``places`` says where; the tools themselves are in
``reading``, ``edits`` and ``finishing``.
"""

from jenny.agent.tools import Stop, Tool
from memory import skills
from memory.dream.tools.box import Desk, HandBox
from memory.dream.tools.edits import APPLY_PATCH, EDIT_FILE, MOVE_ENTRY, WRITE_FILE
from memory.dream.tools.finishing import FINISH, Reminder
from memory.dream.tools.hand import Hand
from memory.dream.tools.reading import READ_FILE
from memory.dream.tools.reviewing import FINISH_REVIEW, ReviewBox, without_entries

TOOLS: tuple[Tool, ...] = (READ_FILE, EDIT_FILE, APPLY_PATCH, WRITE_FILE, MOVE_ENTRY, FINISH)
REVIEW_TOOLS: tuple[Tool, ...] = (*without_entries(TOOLS[:-1]), FINISH_REVIEW)
WRITERS = frozenset(tool.name for tool in TOOLS) - {READ_FILE.name, FINISH.name}

__all__ = ["REVIEW_TOOLS", "TOOLS", "WRITERS", "Desk", "Hand", "HandBox", "Reminder", "toolbox"]


def toolbox(hand: Hand, *, watch: Stop | None = None, max_result_chars: int = 16_000) -> HandBox:
    """The box of a run, to be given to the loop."""
    desk = Desk(
        hand.workspace,
        watch=watch,
        max_result_chars=max_result_chars,
        shipped=skills.shipped_files(),
        hand=hand,
    )
    if hand.kind == "review":
        return ReviewBox(REVIEW_TOOLS, desk, writers=WRITERS)
    return HandBox(TOOLS, desk, writers=WRITERS)
