"""The parts that the supervisor forks: Valkey, the web server, the workers, the scheduler."""

import asyncio
import os
import signal
import socket
import sys
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
from django.urls import get_resolver

from jenny import valkey
from jenny.asgi import application
from jenny.celery import app, queue_threads
from jenny.management import pulse
from jenny.management.database import let_go
from jenny.patience import PatientProtocol
from jenny.processes import Part

Ready = Callable[[], None]

# How far the memory's worker stands back where processors are short; 0 is as everybody else.
_NICE = 5

# A proxy is believed about the client's address only from a private network, and only when
# the operator named an https origin.
PRIVATE_NETWORKS = [
    "127.0.0.0/8",
    "::1",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
]


def preload() -> None:
    """Import what the parts need, before they are forked, and let go of every connection."""
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
    """Import the modules of every route, which Django does at the first request otherwise."""
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            _load_routes(pattern)


def _be_quiet() -> None:
    """Close standard input, and send what libraries print nowhere; logs go to standard error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def valkey_part(lock: IO[str]) -> Part:
    """The embedded server. It ends last, and by SIGTERM, so that it writes what it holds."""
    data = settings.JENNY_DATA
    line = valkey.command(data)

    def run(_ready: Ready) -> None:
        _be_quiet()
        if sys.platform == "linux":
            # Until it is gone the data folder is not free. Elsewhere the kernel does not end
            # it with its parent, and a lock in an orphan's hands would never be free again.
            os.set_inheritable(lock.fileno(), True)  # noqa: FBT003 -- os has no keyword for it
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
    """Says when it serves."""

    def __init__(self, config: uvicorn.Config, ready: Ready) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        application.end_streams()
        await super().shutdown(sockets)


def web_part(listener: socket.socket) -> Part:
    """The web server. Requests that it serves when it is told to end get two seconds."""

    def run(ready: Ready) -> None:
        _be_quiet()
        pulse.start("web")
        config = uvicorn.Config(
            application,
            http=PatientProtocol,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=settings.JENNY_BEHIND_TLS,
            forwarded_allow_ips=PRIVATE_NETWORKS,
            timeout_graceful_shutdown=2,
        )
        asyncio.run(
            _Server(config, ready).serve(sockets=[listener]),
            loop_factory=config.get_loop_factory(),
        )

    return Part("web", run, grace_seconds=6)


def worker_parts() -> list[Part]:
    """One process a queue, each with its own threads."""
    return [
        _worker_part(queue, threads)
        for queue, threads in queue_threads(settings.JENNY_WORKER_THREADS).items()
    ]


def _worker_part(queue: str, threads: int) -> Part:
    def run(ready: Ready) -> None:
        _be_quiet()
        worker_ready.connect(lambda **_: ready(), weak=False)
        pulse.start(f"worker-{queue}")
        if queue == "memory":
            # A thousand Dreams that are due at once leave the processor to whoever chats.
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
    """The scheduler, as a process of its own: inside a worker it outlives a killed worker."""

    def run(ready: Ready) -> None:
        _be_quiet()
        beat_init.connect(lambda **_: ready(), weak=False)
        pulse.start("beat")
        Beat(app=app, loglevel="INFO", quiet=True, schedule=os.devnull).run()

    return Part("beat", run, grace_seconds=4)


def ready_file(only: str) -> Path:
    """What a container's health check looks for (``docker-compose.yml``)."""
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"jenny-{only}-ready"  # noqa: S108 -- a mark only
