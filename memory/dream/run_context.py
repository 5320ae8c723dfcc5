"""State shared by the steps of a run: its input, its result, the lease check, and a check of
files.

Dream's tools cannot reach the files that a run may not change, and the write rules would refuse
it; the check rests on neither. Changes of a person or a chat in the same minutes look the same, so
it notes what it finds and decides nothing about the entries.
"""

import contextlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled
from jenny.agent.provider import Provider
from jenny.agent.tokens import Usage
from jenny.workspace import names, paths, transactions
from jenny.workspace.bulk_replace_journal import MoveSignature, move_signature
from jenny.workspace.config import Config
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory import files
from memory.approvals.values import ProposalStore
from memory.dream.batch import RunStore
from memory.dream.model_turn import TurnResult
from memory.dream.outcome import Alarm
from memory.dream.values import Attempt, Batch, Decision, ReviewResult, Trigger
from memory.history import log

BROKE = "Something in Jenny itself broke; the log has the details."


class LeaseLost(Exception):
    """The run was taken over: whoever did so sees to the rest, and nothing more is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """The input of a run.

    *run*: its name in the write log. *snapshot* takes one and says what came of it (id, sentence).
    *model* says which one is asked, or raises ``AgentError``. *used_today*: tokens of the
    workspace's runs of the day so far. *proposals*: where writes wait for a person's approval.
    *rests_on*: the entries that lines rest on, by the lines' digests.
    """

    root: Path
    run: str
    trigger: Trigger
    store: RunStore
    config: Config
    watch: CancellationToken
    snapshot: Callable[[], tuple[str, str]]
    model: Callable[[], Provider]
    used_today: int = 0
    zone: str = ""
    proposals: ProposalStore | None = None
    rests_on: Callable[[Sequence[str]], tuple[int, ...]] = lambda _: ()


@dataclass(slots=True, kw_only=True)
class RunResult:
    """The result of a run; it grows as the run goes on."""

    decision: Decision = field(default_factory=lambda: Decision(status="failed", why=BROKE))
    batch: Batch = field(default_factory=Batch)
    attempts: tuple[Attempt, ...] = ()
    cursor_from: int | None = None
    cursor_to: int | None = None
    snapshot: str = ""
    commits: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    turn: TurnResult | None = None
    review: ReviewResult | None = None
    alarms: tuple[Alarm, ...] = ()
    standing: tuple[Alarm, ...] = ()
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    seconds: float = 0.0
    is_capped: bool = False
    report: dict[str, Any] = field(default_factory=dict)


# Of a folder that somebody filled with files, so many are looked at.
_MOST = 20_000
_NAMED = 5
# What the pipeline itself writes while a run is under way.
_OWN = frozenset({*files.BY_PATH, log.PATH})
_OWN_FOLDERS = frozenset({"memory/archive"})


class UnexpectedChange(WorkspaceError):
    """Files changed during a run that no run may change."""


@dataclass(frozen=True, slots=True)
class FilesBefore:
    """The files that a run may not change, as they stood."""

    signatures: dict[str, MoveSignature]


def record_files(root: Path) -> FilesBefore:
    """Look at everything below ``memory/`` that is no run's, the instructions and the guide."""
    found: dict[str, MoveSignature] = {}
    for path in (files.INSTRUCTIONS, files.GUIDE):
        _add(found, root, path)
    for folder, folders, here in os.walk(root / "memory"):
        inner = os.path.relpath(folder, root)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and f"{inner}/{name}" not in _OWN_FOLDERS
        ]
        for name in here:
            path = f"{inner}/{name}"
            if not name.startswith(".") and path not in _OWN and len(found) < _MOST:
                _add(found, root, path)
    return FilesBefore(found)


def find_unexpected_changes(root: Path, before: FilesBefore) -> None:
    """Look again.

    Raises:
        Strayed: something changed, came or went that no run may touch.
    """
    after = record_files(root).signatures
    every = sorted(before.signatures.keys() | after.keys())
    changed = [path for path in every if before.signatures.get(path) != after.get(path)]
    if not changed:
        return
    shown = ", ".join(names.shown(path) for path in changed[:_NAMED])
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    message = (
        f"While Dream ran, {shown}{more} changed, which no run may touch. Nothing that Dream wrote "
        "is on record there. If nobody else did it, compare with the snapshot before the run."
    )
    raise UnexpectedChange(message)


def _add(found: dict[str, MoveSignature], root: Path, path: str) -> None:
    try:
        status = os.lstat(root / path)
    except OSError:
        return
    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
        # Without the change time: a backup program that links to a file does not change it.
        found[path] = move_signature(status)


logger = logging.getLogger(__name__)

_STEPS = {
    "snapshot": "There is no snapshot of the state before this run.",
    "decision": "That these entries came back was not noted.",
    "review": "The review pass broke off.",
    "version": "No version was made.",
    "archive": "What went to the archive could not be looked up.",
    "rest": "Whether other files changed meanwhile could not be looked up.",
    "report": "The report could not be made.",
    "history": "The history was not shortened.",
    "counters": "The counters were not kept.",
}


class RunContext:
    """One run, as its steps share it."""

    def __init__(self, job: RunInput) -> None:
        self.job = job
        self.root = paths.real_root(job.root)
        self.done = RunResult()
        self.actor = Actor("pipeline", run=job.run)
        self.began = time.time()
        # What no run may change, as it stood before the model was asked.
        self.rest: FilesBefore | None = None

    @contextlib.contextmanager
    def mine(self) -> Iterator[None]:
        """The workspace's lock, while the run is its holder's. Raises ``LeaseLost``."""
        with transactions.lock_workspace(self.root):
            if not self.job.store.may_write():
                raise LeaseLost
            yield

    def fence(self) -> None:
        """Raise ``Cancelled`` when the run is not its holder's any more."""
        if not self.job.store.may_write():
            raise Cancelled("lost")

    @contextlib.contextmanager
    def guarded(self, step: str) -> Iterator[None]:
        """A step whose failure is told and stops nothing else."""
        try:
            yield
        except (LeaseLost, Cancelled):
            raise
        except WorkspaceError as error:
            logger.warning("dream.step_failed", extra={"run": self.job.run, "step": step})
            self.done.notes.append(error.message)
        except Exception:
            logger.exception("dream.step_broke", extra={"run": self.job.run, "step": step})
            self.done.notes.append(f"{_STEPS[step]} {BROKE}")
