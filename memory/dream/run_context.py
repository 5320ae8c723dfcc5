"""What every step of a run stands on: its job, what is known of it, and whether it is still its
holder's."""

import contextlib
import logging
import time
from collections.abc import Iterator

from jenny.agent.errors import Cancelled
from jenny.workspace import paths, transactions
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor
from memory.dream import unexpected_changes
from memory.dream.run_input import BROKE, LeaseLost, RunInput, RunResult

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
        self.rest: unexpected_changes.FilesBefore | None = None

    @contextlib.contextmanager
    def mine(self) -> Iterator[None]:
        """The workspace's lock, while the run is its holder's. Raises ``Lost``."""
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
