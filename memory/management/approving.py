"""The door to what waits for a person: listed, accepted, edited, rejected, never stored.

Every verdict is made under the workspace's lock, in which also a run stages: two tabs, or a run and
a page, come one after the other. A verdict given twice is given once.
"""

from jenny.accounts.models import Account, Workspace
from memory.approval.values import Hunk, Outcome, Prune
from memory.skills import Skill


def waiting(workspace: Workspace, *, run_id: int | None = None) -> tuple[Hunk, ...]:
    """What waits, file by file in the order of their places; of one run only, if asked."""
    raise NotImplementedError


def decided(
    workspace: Workspace, *, run_id: int | None = None, most: int = 200
) -> tuple[Hunk, ...]:
    """What was decided, newest first."""
    raise NotImplementedError


def count(workspace: Workspace) -> int:
    """How many hunks wait; one indexed query, no file is read."""
    raise NotImplementedError


def accept(
    workspace: Workspace,
    hunk_id: int,
    *,
    account: Account | None,
    text: str | None = None,
    seen: str | None = None,
) -> Outcome:
    """Write the hunk to its file, through the rules of every write. *text*: other words to write
    in its place (also what solves a conflict). *seen*: of a conflict, what the person was shown as
    standing there (``Hunk.now``); when something else stands there by now, nothing is written."""
    raise NotImplementedError


def reject(workspace: Workspace, hunk_id: int, *, account: Account | None) -> Outcome:
    """Reject this wording: it is not written, and Dream may not write it again. The entries it
    rests on are offered to Dream again, since their facts are in no file."""
    raise NotImplementedError


def never(workspace: Workspace, hunk_id: int, *, account: Account | None) -> Outcome:
    """Never store this: what the hunk would add becomes forgotten; of a removal, the line goes and
    is forgotten."""
    raise NotImplementedError


def void(workspace: Workspace) -> tuple[int, tuple[int, ...]]:
    """After a restore: nothing waits any more, and the entries behind it are offered again. How
    many hunks, and which entries."""
    raise NotImplementedError


# --- Skills that ask to be read in every conversation ----------------------------------------


def skills_waiting(workspace: Workspace) -> tuple[Skill, ...]:
    """Skills of Dream's with ``always: true`` that wait for the person's yes to just their text
    (``Skill.version``)."""
    raise NotImplementedError


def approve_skill(
    workspace: Workspace, path: str, version: str, *, account: Account | None
) -> Outcome:
    """Agree to that version of the skill at *path*; another text needs another yes."""
    raise NotImplementedError


def withdraw_skill(workspace: Workspace, path: str, *, account: Account | None) -> Outcome:
    """Take the yes back: from now on the skill is only listed."""
    raise NotImplementedError


# --- Runs that took much out of a file ---------------------------------------------------------


def large_prunes(workspace: Workspace) -> tuple[Prune, ...]:
    """Those that a person has not seen to yet, newest first."""
    raise NotImplementedError


def bring_all_back(workspace: Workspace, run_id: int, *, account: Account | None) -> Outcome:
    """Bring every line back that the run took out of the files named in its notice."""
    raise NotImplementedError


def dismiss(workspace: Workspace, run_id: int, *, account: Account | None) -> Outcome:
    """Leave them out, and let the notice go."""
    raise NotImplementedError
