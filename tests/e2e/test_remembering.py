"""A person watches it happen, with the demo model: chat, wait, see the entries, be remembered."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, sign_in
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import Complaints, follow
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, start
from tests.support.waiting import wait_until

SECRET = "ghp_" + "a1B2c3D4e5" * 4


@dataclass
class Demo:
    """An instance without a model, in which conversations are idle after one minute."""

    stack: Stack
    owner: Client

    def rest(self, chat: str) -> None:
        """Let a minute pass for the conversation, and the sweep run by way of its queue."""
        with closing(sqlite3.connect(self.stack.data.database, timeout=20)) as database:
            past = "2020-01-01 00:00:00"
            statement = (
                "update chat_conversation set active_at = ?, consolidate_after = ? where id = ?"
            )
            database.execute(statement, [past, past, chat.replace("-", "")])
            database.commit()
        sweep = "from jenny.chat.tasks import enqueue_due_consolidations as task; task.delay()"
        self.stack.manage("shell", "-v0", "-c", sweep)


@pytest.fixture(scope="module")
def demo(scratch: Path) -> Iterator[Demo]:
    """The instance of this module."""
    stack = start(scratch / "remembering", has_owner=True)
    try:
        owner = Client(stack.url).login(OWNER, PASSWORD)
        root = next(iter(stack.data.workspaces.iterdir()))
        minute = {"agents": {"defaults": {"idleCompactAfterMinutes": 1}}}
        (root / "config.json").write_text(json.dumps(minute))
        yield Demo(stack, owner)
    finally:
        stack.end()


@pytest.fixture
def browse(demo: Demo, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Open a page of a fresh browser in which the owner is logged in."""

    def make(**how: object) -> Page:
        page = new_page(base_url=demo.stack.url, **how)
        sign_in(page, demo.stack, demo.owner)
        return page

    return make


def chat_of(page: Page) -> str:
    """Return the id of the conversation in the page's address."""
    return urlsplit(page.url).path.rstrip("/").rpartition("/")[2]


def write(page: Page, text: str) -> None:
    """Write a message and send it."""
    page.get_by_role("textbox", name="Message to Jenny").fill(text)
    page.get_by_role("button", name="Send").click()


def test_from_a_chat_to_being_remembered(demo: Demo, browse: Callable[..., Page]) -> None:
    """The divider turns up in the open page, opens to the entry, the entry's page leads back; a
    reload shows the same; a new chat knows."""
    page = browse()
    page.goto("/chat/")
    follow(page, lambda: write(page, f"I keep bees in Graz. My key is {SECRET}"))
    idle(page)
    chat = chat_of(page)
    demo.rest(chat)
    divider = page.locator("details.summary")
    expect(divider.locator("summary")).to_contain_text("2 messages summarised")
    divider.locator("summary").click()
    expect(divider).to_contain_text("The user keep")
    expect(divider).to_contain_text("GitHub token: left out of memory")
    follow(page, divider.get_by_role("link", name=re.compile("^Note")).click)
    expect(page.get_by_text("Has not read it yet.")).to_be_visible()
    assert SECRET not in page.content()
    follow(page, page.get_by_role("link", name="You").first.click)
    expect(page.locator("article.user:target")).to_contain_text("I keep bees in Graz")
    page.reload()
    expect(page.locator("details.summary > summary")).to_contain_text("2 messages summarised")
    page.goto("/chat/")
    follow(page, lambda: write(page, "What did I say about bees?"))
    idle(page)
    expect(page.locator(".answer .prose").last).to_contain_text("Graz")


def test_versions_in_place_and_in_another_tab(demo: Demo, browse: Callable[..., Page]) -> None:
    """Edit opens a field in the thread and Cancel closes it; what is sent stands in both tabs at
    once, and so does the version that the switcher brings back."""
    chat = demo.owner.begin("What is 2 + 2?")
    demo.owner.answer(chat)
    first, second = browse(), browse()
    for page in (first, second):
        page.goto(f"/chat/{chat}/")
    words = first.locator(".user .words")
    first.locator(".user").hover()
    first.get_by_role("link", name="Edit").click()
    field = first.get_by_role("textbox", name="Your message")
    expect(field).to_be_focused()
    first.get_by_role("link", name="Cancel").click()
    expect(words).to_have_text("What is 2 + 2?")
    first.get_by_role("link", name="Edit").click()
    field.fill("What is 5 + 6?")
    first.locator(".edit").get_by_role("button", name="Send").click()
    for page in (first, second):
        expect(page.locator(".user .words")).to_have_text("What is 5 + 6?")
        expect(page.locator(".answer")).to_contain_text("11")
        idle(page)
    second.locator(".user").hover()
    second.get_by_role("button", name="The version before").click()
    for page in (first, second):
        expect(page.locator(".user .words")).to_have_text("What is 2 + 2?")
        expect(page.locator(".versions")).to_contain_text("Version 1")
    first.locator(".answer").hover()
    first.get_by_role("button", name="Regenerate").click()
    for page in (first, second):
        expect(page.locator(".versions")).to_contain_text("Version 3")
        idle(page)


def test_all_of_it_without_script(demo: Demo, browse: Callable[..., Page]) -> None:
    """The divider opens, a message is edited on a page of its own, an answer is given anew and
    versions are switched by plain forms; a temporary chat is begun, and kept."""
    chat = demo.owner.begin("I like short walks.")
    demo.owner.answer(chat)
    demo.owner.send(chat, "/compact")
    wait_until(lambda: "2 messages summarised" in demo.owner.thread(chat), what="the divider")
    page = browse(java_script_enabled=False)
    page.goto(f"/chat/{chat}/")
    page.locator("details.summary > summary").click()
    expect(page.get_by_role("link", name=re.compile("^Note"))).to_be_visible()
    follow(page, page.get_by_role("link", name="Edit").first.click)
    page.get_by_role("textbox", name="Your message").fill("I like long walks.")
    follow(page, page.get_by_role("button", name="Send").click)
    demo.owner.answer(chat)
    page.goto(f"/chat/{chat}/")
    expect(page.locator(".user .words").first).to_have_text("I like long walks.")
    follow(page, page.get_by_role("button", name="The version before").click)
    expect(page.locator(".user .words").first).to_have_text("I like short walks.")
    follow(page, page.get_by_role("button", name="Regenerate").click)
    demo.owner.answer(chat)
    page.goto(f"/chat/{chat}/")
    expect(page.locator(".versions")).to_contain_text("Version 3")
    page.goto("/chat/")
    follow(page, page.get_by_role("link", name="New temporary chat").click)
    follow(page, lambda: write(page, "Between us."))
    expect(page.get_by_text("Nothing said here reaches Jenny’s memory.")).to_be_visible()
    demo.owner.answer(chat_of(page))
    follow(page, page.get_by_role("button", name="Keep this chat").click)
    expect(page.get_by_text("This chat is kept")).to_be_visible()
    expect(page.get_by_text("Nothing said here reaches Jenny’s memory.")).to_have_count(0)


@pytest.fixture(scope="module")
def places(demo: Demo) -> list[str]:
    """The pages that this part of the product has, each with something on it."""
    chat = demo.owner.begin(f"My name is Ana. My key is {SECRET}")
    demo.owner.answer(chat)
    demo.owner.send(chat, "/compact")
    found = wait_until(
        lambda: (
            "2 messages summarised" in (thread := demo.owner.thread(chat))
            and "goes on with its last" in thread
            and thread
        ),
        what="the divider",
    )
    message = int(found.partition('class="item user" id="m')[2].partition('"')[0])
    entry = found.partition('href="/memory/history/')[2].partition('"')[0]
    demo.owner.send(chat, "What is 3 + 3?")
    demo.owner.answer(chat)
    other = demo.owner.begin("What is 1 + 1?")
    thread = demo.owner.answer(other)
    turn = thread.rpartition('name="turn" value="')[2].partition('"')[0]
    demo.owner.post(f"/chat/{other}/regenerate", turn=turn)
    demo.owner.answer(other)
    answer = demo.owner.post("/chat/send", text="Between us.", temporary="1")
    temporary = answer.json()["conversation"]
    demo.owner.answer(temporary)
    return [
        f"/chat/{chat}/",
        f"/chat/{chat}/delete",
        f"/chat/{chat}/edit/{message}",
        f"/memory/history/{entry}",
        f"/chat/{other}/",
        f"/chat/{temporary}/",
        "/chat/?temporary=1",
    ]


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing(
    browse: Callable[..., Page],
    places: list[str],
    complaints: Complaints,
    width: int,
    scheme: str,
) -> None:
    """Dividers, entries, versions, temporary chats and the choice at deleting are usable by
    everybody, and none is wider than its window."""
    page = browse(**options(width, scheme))
    found: list[str] = []
    for path in places:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        found += faults(page)
        assert overflow(page) <= 0, path
    assert not found
    assert not complaints.left()
