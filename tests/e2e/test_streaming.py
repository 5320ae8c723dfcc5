"""A conversation on the screen: whatever happens to the page or its connection, it shows what the
store holds, with nothing missing and nothing twice."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, new_words, only_for
from tests.model_server import Gate, ModelServer, Pause, Say
from tests.support.browser import Complaints, follow
from tests.support.client import Client
from tests.support.waiting import wait_until

PARTS = [f"word{number} " for number in range(120)]


@dataclass(frozen=True)
class Telling:
    """An answer of two halves, with a gate between them."""

    chat: str
    gate: str
    model: ModelServer

    def go_on(self) -> None:
        """Let the second half come."""
        self.model.open(self.gate)


@pytest.fixture
def telling(owner: Client, model_server: ModelServer) -> Iterator[Telling]:
    """It has begun when the test does."""
    gate = new_words()
    paced = [act for part in PARTS[60:] for act in (Say(part), Pause(0.004))]
    model_server.script(*map(Say, PARTS[:60]), Gate(gate), *paced, when=only_for(gate))
    chat = owner.begin(gate)
    yield Telling(chat, gate, model_server)
    model_server.open(gate)
    owner.answer(chat)


def open_chat(make: Callable[..., Page], chat: str) -> Page:
    """The page of the conversation, once it shows the first half."""
    page = make()
    page.goto(f"/chat/{chat}/")
    expect(page.locator(".answer .prose")).to_contain_text(PARTS[59].strip())
    return page


def told(page: Page) -> list[str]:
    """The words of the answer, as the page shows them."""
    return page.locator(".answer .blocks").inner_text().split()


WORDS = [part.strip() for part in PARTS]


def test_a_page_loaded_in_the_middle_goes_on(
    signed_in: Callable[..., Page], telling: Telling
) -> None:
    """CHA1: reloaded twice and opened in a second tab in mid-answer, all tabs end the same."""
    page = open_chat(signed_in, telling.chat)
    page.reload()
    second = open_chat(signed_in, telling.chat)
    telling.go_on()
    page.reload()
    idle(page)
    idle(second)
    assert told(page) == told(second) == WORDS


def test_a_lost_connection_is_taken_up_where_it_broke(
    signed_in: Callable[..., Page], telling: Telling, complaints: Complaints
) -> None:
    """The page says that it reconnects, and then misses nothing."""
    complaints.allow("net::ERR")
    page = open_chat(signed_in, telling.chat)
    page.context.set_offline(True)
    expect(page.locator("#status")).to_have_text("Reconnecting…")
    telling.go_on()
    page.context.set_offline(False)
    idle(page)
    assert told(page) == WORDS
    expect(page.locator("#status")).to_have_text("")


def test_a_connection_that_died_in_silence_is_opened_anew(
    signed_in: Callable[..., Page], telling: Telling
) -> None:
    """No sign of life for half a minute: the page does not wait for an error that never comes."""
    page = signed_in()
    page.clock.install()
    page.goto(f"/chat/{telling.chat}/")
    expect(page.locator(".answer .prose")).to_contain_text(PARTS[59].strip())
    with page.expect_request(re.compile(r"/events\?")):
        page.clock.run_for(45_000)
    telling.go_on()
    idle(page)
    assert told(page) == WORDS


def test_a_hidden_tab_lets_go_and_catches_up(
    signed_in: Callable[..., Page], telling: Telling, owner: Client
) -> None:
    """Out of sight the connection stays until the answer is there, and is closed a minute later;
    shown again, all is there."""
    page = signed_in()
    page.clock.install()
    page.goto(f"/chat/{telling.chat}/")
    expect(page.locator(".answer .prose")).to_contain_text(PARTS[59].strip())
    opened: list[str] = []
    page.on(
        "request", lambda request: opened.append(request.url) if "/events" in request.url else None
    )
    show(page, visible=False)
    page.clock.run_for(61_000)
    telling.go_on()
    owner.answer(telling.chat)
    idle(page)
    assert told(page) == WORDS
    assert opened == []
    page.clock.run_for(61_000)
    owner.send(telling.chat, "/help")
    expect(page.locator(".thread")).not_to_contain_text("/compact")
    show(page, visible=True)
    expect(page.locator(".thread")).to_contain_text("/compact")
    assert len(opened) == 1


def show(page: Page, *, visible: bool) -> None:
    """Let the page believe that its tab was shown or hidden."""
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }""",
        not visible,
    )


def test_leaving_a_chat_closes_its_stream(
    signed_in: Callable[..., Page], telling: Telling, owner: Client
) -> None:
    """CHA9: many chats opened one after another in one tab: the page stays usable."""
    others = [owner.begin(new_words()) for _ in range(7)]
    page = open_chat(signed_in, telling.chat)
    for chat in others:
        page.goto(f"/chat/{chat}/")
        expect(page.locator(".answer")).to_be_visible()
    page.goto(f"/chat/{telling.chat}/")
    telling.go_on()
    idle(page)
    assert told(page) == WORDS


def test_stop_works_from_any_tab(signed_in: Callable[..., Page], telling: Telling) -> None:
    """CHA6: begun elsewhere, stopped here, and the partial text stays in both tabs."""
    page, second = open_chat(signed_in, telling.chat), open_chat(signed_in, telling.chat)
    second.get_by_role("button", name="Stop").click()
    idle(page)
    idle(second)
    assert told(page) == told(second) == WORDS[:60]
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_what_a_second_tab_does_shows_in_the_first(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """A message sent and a title given in one tab are in the other, once."""
    words = new_words()
    chat = owner.begin(words)
    owner.answer(chat)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    later = new_words()
    model_server.script("Second answer.", when=only_for(later))
    owner.send(chat, later)
    expect(page.get_by_text("Second answer.")).to_be_visible()
    expect(page.locator(".user .words", has_text=later)).to_have_count(1)
    owner.post(f"/chat/{chat}/rename", title="Named elsewhere")
    expect(page.get_by_role("heading", level=1)).to_have_text("Named elsewhere")
    expect(page.locator("#current")).to_have_text("Named elsewhere")
    expect(page).to_have_title(re.compile("^Named elsewhere"))


def test_events_that_come_in_another_order_make_the_same_thread(
    signed_in: Callable[..., Page], telling: Telling
) -> None:
    """A message is stored before its event is sent, so that a later one's may overtake it."""
    page = open_chat(signed_in, telling.chat)
    telling.go_on()
    idle(page)
    ids = "[...document.querySelectorAll('#thread > .item')].map(item => item.id)"
    before = page.evaluate(ids)
    page.evaluate(
        """() => {
            const item = document.querySelector("#thread > .item.user");
            const detail = { kind: "item", id: item.id, html: item.outerHTML };
            item.remove();
            document.dispatchEvent(new CustomEvent("jenny:event", { detail }));
        }"""
    )
    assert page.evaluate(ids) == before


def test_a_message_sent_meanwhile_waits_visibly(
    signed_in: Callable[..., Page], telling: Telling
) -> None:
    """While an answer runs, a further message is shown as waiting, then as read."""
    page = open_chat(signed_in, telling.chat)
    page.get_by_label("Message to Jenny").fill("and one more thing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Waiting: Jenny reads this")).to_be_visible()
    telling.go_on()
    idle(page)
    expect(page.get_by_text("Waiting: Jenny reads this")).to_have_count(0)
    expect(page.locator(".user .words", has_text="and one more thing")).to_have_count(1)


def test_older_messages_come_on_scroll_and_keep_the_place(
    signed_in: Callable[..., Page], owner: Client
) -> None:
    """A long conversation shows its newest window; going up brings the rest, and the message
    that one looks at stays where it is."""
    chat = owner.begin("/help")
    for number in range(45):
        owner.send(chat, f"/history {number % 9 + 1}")
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    before = page.locator(".item").count()
    assert before == 60
    first = page.locator(".item").first
    mark = first.get_attribute("id")
    page.locator("#older").scroll_into_view_if_needed()
    expect(page.locator(".item")).to_have_count(92)
    expect(page.locator("#older")).to_have_count(0)
    box = page.locator(f"#{mark}").bounding_box()
    assert box is not None
    assert -200 < box["y"] < 500
    ids = page.locator(".item").evaluate_all("items => items.map(item => Number(item.id.slice(1)))")
    assert ids == sorted(set(ids))


def test_older_messages_are_a_link_without_script(
    signed_in: Callable[..., Page], owner: Client
) -> None:
    """The link above the window leads to the messages before it."""
    chat = owner.begin("/help")
    for _ in range(35):
        owner.send(chat, "/help")
    page = signed_in(java_script_enabled=False)
    page.goto(f"/chat/{chat}/")
    follow(page, page.get_by_role("link", name="Earlier messages").click)
    expect(page.locator(".item")).to_have_count(12)


def test_a_stream_that_only_ever_says_reset_is_not_asked_in_a_circle(signed_in, owner):
    """Whatever makes a server answer so, an open page costs it a request now and then."""
    chat = owner.begin("/help")
    page = signed_in()
    asked: dict[str, int] = {"events": 0, "thread": 0}

    def stream(route) -> None:
        asked["events"] += 1
        body = 'id: 1-0\ndata: {"kind":"reset"}\n\n'
        route.fulfill(content_type="text/event-stream", body=body)

    def thread(route) -> None:
        asked["thread"] += 1
        route.continue_()

    page.route("**/events?*", stream)
    page.route("**/thread", thread)
    page.clock.install()
    page.clock.pause_at("2030-01-01")
    page.goto(f"/chat/{chat}/")
    for turn in range(1, 4):
        wait_until(lambda turn=turn: turn_is(page, asked, turn), what=f"reset {turn}")
        # The clock stands still: nothing more is asked, however often the page is looked at.
        for _ in range(20):
            page.evaluate("fetch('/health/live').then((answer) => answer.status)")
        assert asked == {"events": turn + 1, "thread": turn}
        page.clock.run_for(60_000)


def turn_is(page: Page, asked: dict[str, int], turn: int) -> bool:
    """Whether the page has rendered anew *turn* times and listens again."""
    page.evaluate("0")
    return asked["thread"] >= turn and asked["events"] >= turn + 1
