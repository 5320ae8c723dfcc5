"""The Memory page at a real browser, over the demo model: watched, undone, decided by keyboard."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

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
    stack = start(scratch / "dreaming", has_owner=True)
    try:
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
    follow(page, page.get_by_role("button", name="Update memory now").click)
    expect(page.get_by_role("heading", name="What it read")).to_be_visible()


def test_facts_are_dreamt_watched_and_undone(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Three facts are said and summarised; Dream now leads to the run, whose page comes to its
    end by itself and shows the difference; Undo says what it would do, does it, and can be taken
    back; a second tab that still shows the run is told so."""
    page = opened()
    page.goto("/memory/overview/")
    expect(page.locator(".stage").nth(1)).to_contain_text("waiting")
    dream(page)
    expect(page.locator("#run h2").first).to_contain_text("Done: wrote")
    expect(page.locator(".diff").first).to_contain_text("Basel")
    assert "Basel" in file_of(demo)
    other = opened()
    other.goto(page.url)
    follow(page, page.get_by_role("link", name="Undo").click)
    expect(page.locator(".diff").first).to_contain_text("Basel")
    follow(page, page.get_by_role("button", name="Undo", exact=True).click)
    expect(page.get_by_text("Undone:")).to_be_visible()
    assert "Basel" not in file_of(demo)
    follow(other, other.get_by_role("link", name="Undo").click)
    expect(other.get_by_text("There is nothing to undo")).to_be_visible()
    follow(page, page.get_by_role("link", name="Redo").click)
    follow(page, page.get_by_role("button", name="Redo").click)
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
    hunks = page.locator("[data-row]")
    count = hunks.count()
    assert count >= 2
    page.keyboard.press("j")
    expect(hunks.first).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator("#notices [role=status]")).to_be_visible()
    expect(hunks).to_have_count(count - 1)
    expect(hunks.first).to_be_focused()
    buttons = hunks.first.locator(".decisions > button")
    before_edit = [button.bounding_box() for button in buttons.all()]
    page.keyboard.press("e")
    field = hunks.first.locator("textarea")
    expect(field).to_be_focused()
    assert [button.bounding_box() for button in buttons.all()] == before_edit
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
    follow(page, page.locator(".line-acts button[name=pin]").first.click)
    expect(page.get_by_text("is pinned: Dream leaves it")).to_be_visible()
    page.goto("/memory/")
    follow(page, page.get_by_role("button", name="Update memory now").click)
    address = page.url
    again = page.get_by_role("link", name="See how far it is")
    while again.is_visible():
        page.goto(address)
    expect(page.get_by_role("heading", name="What it read")).to_be_visible()
    page.goto("/memory/overview/")
    follow(page, page.locator(".runs tbody th a").first.click)
    assert page.url == address


def lines(demo: Stack, *texts: str) -> None:
    """Put lines of a test's own into the memory, as a text editor would."""
    path = demo.data.workspaces / OWNER / "USER.md"
    path.write_text(path.read_text() + "\n## Things\n\n" + "".join(f"- {one}\n" for one in texts))


def row(page: Page, text: str) -> Locator:
    """The line that says it."""
    return page.locator("[data-row]", has_text=text)


def test_a_line_is_edited_and_forgotten_in_place(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """The form opens under its line; what is saved stands there without a new page, and so does
    what Undo brings back. Why is answered in place, too."""
    lines(demo, "Collects blue stamps", "Owns a red canoe")
    page = opened()
    page.goto("/memory/")
    page.evaluate("document.body.dataset.same = 'yes'")
    row(page, "blue stamps").get_by_role("link", name="Edit").click()
    field = page.get_by_label("What the line says")
    expect(field).to_be_focused()
    field.fill("Collects green stamps")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(row(page, "green stamps")).to_be_visible()
    assert "- Collects green stamps" in file_of(demo)
    row(page, "red canoe").get_by_role("link", name="Why").click()
    expect(row(page, "red canoe").locator(".slot")).to_contain_text("text editor")
    row(page, "red canoe").get_by_role("button", name="Forget").click()
    expect(row(page, "red canoe")).to_have_count(0)
    assert "red canoe" not in file_of(demo)
    assert page.evaluate("document.body.dataset.same") == "yes"
    follow(page, page.get_by_role("button", name="Undo", exact=True).click)
    expect(row(page, "red canoe")).to_be_visible()
    assert "- Owns a red canoe" in file_of(demo)


def test_forgetting_leaves_the_place_and_shows_its_undo(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Down a long page, the last line of a file: the page does not jump to the next file's lines,
    and Undo is in sight."""
    lines(demo, *(f"Keeps parcel {number} in the shed" for number in range(40)))
    page = opened()
    page.goto("/memory/")
    last = row(page, "parcel 39")
    last.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    assert before > 400
    last.get_by_role("button", name="Forget").click()
    expect(last).to_have_count(0)
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_in_viewport()
    expect(page.locator("[data-row]:focus")).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 150


def test_lines_are_reached_and_changed_by_keyboard(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """The search is a key away; on a line a letter presses what it offers, Escape leaves its form,
    and the next line has the focus after one is forgotten."""
    lines(demo, "Sings in a choir", "Sings under the shower")
    page = opened()
    page.goto("/memory/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("sings")
    follow(page, lambda: page.keyboard.press("Enter"))
    page.keyboard.press("j")
    expect(row(page, "choir")).to_be_focused()
    page.keyboard.press("e")
    expect(page.get_by_label("What the line says")).to_be_focused()
    page.keyboard.press("Escape")
    expect(row(page, "choir")).to_be_focused()
    page.keyboard.press("f")
    expect(row(page, "choir")).to_have_count(0)
    expect(row(page, "shower")).to_be_focused()
    page.keyboard.press("p")
    expect(row(page, "shower").locator(".pinned")).to_be_visible()


def test_acts_on_one_line_leave_the_others_alone(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Enter on a tick presses nothing. What is half typed in one line, and ticks, stay while
    another is pinned, and no other form takes their place. Beyond the first part of a long file
    the line that was pinned keeps the focus."""
    lines(demo, "Paints boats", "Grows beans")
    skill = demo.data.workspaces / OWNER / "skills/rows/SKILL.md"
    skill.parent.mkdir(parents=True)
    items = "".join(f"- Item {number} of a row\n" for number in range(120))
    skill.write_text(f"---\nname: rows\ndescription: Rows.\n---\n\n# Rows\n\n{items}")
    page = opened()
    page.goto("/memory/?q=boats")
    row(page, "Paints boats").get_by_role("checkbox").press("Enter")
    expect(row(page, "Paints boats")).to_be_visible()
    page.goto("/memory/files/USER.md")
    row(page, "Grows beans").get_by_role("checkbox").check()
    row(page, "Grows beans").get_by_role("link", name="Edit").click()
    field = page.get_by_label("What the line says")
    field.fill("Grows beans and")
    row(page, "Paints boats").get_by_role("button", name="Pin").click()
    expect(row(page, "Paints boats").locator(".pinned")).to_be_visible()
    expect(field).to_have_value("Grows beans and")
    expect(row(page, "Grows beans").get_by_role("checkbox")).to_be_checked()
    row(page, "Grows beans").get_by_role("link", name="Move").click()
    expect(page.locator("#notices")).to_contain_text("Save what you typed in this line")
    field.fill("Grows beans and peas")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(row(page, "Grows beans and peas")).to_be_visible()
    assert "- Paints boats" in file_of(demo)
    page.goto("/memory/files/skills/rows/SKILL.md")
    follow(page, page.locator(".parts a").last.click)
    row(page, "Item 119 of a row").focus()
    page.keyboard.press("p")
    expect(row(page, "Item 119 of a row").locator(".pinned")).to_be_visible()
    expect(row(page, "Item 119 of a row")).to_be_focused()


def test_numbers_that_change_leave_the_focus(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Whoever is on a button of the live numbers stays on it when new ones come, and so does
    whoever is on a link of a notice."""
    page = opened()
    page.goto("/memory/")
    button = page.get_by_role("button", name="Update memory now")
    button.focus()
    asked = "htmx.ajax('GET', '/memory/strip', {target: '#strip', swap: 'outerHTML'})"
    page.evaluate(asked)
    expect(button).to_be_focused()
    page.evaluate(
        """const link = document.createElement("a");
        link.href = "/"; link.id = "its-link"; link.textContent = "Show";
        document.getElementById("standing").append(link); link.focus()"""
    )
    with page.expect_response("**/notices/*"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("new Promise((done) => setTimeout(done))")
    expect(page.locator("#its-link")).to_be_focused()


def test_several_lines_are_forgotten_without_script(
    new_page: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Ticked lines are named once more, and only those that stay ticked are forgotten; on a phone
    as well."""
    lines(demo, "Likes figs", "Likes plums", "Likes pears")
    page = new_page(
        base_url=demo.url,
        java_script_enabled=False,
        viewport={"width": 360, "height": 800},
        is_mobile=True,
        has_touch=True,
    )
    sign_in(page, demo, person)
    page.goto("/memory/?q=likes")
    for text in ("figs", "plums", "pears"):
        row(page, text).get_by_role("checkbox").check()
    follow(page, page.get_by_role("button", name="Forget…").click)
    expect(page.get_by_role("heading", name="Forget 3 lines?")).to_be_visible()
    page.get_by_role("checkbox", name="Likes pears").uncheck()
    follow(page, page.get_by_role("button", name="Forget").click)
    expect(page.get_by_text("Forgotten: 2 lines in ")).to_be_visible()
    assert "figs" not in file_of(demo)
    assert "- Likes pears" in file_of(demo)


def test_an_update_takes_in_what_was_just_said(
    opened: Callable[..., Page], demo: Stack, person: Client
) -> None:
    """Nothing was summarised before: one press is enough to have it among what Jenny knows."""
    person.answer(person.begin("I am allergic to walnuts."))
    page = opened()
    dream(page)
    page.goto("/memory/")
    expect(page.locator("#lines")).to_contain_text("walnuts")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_axe_finds_nothing_on_the_memory_pages(
    opened: Callable[..., Page], demo: Stack, person: Client, width: int, scheme: str
) -> None:
    """Usable by everybody, with much in them, and none wider than its window."""
    page = opened(**options(width, scheme))
    page.goto("/memory/runs/")
    runs = page.locator(".runs tbody th a")
    run = runs.last.get_attribute("href") if runs.count() else None
    paths = [
        "/memory/",
        "/memory/overview/",
        "/memory/history/",
        "/memory/?q=a",
        "/memory/runs/",
        "/memory/approvals/",
        "/memory/archive/",
    ]
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


def test_hints_for_a_keyboard_are_for_those_who_have_one(opened: Callable[..., Page]) -> None:
    """A touch screen shows none."""
    page = opened()
    page.goto("/memory/")
    expect(page.locator("p.keys")).to_be_visible()
    page = opened(**options(360, "light"))
    page.goto("/memory/")
    expect(page.locator("p.keys")).to_be_hidden()
