"""The first five minutes in a real browser: from the printed link to an answer."""

import re
import sqlite3
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.browser import Complaints, follow
from tests.support.stack import PASSWORD, Stack


def test_from_the_printed_link_to_an_answer(
    start_stack: Callable[..., Stack], new_page: Callable[..., Page], complaints: Complaints
) -> None:
    """Name and password, one choice, and the demo model answers; the zone is the browser's."""
    stack = start_stack()
    page = new_page(base_url=stack.url, timezone_id="Asia/Tokyo")
    page.goto(stack.link)
    expect(page).to_have_url(f"{stack.url}/setup/")
    page.get_by_label("User name").fill("ana")
    complaints.allow("422")
    page.get_by_label("Password").fill("short")
    follow(page, page.get_by_role("button").click)
    # What was wrong is told to a screen reader with the field that it is about.
    field = page.get_by_label("Password")
    expect(field).to_have_accessible_description(re.compile("too short"))
    field.fill(PASSWORD)
    follow(page, page.get_by_role("button").click)
    expect(page).to_have_url(f"{stack.url}/setup/model/")
    expect(page.get_by_label("Address of the server")).to_be_hidden()
    # An error is said of the choice that it belongs to, and of no other.
    follow(page, page.get_by_role("button", name="Start chatting").click)
    expect(page.get_by_text("Paste the key")).to_be_visible()
    page.get_by_label("Another: Ollama").check()
    expect(page.get_by_text("Paste the key")).to_be_hidden()
    page.get_by_text("Servers that work").click()
    expect(page.get_by_text("https://openrouter.ai/api", exact=True)).to_be_visible()
    page.get_by_label("Claude").check()
    expect(page.get_by_text("Paste the key")).to_be_visible()
    page.get_by_label("The demo model").check()
    expect(page.get_by_label("API key", exact=True)).to_be_hidden()
    follow(page, page.get_by_role("button", name="Start chatting").click)
    expect(page).to_have_url(f"{stack.url}/chat/")
    expect(page.get_by_text("no language model is connected")).to_be_visible()
    take_the_tour(page)
    page.goto("/chat/")
    for number in range(page.locator("#welcome [data-start]").count()):
        begin_with(page, number)
    with sqlite3.connect(stack.data.database) as database:
        (zone,) = database.execute("SELECT time_zone FROM accounts_account").fetchone()
    assert zone == "Asia/Tokyo"


def take_the_tour(page: Page) -> None:
    """Say a fact, see it remembered, undo it; it can be skipped and is found again."""
    tour = page.get_by_role("region", name="Three steps to try her memory")
    follow(page, tour.get_by_role("link", name="Skip the tour").click)
    expect(tour).to_have_count(0)
    follow(page, page.get_by_role("link", name="Take the tour").click)
    tour.get_by_role("button", name="Remember that I drink green tea.").click()
    follow(page, page.get_by_role("button", name="Send").click)
    answers = page.locator(".answer")
    expect(answers.last).to_contain_text("Remembered: “The user drinks green tea.”")
    follow(page, tour.get_by_role("link", name="open Memory").click)
    noted = page.get_by_role("region", name="Just noted")
    expect(noted).to_contain_text("The user drinks green tea.")
    page.go_back()
    tour.get_by_role("button", name="Forget that I drink green tea.").click()
    page.get_by_role("button", name="Send").click()
    expect(answers.last).to_contain_text(re.compile("forgotten", re.IGNORECASE))
    expect(page.locator("#thread")).to_have_attribute("data-state", "idle")
    follow(page, tour.get_by_role("link", name="End the tour").click)
    expect(tour).to_have_count(0)


def begin_with(page: Page, number: int) -> None:
    """Send a starter of the empty chat, completed where it ends open; the demo model can do it."""
    page.goto("/chat/")
    start = page.locator("#welcome [data-start]").nth(number)
    words = start.get_attribute("data-start") or ""
    start.click()
    field = page.get_by_label("Message to Jenny")
    expect(field).to_have_value(words)
    if words == "/":
        expect(page.get_by_role("listbox", name="Commands")).to_be_visible()
        return
    if words.endswith(" "):
        field.press_sequentially("Ana")
    follow(page, page.get_by_role("button", name="Send").click)
    expect(page.locator("#thread")).to_have_attribute("data-state", "idle")
    answer = page.locator(".answer").last
    expect(answer.locator(".row.tool[data-state=ok]")).to_have_count(1)
    expect(answer).not_to_contain_text("no rule for that")


def test_a_model_is_connected_and_tested_in_the_settings(
    signed_in: Callable[..., Page], model_server: object
) -> None:
    """Another server: its fields show, saving lists it, testing says in place how it went."""
    page = signed_in()
    page.goto("/settings/models/")
    page.get_by_label("Another: Ollama").check()
    page.get_by_label("Address of the server").fill(getattr(model_server, "url", ""))
    page.get_by_label("Model", exact=True).fill("scripted-model")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Name of this model in Jenny").fill("tested")
    follow(page, page.get_by_role("button", name="Save and use").click)
    expect(page.get_by_text("New answers come from tested")).to_be_visible()
    page.get_by_role("button", name="Test tested").click()
    expect(page.get_by_text("scripted-model answered in")).to_be_visible()
    expect(page).to_have_url(f"{page.url.split('/settings')[0]}/settings/models/")
    follow(page, page.get_by_role("link", name="Change tested").click)
    follow(page, page.get_by_role("button", name="Remove tested").click)
    expect(page.get_by_text("tested is removed")).to_be_visible()
