"""Many workspaces whose next run of Dream is due at once."""

import sqlite3
from contextlib import closing

from tests.model_server import Call, ModelServer, Request
from tests.support.stack import Stack

_MAKE = """
from django.utils import timezone
from jenny.accounts.models import Account, Workspace
from jenny.workspace.config import load_config
from memory.services import dream_scheduler
from memory.history import log
from memory.history.entries import NewHistoryEntry
from memory.models import DreamSchedule
owner = Account.objects.get(username={owner!r})
for number in range({first}, {last}):
    row = Workspace.make(owner, f"many-{{number:04}}")
    row.make_folder()
    log.append(row.root, [NewHistoryEntry("- [ephemeral] Rain.")])
    timing = dream_scheduler.parse_timing(load_config(row.root), "UTC")
    later = dream_scheduler.next_deadline(timing, timezone.now())
    DreamSchedule.objects.create(workspace=row, next_dream_at=later, timing=timing.as_json())
"""
_DUE = """
from django.utils import timezone
from memory.models import DreamSchedule
rows = DreamSchedule.objects.filter(workspace__slug__startswith="many-")
rows.update(next_dream_at=timezone.now())
"""
_AT_ONCE = 100
# One look of the dispatcher, as beat's row asks for it.
LOOK = "from memory import tasks; tasks.begin_due()"


def answer(model: ModelServer) -> None:
    """Let the model be done with each batch of one entry at once."""
    account = {"cursor": 1, "verdict": "not_kept", "reason": "passing"}

    def is_new(request: Request) -> bool:
        return has_batch(request) and b"tool_result" not in request.body

    model.always(is_new, Call("finish", {"entries": [account]}))
    model.always(has_batch, "Done.")


def has_batch(request: Request) -> bool:
    """Whether a request shows a batch of Dream's."""
    return b"## Conversation History" in request.body


def make(stack: Stack, owner: str, count: int) -> None:
    """Make so many workspaces, each with one entry that waits."""
    for first in range(0, count, _AT_ONCE):
        last = min(first + _AT_ONCE, count)
        stack.manage("shell", "-v", "0", "-c", _MAKE.format(owner=owner, first=first, last=last))


def come_due(stack: Stack) -> None:
    """All of them are due from now on."""
    stack.manage("shell", "-v", "0", "-c", _DUE)


def runs(stack: Stack) -> dict[str, list[str]]:
    """The runs of each of them, by their statuses; empty while one is not over."""
    query = (
        "select w.slug, r.status from memory_dreamrun r "
        "join accounts_workspace w on w.id = r.workspace_id "
        "where w.slug like 'many-%' order by r.id"
    )
    with closing(sqlite3.connect(stack.data.database, timeout=30)) as database:
        found: dict[str, list[str]] = {}
        for slug, status in database.execute(query):
            found.setdefault(slug, []).append(status)
        return found
