"""The Memory page at a real browser, over the demo model: watched, undone, decided by keyboard."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import sign_in
from tests.e2e.test_look import faults, options, overflow
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, start
from tests.support.waiting import wait_until

FACTS = ("I live in Basel.", "I am allergic to hazelnuts.", "My daughter is called Mia.")
APPROVE = "agents.defaults.dream.approve"


@pytest.fixture(scope="module")
def demo(scratch: Path) -> Iterator[Stack]:
    """An instance with the demo model, which a person can walk through without a key."""
    stack = start(scratch / "dreaming")
    try:
        stack.manage("create_owner", "--username", OWNER, JENNY_OWNER_PASSWORD=PASSWORD)
        yield stack
    finally:
        stack.end()


@pytest.fixture(scope="module")
def person(demo: Stack) -> Client:
    """The owner, who has told three facts, which are in the history."""
    owner = Client(demo.url).login(OWNER, PASSWORD)
    told(demo, owner, *FACTS)
    return owner


@pytest.fixture
def opened(new_page: Callable[..., Page], demo: Stack, person: Client) -> Callable[..., Page]:
    """Open a page of a fresh browser in which the owner is logged in."""

    def make(**more: object) -> Page:
        page = new_page(base_url=demo.url, **more)
        sign_in(page, demo, person)
        return page

    return make


def told(demo: Stack, owner: Client, *facts: str) -> None:
    """Say the facts in a conversation, and have it summarised."""
    chat = owner.begin(facts[0])
    owner.answer(chat)
    for fact in facts[1:]:
        owner.send(chat, fact)
        owner.answer(chat)
    demo.manage("consolidate", "--workspace", OWNER)


def file_of(demo: Stack, path: str = "USER.md") -> str:
    """A file of the workspace, as it is."""
    return (demo.data.workspaces / OWNER / path).read_text()


def dream(page: Page) -> None:
    """Press Dream now, and wait on the page it leads to until the run is over."""
    page.goto("/memory/")
    follow(page, page.get_by_role("button", name="Dream now").click)
    expect(page.get_by_role("heading", name="What it read")).to_be_visible()


def test_facts_are_dreamt_watched_and_undone(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Three facts are said and summarised; Dream now leads to the run, whose page comes to its
    end by itself and shows the difference; Undo says what it would do, does it, and can be taken
    back; a second tab that still shows the run is told so."""
    page = opened()
    page.goto("/memory/")
    expect(page.locator(".stage").nth(1)).to_contain_text("waiting")
    dream(page)
    expect(page.locator("#run h2").first).to_have_text("Completed")
    expect(page.locator(".diff").first).to_contain_text("Basel")
    assert "Basel" in file_of(demo)
    other = opened()
    other.goto(page.url)
    follow(page, page.get_by_role("link", name="Undo").click)
    expect(page.locator(".diff").first).to_contain_text("Basel")
    follow(page, page.get_by_role("button", name="Undo it").click)
    expect(page.get_by_text("Taken back:")).to_be_visible()
    assert "Basel" not in file_of(demo)
    follow(other, other.get_by_role("link", name="Undo").click)
    expect(other.get_by_text("There is nothing to do")).to_be_visible()
    follow(page, page.get_by_role("link", name="Put it back").click)
    follow(page, page.get_by_role("button", name="Put it back").click)
    assert "Basel" in file_of(demo)


def test_what_waits_is_decided_by_keyboard(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """With every change waiting: j goes to a hunk, r rejects it, e opens its words to change and
    Enter on the button accepts them, a accepts; after each the next hunk has the focus."""
    person.post("/settings/memory/", **{APPROVE: "all"})
    before = file_of(demo)
    told(demo, person, "I live in Lisbon.", "I have a dog called Rex.", "I play the cello.")
    page = opened()
    dream(page)
    assert file_of(demo) == before
    page.goto("/memory/approvals/")
    hunks = page.locator("[data-hunk]")
    count = hunks.count()
    assert count >= 2
    page.keyboard.press("j")
    expect(hunks.first).to_be_focused()
    page.keyboard.press("r")
    expect(hunks).to_have_count(count - 1)
    expect(hunks.first).to_be_focused()
    page.keyboard.press("e")
    field = hunks.first.locator("textarea")
    expect(field).to_be_focused()
    field.fill("- Has it in my own words.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(hunks).to_have_count(count - 2)
    wait_until(
        lambda: any(
            "- Has it in my own words." in file_of(demo, path)
            for path in ("USER.md", "memory/MEMORY.md")
        ),
        what="the words to be written",
    )
    for left in range(count - 3, -1, -1):
        expect(hunks.first).to_be_focused()
        page.keyboard.press("a")
        expect(hunks).to_have_count(left)
    expect(page.locator("#nothing-waits")).to_be_focused()
    person.post("/settings/memory/", **{APPROVE: "off"})


def test_it_works_without_script(
    new_page: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """A line is pinned and a run is begun by forms alone; how far it is is seen by loading the
    page again, and it is found again from the picture."""
    page = new_page(base_url=demo.url, java_script_enabled=False)
    sign_in(page, demo, person)
    page.goto("/memory/files/USER.md")
    follow(page, page.locator(".line form button").first.click)
    expect(page.get_by_text("is pinned: Dream leaves it")).to_be_visible()
    page.goto("/memory/")
    follow(page, page.get_by_role("button", name="Dream now").click)
    address = page.url
    again = page.get_by_role("link", name="See how far it is")
    while again.is_visible():
        page.goto(address)
    expect(page.get_by_role("heading", name="What it read")).to_be_visible()
    page.goto("/memory/")
    follow(page, page.locator(".runs tbody th a").first.click)
    assert page.url == address


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_axe_finds_nothing_on_the_memory_pages(
    opened: Callable[..., Page], demo: Stack, person: Client, width: int, scheme: str
) -> None:
    """Usable by everybody, with much in them, and none wider than its window."""
    page = opened(**options(width, scheme))
    page.goto("/memory/runs/")
    runs = page.locator(".runs tbody th a")
    run = runs.last.get_attribute("href") if runs.count() else None
    paths = ["/memory/", "/memory/runs/", "/memory/approvals/", "/memory/archive/"]
    paths += ["/memory/forgotten/", "/memory/files/USER.md", "/memory/files/memory/MEMORY.md"]
    paths += [run, f"{run}undo/"] if run else []
    found: list[str] = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status in {200, 404}, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found
