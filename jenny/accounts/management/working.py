"""Jobs: handed to the workers, carried out, found again when their process has died.

An app that has a kind of job registers it (``register``) when it loads, and asks for one with
``begin``; its task calls ``carry_out`` with what is to be done.
"""

import functools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import redis
from celery import Task, current_app
from django.conf import settings
from django.db import DatabaseError, connections, transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from jenny.accounts.errors import JobLost
from jenny.accounts.models import Account, Job, Workspace
from jenny.accounts.models.jobs import BEAT_SECONDS
from jenny.workspace.errors import WorkspaceError

log = logging.getLogger(__name__)

_DIED = "The process that did it died. "
_BROKE = "It broke off by an error of Jenny's own; the log has it. "
_LOOK = "Look at what is there, then ask for it again."


@dataclass(frozen=True)
class Kind:
    """A kind of job: the task that carries it out (by name, with the job's number), what its page
    is called, where a person goes from there, what is so when its process has died or it
    broke (a sentence), and who is told when a dead one was ended."""

    task: str
    title: str
    home: tuple[str, str] = ("/settings/", "Settings")
    after_death: Callable[[Job], str] = lambda _job: _LOOK
    tell: Callable[[Job], None] = lambda _job: None


@dataclass(frozen=True)
class Ended:
    """What came of a job. ``result`` may have ``links``: label and href each, the first one being
    what a person most likely wants next; and ``lists``: title and rows each."""

    sentence: str
    result: dict[str, Any] = field(default_factory=dict)


KINDS: dict[str, Kind] = {}


def register(kind: str, about: Kind) -> None:
    """Make a kind of job known. Again: replaces it."""
    KINDS[kind] = about


def begin(
    workspace: Workspace, account: Account | None, kind: str, arguments: dict[str, Any]
) -> Job:
    """Ask for a job, and hand it to the workers as soon as its row is stored for good. One that
    the workspace has open already is given instead (``is_new`` tells)."""
    job = Job.ask(workspace, account, kind, arguments)
    if job.is_new:
        transaction.on_commit(lambda: send(job))
    return job


def send(job: Job) -> bool:
    """Hand it over. ``False``: there is no broker, and it is sent again later."""
    rows = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED)
    about = KINDS.get(job.kind)
    if about is None:
        return False
    task: Task = current_app.tasks[about.task]
    try:
        _redis().ping()
        task.apply_async((job.pk,), retry=False)
    except (redis.RedisError, OperationalError) as error:
        log.warning("task.not_sent", extra={"task": about.task, "cause": type(error).__name__})
        rows.update(sent_at=None)
        return False
    rows.update(sent_at=Now())
    return True


def carry_out(pk: int, work: Callable[[Job], Ended]) -> Job | None:
    """Claim a job and do it; ``None``: somebody has it, it is over, or it was lost meanwhile."""
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
            job.end(Job.State.FAILED, error.sentence)
        except Exception:  # the task's outermost edge: a person is waiting for an answer
            log.exception("job.broke", extra={"job": pk, "kind": job.kind})
            job.end(Job.State.FAILED, _BROKE + _after_death(job))
        else:
            job.end(Job.State.DONE, ended.sentence, ended.result)
    return job


def reap() -> None:
    """End jobs whose process has died, and send again what no worker ever got."""
    for job in list(Job.dead()[:50]):
        try:
            if job.take_over(_DIED + _after_death(job)):
                log.error("job.interrupted", extra={"job": job.pk, "kind": job.kind})
                _tell(job)
        except Exception:  # one job's trouble is not the others'
            log.exception("job.reap_broke", extra={"job": job.pk})
    for job in list(Job.unsent()[:50]):
        # Only the one that moves the stamp sends it, so two reapers do not send it twice.
        if Job.unsent().filter(pk=job.pk).update(sent_at=Now()) and not send(job):
            return


def _tell(job: Job) -> None:
    about = KINDS.get(job.kind)
    if about is not None:
        job.refresh_from_db()
        about.tell(job)


def _after_death(job: Job) -> str:
    about = KINDS.get(job.kind)
    try:
        return about.after_death(job) if about else _LOOK
    except WorkspaceError as error:
        return error.sentence


@contextmanager
def _beating(job: Job) -> Iterator[None]:
    """Beat while the block lasts, also through a step that takes long."""
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


@functools.cache
def _redis() -> redis.Redis:
    """This process's client; its time limits keep a dead server from holding a request."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=2,
        socket_connect_timeout=1,
        retry=Retry(NoBackoff(), 0),
    )
