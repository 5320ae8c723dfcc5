"""What makes a conversation's page easy: keys, sizes, files, versions, other tabs, notices."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import idle, new_words, only_for
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_server import Gate, ModelServer, Say
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import OWNER, Stack

FIELD = "Message to Jenny"
DIAGRAM = "```mermaid\ngraph LR\n  Tea --> Water\n```"


@pytest.fixture
def chat(owner: Client, model_server: ModelServer) -> str:
    """A conversation with one exchange."""
    words = new_words()
    model_server.script("Yes.", when=only_for(words))
    begun = owner.begin(words)
    owner.answer(begun)
    return begun


def test_the_keyboard_alone_is_enough(signed_in: Callable[..., Page], chat: str) -> None:
    """On a desktop the field has the focus; keys lead everywhere and are listed on “?”; they can be
    switched off; a second skip link leads to the field."""
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    field = page.get_by_label(FIELD)
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_be_visible()
    assert not faults(page)
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    field.press_sequentially("n?m")
    expect(field).to_have_value("n?m")
    field.fill("")
    page.keyboard.press("Escape")
    follow(page, lambda: page.keyboard.press("m"))
    expect(page).to_have_url(re.compile("/memory/$"))
    follow(page, lambda: page.keyboard.press("n"))
    page.keyboard.press("Control+/")
    sheet.get_by_label("Single keys work outside of fields").uncheck()
    sheet.get_by_role("button", name="Close").click()
    page.keyboard.press("m")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    expect(page).to_have_url(re.compile("/chat/$"))
    page.get_by_role("link", name="Skip to the message field").focus()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()


def test_a_phone_does_not_open_its_keyboard(signed_in: Callable[..., Page], chat: str) -> None:
    """Who opens a conversation there wants to read it first."""
    page = signed_in(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page.goto(f"/chat/{chat}/")
    idle(page)
    expect(page.get_by_label(FIELD)).not_to_be_focused()


def test_a_long_text_says_its_size_first_and_is_folded(
    signed_in: Callable[..., Page], chat: str, model_server: ModelServer
) -> None:
    """The count stands below the field, one that is too long is not sent, and what was sent takes
    little room until it is opened."""
    page = signed_in()

    def lower(route: Route) -> None:
        # A million characters take a browser long to lay out.
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('most="1000000"', 'most="9000"'))

    page.route(re.compile(f"/chat/{chat}/$"), lower)
    page.goto(f"/chat/{chat}/")
    field = page.get_by_label(FIELD)
    field.fill("x" * 9_001)
    expect(page.locator("#size")).to_contain_text("9,001 of at most 9,000 characters")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".pending")).to_have_count(0)
    expect(page.get_by_role("link", name="save it as a file")).to_be_visible()
    words = new_words()
    model_server.script("That was long.", when=only_for(words))
    field.fill(f"{words}\n" + "All lines are alike.\n" * 400)
    expect(page.locator("#size")).to_contain_text("characters")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("That was long.")).to_be_visible()
    idle(page)
    said = page.locator(".user").last
    box = said.bounding_box()
    assert box is not None
    assert box["height"] < 1_500
    said.get_by_text("Show all").click()
    expect(said.locator(".words")).to_be_visible()
    expect(page.locator("#size")).to_be_empty()


def test_versions_of_an_answer_are_switched_below_it(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """After Regenerate the switch stands below the answer; after an edit below the message."""
    words = new_words()
    for text in ("First answer.", "Second answer."):
        model_server.script(text, when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    page.get_by_role("button", name="Regenerate").click()
    expect(page.get_by_text("Second answer.")).to_be_visible()
    idle(page)
    expect(page.locator(".answer .versions")).to_contain_text("Version 2")
    expect(page.locator(".user .versions")).to_have_count(0)
    page.locator(".answer").get_by_role("button", name="The version before").click()
    expect(page.get_by_text("First answer.")).to_be_visible()
    model_server.script("Third answer.", when=only_for(f"edited {words}"))
    page.locator(".user").get_by_role("link", name="Edit").click()
    page.locator(".edit textarea").fill(f"edited {words}")
    page.locator(".edit").get_by_role("button").first.click()
    expect(page.get_by_text("Third answer.")).to_be_visible()
    idle(page)
    expect(page.locator(".user .versions")).to_contain_text("Version 3")
    expect(page.locator(".answer .versions")).to_have_count(0)


def test_other_tabs_follow(
    signed_in: Callable[..., Page], chat: str, owner: Client, model_server: ModelServer
) -> None:
    """A conversation that begins in one tab appears in the list of another; a hidden tab says in
    its title that an answer is there, and no longer once it is looked at."""
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    words = new_words()
    model_server.script(Gate(words), Say("Here it is."), when=only_for(words))
    other = page.context.new_page()
    other.goto("/chat/")
    other.get_by_label(FIELD).fill(words)
    follow(other, other.get_by_role("button", name="Send").click)
    begun = other.url.rstrip("/").rpartition("/")[2]
    link = page.locator(f'#conversations a[href="/chat/{begun}/"]')
    expect(link).to_be_visible()
    expect(link.locator(".alive")).to_have_count(1)
    other.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", { get: () => globalThis.away });
          globalThis.away = true;
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    model_server.open(words)
    expect(other).to_have_title(re.compile(r"^\(1\) "))
    expect(link.locator(".alive")).to_have_count(0)
    other.evaluate("globalThis.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    expect(other).not_to_have_title(re.compile(r"^\(1\) "))


def test_a_diagram_is_drawn(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """Mermaid in an answer is a picture, live and after a reload, in a frame that reaches
    nothing."""
    words = new_words()
    gate = Gate(words)
    model_server.script(gate, Say(f"Look:\n\n{DIAGRAM}\n\nThat is it."), when=only_for(words))
    chat = owner.begin(words)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    model_server.open(words)
    for _ in range(2):
        page.locator("iframe.diagram").scroll_into_view_if_needed()
        inside = page.frame_locator("iframe.diagram")
        expect(inside.locator("svg").first).to_be_visible()
        expect(inside.locator("#drawing")).to_contain_text("Water")
        page.reload()
        idle(page)
    address = page.locator("iframe.diagram").get_attribute("src") or ""
    assert owner.http.get(address).status_code == 200
    assert owner.http.get(f"{address[:-3]}00/").status_code == 404


def test_notices_are_quiet_in_a_chat(
    signed_in: Callable[..., Page], scripted: Stack, chat: str
) -> None:
    """A dot there, a whole bar elsewhere; each leads to its page by all of its height, and can be
    put away until its cause changes."""
    config = Path(scripted.data.workspaces / OWNER / "config.json")
    before = config.read_text() if config.exists() else "{}"
    try:
        config.write_text('{"agents": {"defaults": {"dream": {"modelOverride": "gone"}}}}')
        page = signed_in(viewport={"width": 360, "height": 800})
        page.goto(f"/chat/{chat}/")
        bar = page.locator(".notice", has_text="“gone”")
        expect(bar).to_be_hidden()
        page.locator(".quiet-notices summary").click()
        expect(bar).to_be_visible()
        page.goto("/settings/models/")
        box = bar.locator("a.notice-body").bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["width"] > 200
        bar.get_by_role("button", name="Hide this notice until it changes").click()
        expect(bar).to_have_count(0)
        page.goto("/settings/memory/")
        expect(bar).to_have_count(0)
    finally:
        config.write_text(before)


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_it_is_usable_by_everybody(
    signed_in: Callable[..., Page], chat: str, width: int, scheme: str
) -> None:
    """The tour, a conversation with its meter open, Appearance, and both layers of the settings;
    and at 400 % of magnification the field leaves room to read."""
    page = signed_in(**options(width, scheme))
    found: list[str] = []
    for path in (
        "/chat/?tour=1",
        f"/chat/{chat}/?tour=1",
        "/settings/appearance/",
        "/settings/memory/",
        "/settings/conversation/",
        "/settings/models/",
    ):
        page.goto(path)
        found += faults(page)
        assert overflow(page) <= 0, path
    assert not found
    page.set_viewport_size({"width": 320, "height": 300})
    page.goto(f"/chat/{chat}/")
    dock = page.locator("#dock").bounding_box()
    assert dock is not None
    assert dock["height"] <= 150
