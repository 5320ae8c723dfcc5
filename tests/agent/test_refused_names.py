"""Names are judged by the address that they lead to, at the moment of each connection."""

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from jenny.agent.errors import ProviderFault
from jenny.agent.provider import Endpoint, Preset, Provider
from jenny.agent.reply import StepEnd
from tests.agent.asking import ask
from tests.model_server import ModelServer

NAME = "models.example.org"
PLAIN = Preset(name="p", model="m")


@pytest.fixture
def leads_to(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names and the numbers that the system's resolver gives for them; tests reach no real one."""
    known: dict[str, list[str]] = {}
    resolve = socket.getaddrinfo

    def answer(host: str, port: int, *_: Any, flags: int = 0, **options: Any) -> list[Any]:
        if flags & socket.AI_NUMERICHOST or host not in known:
            return resolve(host, port, flags=flags, **options)
        return [row for number in known[host] for row in resolve(number, port, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return known


@pytest.mark.parametrize(
    "number",
    [
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "fd00:ec2::254",
        "fe80::1%1",
        "64:ff9b::a9fe:a9fe",
        "::ffff:169.254.169.254",
        "2002:a9fe:a9fe::1",
    ],
)
def test_a_name_of_a_refused_number_is_not_asked(
    leads_to: dict[str, list[str]], number: str
) -> None:
    """Nothing is sent, it is not tried again, and the sentence says why."""
    leads_to[NAME] = [number]
    with pytest.raises(ProviderFault) as caught:
        ask(Provider(Endpoint(f"http://{NAME}:8080", "a-key"), PLAIN))
    assert caught.value.kind == "refused_address"
    assert not caught.value.retryable
    assert NAME in caught.value.message


def test_a_name_of_several_numbers_is_asked_at_those_that_may_be(
    leads_to: dict[str, list[str]], model: ModelServer
) -> None:
    """A refused number among them is passed over."""
    leads_to[NAME] = ["169.254.169.254", "127.0.0.1"]
    url = f"http://{NAME}:{urlsplit(model.url).port}"
    assert isinstance(ask(Provider(Endpoint(url, "a-key"), PLAIN))[-1], StepEnd)
