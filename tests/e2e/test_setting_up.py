"""Settings → Models, Skills, Workspaces, Privacy in a browser: by keyboard, in two tabs, live."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_server import Call
from tests.support.browser import Complaints, follow
from tests.support.place import Place, answers
from tests.support.stack import OWNER

PRESETS = {"far": {"model": "m", "baseUrl": "https://models.example"}}


def root_of(place: Place) -> Path:
    """The folder of the owner's first workspace; others come and go."""
    return Path(place.stack.data.workspaces / OWNER)


@pytest.fixture
def page_at(new_page: Callable[..., Page], place: Place) -> Callable[..., Page]:
    """Open a page of a fresh browser in which the owner is logged in."""

    def opened(**more: object) -> Page:
        page = new_page(base_url=place.stack.url, **more)
        cookies = place.owner.http.cookies.jar
        page.context.add_cookies(
            [{"name": c.name, "value": c.value or "", "url": place.stack.url} for c in cookies]
        )
        return page

    return opened


@pytest.fixture
def request_of(place: Place, words: str) -> Iterator[str]:
    """A conversation in which the model asked to change AGENTS.md; its address."""
    agents = root_of(place) / "AGENTS.md"
    agents.write_text("# Rules\n")
    arguments = {"path": "AGENTS.md", "old_text": "# Rules\n", "new_text": "# Rules\n\n- Short.\n"}
    mine = answers(words)
    place.model.script(Call("edit_file", arguments), when=mine)
    place.model.script("I asked you.", when=lambda asked: words in asked.texts("user")[0])
    chat = place.owner.begin(words)
    place.owner.answer(chat)
    yield f"/chat/{chat}/"
    place.owner.post("/settings/privacy/", pauseModelCalls="false")


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_and_nothing_is_wider_than_its_window(
    page_at: Callable[..., Page], place: Place, request_of: str, width: int, scheme: str
) -> None:
    """Each page, with something of each kind on it."""
    odd = root_of(place) / "skills" / "odd" / "SKILL.md"
    odd.parent.mkdir(parents=True, exist_ok=True)
    odd.write_text("---\ndescription: [\n---\n")
    settings = json.loads((root_of(place) / "config.json").read_text())
    (root_of(place) / "config.json").write_text(json.dumps(settings | {"modelPresets": PRESETS}))
    page = page_at(**options(width, scheme))
    found: list[str] = []
    page.goto(request_of)
    asks = page.get_by_role("link", name="See the change").get_attribute("href")
    for path in (
        request_of,
        asks or "",
        "/settings/models/",
        "/settings/models/preset/far/",
        "/settings/skills/",
        "/settings/skills/odd/",
        "/settings/workspaces/",
        "/settings/privacy/",
    ):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found


def test_a_change_is_allowed_in_the_thread(
    page_at: Callable[..., Page], place: Place, request_of: str
) -> None:
    """By keyboard, in place; every tab sees what became of it, without a reload."""
    first, second = page_at(), page_at()
    for page in (first, second):
        page.goto(request_of)
        expect(page.get_by_text("Jenny asks to change", exact=True)).to_be_visible()
    allow = first.get_by_role("button", name="Allow the change of AGENTS.md")
    allow.focus()
    first.keyboard.press("Enter")
    for page in (first, second):
        expect(page.get_by_text("Allowed: change of")).to_be_visible()
        expect(page.get_by_role("button", name="Allow the change")).to_have_count(0)
    assert (root_of(place) / "AGENTS.md").read_text().endswith("- Short.\n")


def test_two_tabs_on_two_workspaces(
    page_at: Callable[..., Page], complaints: Complaints, place: Place, words: str
) -> None:
    """The older tab says where it is, writes nothing anywhere, and keeps what was typed."""
    complaints.allow("status of 409")
    page = page_at()
    page.goto("/settings/conversation/")
    other = page.context.new_page()
    other.goto("/settings/workspaces/")
    other.get_by_label("Name", exact=True).last.fill(f"Other {words}"[:60])
    follow(other, other.get_by_role("button", name="Create, and work there").click)
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Messages in context").fill("55")
    follow(page, page.get_by_role("button", name="Save").click)
    expect(page.get_by_role("heading", name="Another workspace")).to_be_visible()
    assert "55" not in (root_of(place) / "config.json").read_text()
    made = next(one for one in place.stack.data.workspaces.iterdir() if one.name != OWNER)
    assert not (made / "config.json").exists()
    follow(page, page.get_by_role("button", name="Switch to").click)
    expect(page.locator(".kept-form")).to_contain_text("Nothing was stored before")
    # What is filled in again can be seen.
    expect(page.get_by_label("Messages in context")).to_be_visible()
    expect(page.get_by_label("Messages in context")).to_have_value("55")
    assert "55" not in (root_of(place) / "config.json").read_text()
    page.goto("/settings/workspaces/")
    follow(page, page.get_by_role("link", name="Delete… Other").click)
    follow(page, page.get_by_role("button", name="Delete “Other").click)
    expect(page.get_by_role("button", name="Bring back Other")).to_be_visible()


def test_looking_for_servers_and_testing_happen_in_place(
    page_at: Callable[..., Page], place: Place
) -> None:
    """Without leaving the page; the answer is announced where it stands."""
    page = page_at()
    page.goto("/settings/models/")
    page.get_by_role("button", name="Look for them").click()
    found = page.locator("#found")
    expect(found).not_to_be_empty()
    page.get_by_role("button", name="Test demo").click()
    expect(page.get_by_text("answered in")).to_be_visible()


def test_pausing_is_seen_at_once_and_resumed_from_any_page(
    page_at: Callable[..., Page], place: Place, words: str
) -> None:
    """The notice stands on every page and leads to the switch; what waited is answered live."""
    page = page_at()
    page.goto("/settings/privacy/")
    follow(page, page.get_by_role("button", name="Pause all model calls").click)
    expect(page.get_by_role("button", name="Resume model calls")).to_be_visible()
    chat = place.owner.begin(words)
    page.goto(f"/chat/{chat}/")
    expect(page.locator('[data-reason="paused"]')).to_be_visible()
    place.model.script("Here I am again.", when=answers(words))
    tab = page.context.new_page()
    tab.goto("/chat/")
    tab.locator(".quiet-notices summary").click()
    follow(tab, tab.get_by_role("link", name="Resume").click)
    follow(tab, tab.get_by_role("button", name="Resume model calls").click)
    expect(tab.get_by_text("One conversation goes on where it stopped.")).to_be_visible()
    expect(page.get_by_text("Here I am again.")).to_be_visible()


def test_a_button_says_what_it_waits_for(
    page_at: Callable[..., Page], complaints: Complaints
) -> None:
    """While a server is asked, the button that was pressed says so; afterwards it is as before."""
    complaints.allow("status of 422")
    page = page_at()
    page.goto("/settings/models/")
    page.get_by_label("Another: Ollama").check()
    # Nobody listens there.
    page.get_by_label("Address of the server").fill("http://127.0.0.1:1")
    page.get_by_label("Model", exact=True).fill("slow")
    page.evaluate(
        """() => addEventListener("submit", ({ submitter }) => {
             sessionStorage.said = `${submitter.textContent} ${submitter.ariaBusy}`;
           })"""
    )
    button = page.get_by_role("button", name="Save and use")
    follow(page, button.click)
    assert page.evaluate("sessionStorage.said") == "Asking the model… true"
    expect(page.get_by_role("alert")).to_contain_text("Not saved yet")
    expect(button).to_be_visible()
