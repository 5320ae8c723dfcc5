"""Enqueues jobs, runs them, and recovers them when their process has died.

An app registers its kinds of job (``register_job_kind``) when it loads, and starts one with
``begin_job``; its task calls ``run_job`` with the work.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models.functions import Now

from jenny.accounts.errors import JobLost
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.models.jobs import BEAT_SECONDS
from jenny.broker import enqueue
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

_DIED = "The process that did it died. "
_BROKE = "It broke off by an error of Jenny's own; the log has it. "
_LOOK = "Look at what is there, then ask for it again."


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    It has the name of its task, which gets the job's number; the title of its page; the link from
    there; the sentence for a job that died or broke; and a function that is called after a dead one
    was ended.
    """

    task: str
    title: str
    home: tuple[str, str] = ("/settings/", "Settings")
    after_death: Callable[[Job], str] = lambda _job: _LOOK
    notify: Callable[[Job], None] = lambda _job: None


@dataclass(frozen=True)
class JobEnd:
    """The result of a job.

    ``result`` may have ``links``, a label and href each, the most likely next page first; and
    ``lists``, a title and rows each.
    """

    message: str
    result: dict[str, Any] = field(default_factory=dict)


KINDS: dict[str, JobKind] = {}


def register_job_kind(kind: str, about: JobKind) -> None:
    """Register a kind of job; a repeated call replaces it."""
    KINDS[kind] = about


def begin_job(
    workspace: Workspace, account: Account | None, kind: str, arguments: dict[str, Any]
) -> Job:
    """Create a job and enqueue it after the commit.

    Returns the workspace's open job if there is one (``is_new`` tells).
    """
    job = Job.ask(workspace, account, kind, arguments)
    if job.is_new:
        transaction.on_commit(lambda: send_job(job))
    return job


def send_job(job: Job) -> bool:
    """Enqueue it. ``False``: there is no broker, and it is enqueued again later."""
    rows = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED)
    about = KINDS.get(job.kind)
    if about is None:
        return False
    is_sent = enqueue(about.task, job.pk)
    rows.update(sent_at=Now() if is_sent else None)
    return is_sent


def run_job(pk: int, work: Callable[[Job], JobEnd]) -> Job | None:
    """Claim a job and run it; ``None``: another worker has it, it is over, or it was lost."""
    job = Job.objects.select_related("workspace__owner").filter(pk=pk).first()
    if job is None or not job.claim():
        return None
    with _beating(job):
        try:
            ended = work(job)
        except JobLost:
            log.warning("job.lost", extra={"job": pk, "kind": job.kind})
            return None
        except WorkspaceError as error:
            job.end(Job.State.FAILED, error.message)
        except Exception:  # the task's outermost edge: a person is waiting for an answer
            log.exception("job.broke", extra={"job": pk, "kind": job.kind})
            job.end(Job.State.FAILED, _BROKE + _after_death(job))
        else:
            job.end(Job.State.DONE, ended.message, ended.result)
    return job


def recover_jobs() -> None:
    """End jobs whose process has died, and enqueue again what no worker ever got."""
    for job in list(Job.dead()[:50]):
        try:
            if job.take_over(_DIED + _after_death(job)):
                log.error("job.interrupted", extra={"job": job.pk, "kind": job.kind})
                _tell(job)
        except Exception:  # one job's error must not stop the others
            log.exception("job.reap_broke", extra={"job": job.pk})
    for job in list(Job.unsent()[:50]):
        # The update succeeds for one process only, so two of them do not enqueue it twice.
        if Job.unsent().filter(pk=job.pk).update(sent_at=Now()) and not send_job(job):
            return


def _tell(job: Job) -> None:
    about = KINDS.get(job.kind)
    if about is not None:
        job.refresh_from_db()
        about.notify(job)


def _after_death(job: Job) -> str:
    about = KINDS.get(job.kind)
    try:
        return about.after_death(job) if about else _LOOK
    except WorkspaceError as error:
        return error.message


@contextmanager
def _beating(job: Job) -> Iterator[None]:
    """Beat while the block runs, also during a long step."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(BEAT_SECONDS):
                try:
                    if not job.beat():
                        return
                except DatabaseError as error:
                    log.warning("job.beat_missed", extra={"cause": type(error).__name__})
                finally:
                    connections.close_all()
        finally:
            connections.close_all()

    thread = threading.Thread(target=beat, name=f"job {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=10)
