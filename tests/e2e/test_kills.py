"""Parts are killed under a page that somebody is looking at: it says that it reconnects, and then
shows what the store holds, with nothing missing and nothing twice, without being loaded again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, new_words, only_for, sign_in
from tests.model_server import Gate, ModelServer, Silence
from tests.support.browser import Complaints
from tests.support.chat import asked
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, environment_for
from tests.support.waiting import wait_until

FIRST, SECOND = "The first half of it. ", "And the second half."


@dataclass(frozen=True)
class Watched:
    """A page that shows the first half of an answer; the second waits at a gate."""

    page: Page
    stack: Stack
    chat: str
    words: str
    model: ModelServer

    def go_on(self) -> None:
        """Let the second half come."""
        self.model.open(self.words)

    def shows(self, text: str) -> None:
        """The page shows *text* as the whole answer, without having been loaded again."""
        expect(self.page.locator(".answer .prose")).to_have_text(text)
        assert self.page.evaluate("window.isTheSamePage")
        assert len(asked(self.model, self.words)) == 1


@pytest.fixture
def watch(
    start_stack: Callable[..., Stack],
    new_page: Callable[..., Page],
    model_server: ModelServer,
    complaints: Complaints,
) -> Iterator[Callable[..., Watched]]:
    """Start an instance that may be harmed, and open a page on it in mid-answer."""
    complaints.allow("net::ERR")
    complaints.allow("status of 5")
    gates: list[str] = []

    def make(*acts: object) -> Watched:
        stack = start_stack(has_owner=True, **environment_for(model_server.url))
        client = Client(stack.url).login(OWNER, PASSWORD)
        words = new_words()
        gates.append(words)
        rest = acts or (Gate(words), SECOND)
        model_server.script(FIRST, *rest, when=only_for(words))
        chat = client.begin(words)
        page = new_page(base_url=stack.url)
        sign_in(page, stack, client)
        page.goto(f"/chat/{chat}/")
        expect(page.locator(".answer .prose")).to_contain_text(FIRST.strip())
        page.evaluate("window.isTheSamePage = true")
        return Watched(page, stack, chat, words, model_server)

    yield make
    for gate in gates:
        model_server.open(gate)


def test_a_killed_web_server_is_waited_for(watch: Callable[..., Watched]) -> None:
    """CHA3: the answer goes on in the worker; the page comes back and gets what it missed."""
    watched = watch()
    pid = watched.stack.kill("web")
    watched.go_on()
    wait_until(lambda: watched.stack.pids().get("web") not in {None, pid}, what="a new web server")
    idle(watched.page)
    watched.shows(FIRST + SECOND)
    expect(watched.page.locator("#status")).to_have_text("")


def test_a_killed_worker_is_told_and_its_answer_can_be_tried_again(
    watch: Callable[..., Watched],
) -> None:
    """CHA7: the text stays on the page, marked as interrupted; the button runs it again."""
    watched = watch(Silence())
    page = watched.page
    watched.stack.kill("chat")
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    watched.shows(FIRST)
    watched.model.script("Whole this time.", when=only_for(watched.words))
    again.click()
    expect(page.locator(".answer .prose").last).to_have_text("Whole this time.")
    assert page.evaluate("window.isTheSamePage")
    assert len(asked(watched.model, watched.words)) == 2


@pytest.mark.parametrize("flush", [False, True])
def test_a_killed_valkey_costs_the_page_nothing(watch: Callable[..., Watched], flush: bool) -> None:
    """With or without what it held: the page goes on, and what is sent then arrives as ever."""
    watched = watch()
    page = watched.page
    pid = watched.stack.kill_valkey(forgets=flush)
    watched.go_on()
    wait_until(lambda: watched.stack.pids().get("valkey") not in {None, pid}, what="a new Valkey")
    idle(page)
    watched.shows(FIRST + SECOND)
    page.get_by_label("Message to Jenny").fill("/skill")
    page.get_by_label("Message to Jenny").press("Enter")
    expect(page.locator(".item.command .words")).to_have_text("/skill")
    expect(page.locator(".item.reply")).to_be_visible()
    expect(page.locator(".pending")).to_have_count(0)
