"""The parts that the supervisor forks: Valkey, the web server, the workers, the scheduler."""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import uvicorn
from celery.apps.beat import Beat
from celery.apps.worker import Worker
from celery.concurrency import get_implementation
from celery.platforms import SecurityWarning
from celery.signals import beat_init, worker_ready
from celery.utils.imports import symbol_by_name
from django.conf import settings
from django.db import DatabaseError, connections, transaction
from django.urls import get_resolver
from django_celery_beat.models import IntervalSchedule, PeriodicTask, PeriodicTasks

from jenny.accounts.models import UpSpan
from jenny.accounts.models.activity import BEAT_SECONDS
from jenny.asgi import application
from jenny.celery import SCHEDULE, app, queue_threads
from jenny.runtime import valkey
from jenny.runtime.asgi_middleware import ProxyHeaders
from jenny.runtime.connection_timeouts import TimeoutProtocol
from jenny.runtime.supervisor import Part
from jenny.runtime.upgrade import let_go

# Rows with this description are ours; rows of an operator are left alone.
MARK = "Made by Jenny at its start."


def sync_schedule() -> None:
    """Create missing rows, update those that differ, delete those no longer in the table."""
    changed = False
    with transaction.atomic():
        ours = PeriodicTask.objects.filter(description=MARK)
        changed |= bool(ours.exclude(name__in=SCHEDULE).delete()[0])
        for name, (task, seconds, queue) in SCHEDULE.items():
            interval, _ = IntervalSchedule.objects.get_or_create(
                every=seconds, period=IntervalSchedule.SECONDS
            )
            # No expiry: it is a time of the sender's clock, and a worker whose clock is ahead by
            # more than the interval would drop every run.
            wanted = {"task": task, "interval": interval, "queue": queue, "description": MARK}
            row = PeriodicTask.objects.filter(name=name).first()
            if row is None:
                PeriodicTask.objects.create(name=name, **wanted)
                changed = True
            elif any(getattr(row, key) != value for key, value in wanted.items()):
                for key, value in wanted.items():
                    setattr(row, key, value)
                row.save()
                changed = True
    if changed:
        PeriodicTasks.update_changed()


log = logging.getLogger(__name__)


def record_uptime(part: str) -> None:
    """Beat for *part* from now on, in a thread of its own that ends with the process.

    A beat shows that the process runs and reaches the database; the health check and the queue's
    length show whether it works.
    """
    host = socket.gethostname()[:64]
    threading.Thread(target=_beat_uptime, args=(part, host), name=f"up {part}", daemon=True).start()


def _beat_uptime(part: str, host: str) -> None:
    over = threading.Event()
    while True:
        try:
            UpSpan.beat(part, host)
        except DatabaseError as error:
            # A gap will show it; the part works as well as it can.
            log.info("up.not_noted", extra={"part": part, "cause": type(error).__name__})
        finally:
            connections.close_all()
        over.wait(BEAT_SECONDS)


Ready = Callable[[], None]

# Niceness of the memory worker; 0 is the priority of everybody else.
_NICE = 5


def preload() -> None:
    """Import what the parts need before the fork, and close every connection."""
    app.loader.import_default_modules()
    app.finalize()
    # Celery names its parts by strings and imports each at its first use.
    get_implementation("threads")
    symbol_by_name(app.conf.beat_scheduler)
    symbol_by_name("celery.worker.consumer:Consumer")
    with app.connection_for_write() as connection:
        _ = app.amqp.queues, connection.transport
    _load_routes(get_resolver())
    let_go()


def _load_routes(resolver: Any) -> None:
    """Import the modules of every route, which Django otherwise does at the first request."""
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            _load_routes(pattern)


def _be_quiet() -> None:
    """Close standard input and discard what libraries print; logs go to standard error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def valkey_part(lock: IO[str]) -> Part:
    """Return the part of the embedded server.

    It is ended last, by SIGTERM, so that it saves its data.
    """
    data = settings.JENNY_DATA
    line = valkey.command(data)

    def run(_ready: Ready) -> None:
        _be_quiet()
        if sys.platform == "linux":
            # The data folder is not free until the server has ended. On other systems the kernel
            # does not end it with its parent, and an orphan would never release the lock.
            os.set_inheritable(lock.fileno(), True)  # noqa: FBT003 -- os has no keyword for it
        os.umask(valkey.FILE_MASK)
        os.execv(line[0], line)  # noqa: S606 -- our own command line

    return Part(
        "valkey",
        run,
        layer=0,
        dies_by=signal.SIGTERM,
        probe=lambda: valkey.answers(data),
        repair=lambda: valkey.set_broken_file_aside(data),
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Ready) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        application.end_streams()
        await super().shutdown(sockets)


def _behind_proxy() -> Any:
    """Return the application. A proxy is trusted only when the operator set an https origin."""
    if settings.JENNY_BEHIND_TLS:
        return ProxyHeaders(application, settings.JENNY_TRUSTED_PROXIES)
    return application


def web_part(listener: socket.socket) -> Part:
    """Return the web server's part. At its end, requests under way get two seconds."""

    def run(ready: Ready) -> None:
        _be_quiet()
        record_uptime("web")
        config = uvicorn.Config(
            _behind_proxy(),
            http=TimeoutProtocol,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
        asyncio.run(
            _Server(config, ready).serve(sockets=[listener]),
            loop_factory=config.get_loop_factory(),
        )

    return Part("web", run, grace_seconds=6)


def worker_parts() -> list[Part]:
    """Return one process per queue, each with its own threads."""
    return [
        _worker_part(queue, threads)
        for queue, threads in queue_threads(settings.JENNY_WORKER_THREADS).items()
    ]


def _worker_part(queue: str, threads: int) -> Part:
    def run(ready: Ready) -> None:
        _be_quiet()
        worker_ready.connect(lambda **_: ready(), weak=False)
        record_uptime(f"worker-{queue}")
        if queue == "memory":
            # A thousand Dream runs at once must not take the processor from chats.
            os.nice(_NICE)
        # It warns of pickled messages from strangers; only JSON is accepted here.
        warnings.simplefilter("ignore", SecurityWarning)
        worker = Worker(
            app=app,
            hostname=f"{queue}-{os.getpid()}@{socket.gethostname()}",
            queues=[queue],
            pool="threads",
            concurrency=threads,
            loglevel="INFO",
            quiet=True,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        worker.start()
        raise SystemExit(worker.exitcode or 0)

    return Part(f"worker-{queue}", run, grace_seconds=8)


def beat_part() -> Part:
    """Return the scheduler's part; in a process of its own it survives a killed worker."""

    def run(ready: Ready) -> None:
        _be_quiet()
        beat_init.connect(lambda **_: ready(), weak=False)
        record_uptime("beat")
        Beat(app=app, loglevel="INFO", quiet=True, schedule=os.devnull).run()

    return Part("beat", run, grace_seconds=4)


def ready_file(only: str) -> Path:
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"jenny-{only}-ready"  # noqa: S108 -- a mark only
