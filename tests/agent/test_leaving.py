"""A run that should end leaves its provider at once, whatever that is doing.

All limits of time in these tests are far above what they take: a run that did not leave by
itself would hang until then, and the test with it.
"""

import socket
import subprocess
import sys
import threading

import psutil
import pytest

from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import Cancelled
from jenny.agent.limits import Limits
from jenny.agent.messages import text_message
from jenny.agent.provider import Endpoint, Preset, Provider
from tests.agent.asking import listening, provider
from tests.model_server import Fail, Gate, Headers, Raw, Silence
from tests.support.waiting import wait_until

LONG = Limits(seconds=120, connect_seconds=120, first_byte_seconds=120, between_bytes_seconds=120)
JOIN_SECONDS = 60


RESOLVER = """
import socket, threading
from jenny.agent.cancellation import CancellationToken
from jenny.agent.errors import ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.messages import text_message
from jenny.agent.provider import Endpoint, Preset, Provider

look_up = socket.getaddrinfo

def silent(host, *rest, **more):
    if "silent" in str(host):
        threading.Event().wait()
    return look_up(host, *rest, **more)

socket.getaddrinfo = silent
for url in ("http://silent.invalid:1", "http://127.0.0.1:1"):
    try:
        list(Provider(Endpoint(url), Preset(name="p", model="m")).stream(
            system=[], messages=[text_message("user", "Hi")], tools=[],
            watch=CancellationToken(), limits=Limits(connect_seconds=0.2, retries=0),
        ))
    except ProviderFault as fault:
        print(fault.kind, flush=True)
"""
BEGINNING = """
import sys, threading
from jenny.agent import client

sys.setswitchinterval(1e-6)
barrier, found = threading.Barrier(16), []

def begin():
    barrier.wait()
    found.append(client._event_loop())

threads = [threading.Thread(target=begin) for _ in range(16)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(set(map(id, found))))
"""


class _Asking:
    """A reply that is waited for in a thread of its own."""

    def __init__(self, source):
        self.watch = CancellationToken()
        self.told = []
        self.reason = None
        self._source = source
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        events = self._source.stream(
            system=[],
            messages=[text_message("user", "Hi")],
            tools=[],
            watch=self.watch,
            limits=LONG,
        )
        try:
            self.told.extend(events)
        except Cancelled as cancelled:
            self.reason = cancelled.reason

    def stop(self, reason="stop"):
        self.watch.cancel(reason)
        self._thread.join(JOIN_SECONDS)
        assert not self._thread.is_alive()
        assert self.reason == reason


@pytest.mark.parametrize(
    "acts",
    [
        [Silence()],
        [Headers(), Silence()],
        [Headers(), Raw(b"data: {"), Silence()],
        ["Half a", Silence()],
        [Headers(status=500), Raw(b'{"error": '), Silence()],
    ],
    ids=["before headers", "before body", "in an event", "in a reply", "in an error"],
)
def test_stop_leaves_a_silent_model_at_every_point(model, acts):
    """Whoever presses Stop is not kept waiting by a model that says nothing; and the model's
    server sees that nobody listens any more."""
    model.script(*acts)
    asking = _Asking(provider(model))
    (request,) = model.wait_for(1)
    asking.stop()
    assert request.left.wait(JOIN_SECONDS)


def test_a_shutdown_leaves_with_its_own_reason(model):
    """A worker that is shut down says so, and not that the person pressed Stop."""
    model.script("Half a", Silence())
    asking = _Asking(provider(model))
    model.wait_for(1)
    asking.stop("shutdown")


def test_stop_leaves_a_model_that_talks_without_end(model):
    """Stop is heard between two words, too."""
    model.script(*["word "] * 200_000)
    asking = _Asking(provider(model))
    (request,) = model.wait_for(1)
    asking.stop()
    assert request.left.wait(JOIN_SECONDS)


def test_stop_before_the_request_sends_none(model):
    """A turn that was stopped while it waited costs nothing."""
    watch = CancellationToken()
    watch.cancel("stop")
    events = provider(model).stream(
        system=[], messages=[text_message("user", "Hi")], tools=[], watch=watch, limits=LONG
    )
    with pytest.raises(Cancelled):
        next(events)
    assert model.requests == []


def test_stop_leaves_a_host_that_does_not_answer():
    """A host that swallows the connection does not hold a turn."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        # The queue of one is full, so that no further connection is answered.
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.settimeout(0)
            filler.connect_ex(("127.0.0.1", port))
        before = _unanswered(port)
        asking = _Asking(_at(f"http://127.0.0.1:{port}"))
        wait_until(lambda: _unanswered(port) > before, JOIN_SECONDS)
        asking.stop()
        for filler in fillers:
            filler.close()


def test_stop_leaves_a_tls_server_that_says_nothing():
    """The handshake is left like everything else."""
    heard = threading.Event()
    done = threading.Event()

    def say_nothing(connection):
        connection.recv(65536)
        heard.set()
        done.wait(JOIN_SECONDS)

    with listening(say_nothing) as url:
        asking = _Asking(_at(url.replace("http:", "https:")))
        assert heard.wait(JOIN_SECONDS)
        asking.stop()
        done.set()


def test_stop_leaves_a_name_server_that_says_nothing(monkeypatch):
    """The look-up of a name is left as well, though the system's resolver cannot be."""
    asked, answer = threading.Event(), threading.Event()
    look_up = socket.getaddrinfo

    def resolver(host, *rest, flags=0, **values):
        if flags & socket.AI_NUMERICHOST or host != "slow.invalid":
            return look_up(host, *rest, flags=flags, **values)
        asked.set()
        answer.wait(JOIN_SECONDS)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    asking = _Asking(_at("http://slow.invalid:1"))
    assert asked.wait(JOIN_SECONDS)
    asking.stop()
    answer.set()


def test_stop_leaves_a_server_that_does_not_take_the_request(model):
    """A large request that the server does not read does not hold a turn."""
    started = threading.Event()
    done = threading.Event()

    def read_nothing(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.recv(1)
        started.set()
        done.wait(JOIN_SECONDS)

    with listening(read_nothing) as url:
        source = _at(url)
        watch = CancellationToken()
        caught = []

        def ask():
            events = source.stream(
                system=[],
                messages=[text_message("user", "x" * 30_000_000)],
                tools=[],
                watch=watch,
                limits=LONG,
            )
            try:
                list(events)
            except Cancelled as cancelled:
                caught.append(cancelled.reason)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        assert started.wait(JOIN_SECONDS)
        watch.cancel("stop")
        thread.join(JOIN_SECONDS)
        done.set()
    assert caught == ["stop"]


def test_the_time_of_a_turn_ends_a_reply_that_goes_on(model):
    """A model that keeps talking is cut off when the turn's time is over."""
    model.script("Half a", Gate("never"))
    watch = CancellationToken()
    watch.limit(0.3)
    events = provider(model).stream(
        system=[], messages=[text_message("user", "Hi")], tools=[], watch=watch, limits=LONG
    )
    with pytest.raises(Cancelled) as caught:
        list(events)
    assert caught.value.reason == "time"


def test_one_turn_that_is_stopped_leaves_the_others_alone(model):
    """Connections are shared by the turns of a process; a stop is not."""
    model.script("first ", Gate("first"), "end", when=lambda r: "one" in r.texts())
    model.script("second ", Gate("second"), "end", when=lambda r: "two" in r.texts())
    values = {"system": [], "tools": [], "limits": LONG}
    stopped, kept = CancellationToken(), CancellationToken()
    first = provider(model).stream(messages=[text_message("user", "one")], watch=stopped, **values)
    second = provider(model).stream(messages=[text_message("user", "two")], watch=kept, **values)
    next(first)
    next(second)
    stopped.cancel("stop")
    with pytest.raises(Cancelled):
        list(first)
    model.open("second")
    assert list(second)[-1].parts[0].text == "second end"


def test_a_stop_while_a_count_is_asked_for_is_heard(model):
    """The meter's question to the provider does not hold a stop either."""
    watch = CancellationToken()
    watch.cancel("stop")
    with pytest.raises(Cancelled):
        provider(model).count_tokens(
            system=[], messages=[text_message("user", "Hi")], tools=[], watch=watch, limits=LONG
        )


def test_after_a_stop_the_next_turn_goes_through(model):
    """A connection that was left is not used again."""
    model.script("Half a", Silence())
    asking = _Asking(provider(model))
    model.wait_for(1)
    asking.stop()
    model.script(Fail(529))
    model.script("whole")
    events = provider(model).stream(
        system=[],
        messages=[text_message("user", "Hi")],
        tools=[],
        watch=CancellationToken(),
        limits=LONG,
    )
    with pytest.raises(Exception, match="overloaded"):
        list(events)
    events = provider(model).stream(
        system=[],
        messages=[text_message("user", "Hi")],
        tools=[],
        watch=CancellationToken(),
        limits=LONG,
    )
    assert list(events)[-1].parts[0].text == "whole"


def test_a_silent_name_server_does_not_keep_the_process():
    """A command that gave the name up ends, though the resolver still says nothing; and a number
    needs no resolver."""
    done = subprocess.run(
        [sys.executable, "-c", RESOLVER],
        capture_output=True,
        text=True,
        timeout=JOIN_SECONDS,
        check=False,
    )
    assert done.stdout.split() == ["unreachable", "unreachable"], done.stderr


def test_many_threads_that_begin_together_share_one_event_loop():
    """The connections belong to it: one of another loop could not be used again."""
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING],
        capture_output=True,
        text=True,
        timeout=JOIN_SECONDS,
        check=False,
    )
    assert done.stdout.strip() == "1", done.stderr


def _unanswered(port):
    """How many connections of this process to that port are not answered yet."""
    return sum(
        row.status == psutil.CONN_SYN_SENT and row.raddr.port == port
        for row in psutil.Process().net_connections("tcp4")
        if row.raddr
    )


def _at(url):
    return Provider(Endpoint(url, "a-key"), Preset(name="p", model="m"))
