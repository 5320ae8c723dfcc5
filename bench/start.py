"""From the command to ready, the second time, and the memory of all processes then."""

import http.client
import json
import subprocess
import time
from pathlib import Path

import psutil

from bench import peers
from bench.harness import Bar, Row, median, take_turns
from bench.instance import Visitor, launch, running, scratch_folder
from bench.scripted import Model
from tests.support.stack import Stack
from tests.support.waiting import free_port, wait_until

RUNS = 5
MEGABYTE = 1_000_000


def rows() -> list[Row]:
    """All rows of this module."""
    with scratch_folder() as scratch, Model() as model:
        data = scratch / "data"
        # The first start makes the database and the peer's first one its workspace.
        with running(data, model.server.url):
            pass
        peer = _PeerStart(scratch, model.server.url)
        peer.once()
        memory: dict[str, list[float]] = {"ready": [], "used": [], "resident": [], "peer": []}

        def ours() -> float:
            started = time.monotonic()
            stack = launch(data, model.server.url)
            seconds = time.monotonic() - started
            try:
                memory["ready"].append(_proportional(stack.process.pid))
                memory["resident"].append(_resident(stack.process.pid))
                _hold_a_chat(stack)
                memory["used"].append(_proportional(stack.process.pid))
            finally:
                stack.end()
            return seconds

        def theirs() -> float:
            seconds, megabytes = peer.once()
            memory["peer"].append(megabytes)
            return seconds

        times = take_turns(RUNS, ours=ours, theirs=theirs)
        return [
            Row(
                "start to ready, second time",
                "s",
                median(times["ours"]),
                median(times["theirs"]),
                Bar(limit=3),
                "ours: Valkey, web, three workers, scheduler; peer: its gateway",
            ),
            Row(
                "memory when ready (PSS of all processes)",
                "MB",
                median(memory["ready"]),
                median(memory["peer"]),
                Bar(limit=400),
                f"sum of RSS, which counts shared pages often: {median(memory['resident'])} MB",
            ),
            Row("memory after a chat", "MB", median(memory["used"]), None, Bar(limit=400)),
        ]


def _hold_a_chat(stack: Stack) -> None:
    visitor = Visitor(stack)
    visitor.wait_idle(visitor.client.begin("Hello"))


class _PeerStart:
    """Starts the peer's gateway and waits for its health page to say that it is ready."""

    def __init__(self, scratch: Path, model_url: str) -> None:
        self._scratch = scratch
        self._config = scratch / "peer.json"
        words = peers.configuration(scratch / "peer", model_url, websocket_port=free_port())
        self._config.write_text(json.dumps(words))

    def once(self) -> tuple[float, float]:
        """Seconds until it was ready, and megabytes then."""
        port = free_port()
        program = peers.python().with_name("nanobot")
        started = time.monotonic()
        with (self._scratch / "gateway.log").open("wb") as log:
            process = subprocess.Popen(
                [program, "gateway", "--config", str(self._config), "--port", str(port)],
                env=peers.environment(self._scratch),
                cwd=self._scratch,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(lambda: _is_ready(port), 60, "the peer's gateway")
            return time.monotonic() - started, _proportional(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=20)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        return json.loads(connection.getresponse().read()).get("ready") is True
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _proportional(pid: int) -> float:
    """Megabytes of a process and all below it; shared pages count once."""
    return round(sum(one.memory_full_info().pss for one in _family(pid)) / MEGABYTE, 1)


def _resident(pid: int) -> float:
    return round(sum(one.memory_info().rss for one in _family(pid)) / MEGABYTE, 1)
