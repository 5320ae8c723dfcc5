"""A person makes a project, talks in it, tidies it and reads the result, with the demo model."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, sign_in
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, start

FACT = "the pear tree in row 4 was planted on 3 May 2026"


@dataclass
class Demo:
    """An instance without a model."""

    stack: Stack
    owner: Client

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return self.stack.data.workspaces / OWNER


@pytest.fixture(scope="module")
def demo(scratch: Path) -> Iterator[Demo]:
    """The instance of this module."""
    stack = start(scratch / "projects", has_owner=True)
    try:
        yield Demo(stack, Client(stack.url).login(OWNER, PASSWORD))
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


def write(page: Page, text: str) -> None:
    """Write a message and send it."""
    page.get_by_role("textbox", name="Message to Jenny").fill(text)
    page.get_by_role("button", name="Send").click()


def test_made_talked_in_tidied_and_read(demo: Demo, browse: Callable[..., Page]) -> None:
    """From the empty page of projects to a page that says what was said; another chat knows
    nothing of it."""
    page = browse()
    page.goto("/settings/projects/")
    expect(page.get_by_text("There is none yet")).to_be_visible()
    page.goto("/wiki/create/")
    page.get_by_label("Name").fill("orchard")
    page.get_by_label("What it is about").fill("Trees behind the house")
    follow(page, page.get_by_role("button", name="Create").first.click)
    follow(page, page.get_by_role("link", name="Talk in it").click)
    expect(page.get_by_text("nothing said here reaches Jenny’s memory")).to_be_visible()
    follow(page, lambda: write(page, f"Please note: {FACT}"))
    idle(page)
    (log,) = (demo.root / "wikis/orchard/log").glob("*.md")
    assert FACT in log.read_text()
    write(page, "/tidy")
    report = page.get_by_role("link", name="What was written")
    expect(report).to_be_visible()
    expect(page.get_by_text("1 line of the log of orchard went into 2 pages.")).to_be_visible()
    follow(page, report.click)
    expect(page.get_by_text(f"+- {FACT}")).to_be_visible()
    follow(page, page.get_by_role("link", name="Open orchard").click)
    follow(page, page.get_by_role("main").get_by_role("link", name="From the log").first.click)
    expect(page.get_by_text(FACT)).to_be_visible()
    history = demo.root / "memory/history.jsonl"
    assert not history.exists() or FACT not in history.read_text()
    page.goto("/chat/")
    follow(page, lambda: write(page, "search my files for nothing of the kind"))
    idle(page)
    expect(page.get_by_role("heading", name="Project orchard")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_pages_of_projects(
    demo: Demo, browse: Callable[..., Page], width: int, scheme: str
) -> None:
    """The new chat in one, a conversation there, the settings; none is wider than its window."""
    folder = demo.root / "wikis/a-name-that-is-rather-long-for-a-phone.but-allowed/wiki"
    folder.mkdir(parents=True, exist_ok=True)
    name = folder.parent.name
    answer = demo.owner.post("/chat/send", text="Hello", project=name)
    chat = str(answer.json()["conversation"])
    demo.owner.answer(chat)
    page = browse(**options(width, scheme))
    found: list[str] = []
    for path in (f"/chat/?project={name}", f"/chat/{chat}/", "/settings/projects/"):
        page.goto(path)
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found
    assert re.search(r"Project a-name", page.goto(f"/chat/{chat}/").text())  # type: ignore[union-attr]
