"""A server that says nothing, too much, or is not there is given up."""

import socket
import threading

import pytest

from jenny.agent.errors import ProviderFault
from jenny.agent.limits import Limits
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.transport import MAX_REPLY_BYTES
from tests.agent.asking import ask, listening, provider
from tests.model_server import Fail, Headers, Say, Silence


def _fault(model, *acts, limits=None):
    """The fault that this script leads to."""
    model.script(*acts)
    asked = {"limits": limits} if limits else {}
    with pytest.raises(ProviderFault) as caught:
        ask(provider(model), **asked)
    return caught.value


@pytest.mark.parametrize("acts", [[Silence()], [Headers(), Silence()]], ids=["headers", "body"])
def test_a_server_that_never_begins_is_given_up(model, acts):
    """One time limit holds for the first byte, whether or not the headers came."""
    fault = _fault(model, *acts, limits=Limits(first_byte_seconds=0.2))
    assert (fault.kind, fault.retryable) == ("silent", True)
    assert "0.2 seconds" in fault.what
    assert model.requests[0].left.wait(60)


def test_a_server_that_stops_in_the_middle_is_given_up(model):
    """Another limit holds between two bytes."""
    fault = _fault(model, "Half a", Silence(), limits=Limits(between_bytes_seconds=0.2))
    assert fault.kind == "silent"
    assert model.requests[0].left.wait(60)


def test_headers_that_trickle_do_not_extend_the_time_for_the_first_byte(model):
    """A server cannot hold a turn by sending its headers byte by byte."""
    line = b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 10_000

    def trickle(connection):
        connection.recv(65536)
        for at in range(len(line)):
            connection.sendall(line[at : at + 1])
            if done.wait(0.01):
                return

    done = threading.Event()
    with listening(trickle) as url, pytest.raises(ProviderFault) as caught:
        ask(
            Provider(Endpoint(url), Preset(name="p", model="m")),
            limits=Limits(first_byte_seconds=0.2),
        )
    done.set()
    assert caught.value.kind == "silent"


def test_a_reply_without_end_is_given_up(model):
    """A server that sends for ever fills neither memory nor disk."""
    piece = Say("x" * 1_000_000)
    fault = _fault(model, *[piece] * (MAX_REPLY_BYTES // 1_000_000 + 2))
    assert (fault.kind, fault.retryable) == ("too_long", False)


def test_an_error_page_without_end_is_given_up(model):
    """The same holds for an error's body."""
    body = b"x" * (MAX_REPLY_BYTES + 1_000_000)
    assert _fault(model, Fail(500, body=body)).kind == "too_long"


def test_a_server_that_is_not_there_is_named(model):
    """Somebody who forgot to start the local server is told so, with the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ProviderFault) as caught:
        ask(Provider(Endpoint(f"http://127.0.0.1:{port}"), Preset(name="p", model="m")))
    assert (caught.value.kind, caught.value.retryable) == ("unreachable", True)
    assert f"127.0.0.1:{port}" in caught.value.message


def test_a_name_that_does_not_exist_is_named():
    """A typing error in the address is shown as what it is."""
    with pytest.raises(ProviderFault) as caught:
        ask(Provider(Endpoint("http://nowhere.invalid:1"), Preset(name="p", model="m")))
    assert caught.value.kind == "unreachable"
    assert "nowhere.invalid" in caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "ftp://host/",
        "http://",
        "http://[::1",
        "http://h:x",
        "http://h:99999",
    ],
)
def test_an_address_that_is_none_is_a_fault(url):
    """A broken setting ends in a sentence, not in a crash."""
    with pytest.raises(ProviderFault) as caught:
        ask(Provider(Endpoint(url), Preset(name="p", model="m")))
    assert "Settings" in caught.value.message
