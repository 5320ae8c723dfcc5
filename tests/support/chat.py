"""An instance whose model is scripted, and somebody who is logged in to it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import Act, ModelServer, Request, Rule
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, environment_for, start


class SharedModel(ModelServer):
    """One model for all tests of a process: each says which requests its answers are for.

    Titles and summaries are given at once, outside any script.
    """

    def __init__(self) -> None:
        super().__init__()
        super().always(is_title, "A title")
        super().always(is_summary, "(nothing)")

    def script(self, *acts: Act | str, when: Rule | None = None) -> None:
        """Answer one more request that *when* says yes to."""
        assert when, "another test's request could get this answer"
        super().script(*acts, when=when)

    def always(self, when: Rule, *acts: Act | str) -> None:
        """Refused: the tests behind this one would get these answers as well."""
        message = f"answers for good need a server of the test's own: {acts}"
        raise AssertionError(message)


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    """The scripted model of this test process."""
    with SharedModel() as server:
        yield server


@pytest.fixture(scope="session")
def scripted(scratch: Path, model_server: ModelServer) -> Iterator[Stack]:
    """An instance that asks the scripted model; for tests that do not harm it."""
    stack = start(scratch / "scripted", has_owner=True, **environment_for(model_server.url))
    try:
        yield stack
    finally:
        stack.end()


@pytest.fixture(scope="session")
def owner(scripted: Stack) -> Client:
    """The owner of the scripted instance, logged in."""
    return Client(scripted.url).login(OWNER, PASSWORD)


def is_title(request: object) -> bool:
    """Whether a request asks for a title: it offers no tools, and wants no summary."""
    return not getattr(request, "json", {}).get("tools") and not is_summary(request)


def is_summary(request: object) -> bool:
    """Whether a request asks for the facts in a part of a conversation."""
    system = str(getattr(request, "json", {}).get("system", ""))
    return "keep the record of a personal assistant" in system


def asked(server: ModelServer, words: str) -> list[Request]:
    """The requests for an answer in which somebody said *words*."""
    return [
        request
        for request in list(server.requests)
        if request.path == "/v1/messages"
        and request.json.get("tools")
        and any(words in text for text in request.texts("user"))
    ]


def blocks_of(html: str) -> list[tuple[str, str]]:
    """The text blocks of a thread: id and inner HTML."""
    return re.findall(r'<div class="prose" id="(b\d+)"[^>]*>(.*?)</div>(?=<|\n|$)', html, re.DOTALL)
