"""The search and the palette: by keyboard, at every width, and without script."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.chat.test_attachments import attach, number
from tests.e2e.conftest import idle, new_words, only_for
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_server import Gate, ModelServer, Say
from tests.support import files
from tests.support.browser import follow
from tests.support.client import Client

FIELD = "Message to Jenny"


@pytest.fixture
def talk(owner: Client, model_server: ModelServer) -> Callable[[str], str]:
    """Begin a conversation that is answered."""

    def begin(words: str) -> str:
        model_server.script("The **answer** to it.", when=only_for(words))
        begun = owner.begin(words)
        owner.answer(begun)
        return begun

    return begin


def opened(page: Page) -> None:
    """The palette, by its key, with its first choices."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Go to or search")).to_be_focused()
    expect(page.locator("#finder").get_by_role("option").first).to_be_visible()


def test_the_palette_is_worked_by_the_keyboard(signed_in: Callable[..., Page]) -> None:
    """Arrows choose, Enter goes, Escape closes and gives the focus back; it is named for screen
    readers."""
    page = signed_in()
    page.goto("/memory/overview/")
    link = page.get_by_role("link", name="Snapshots", exact=True)
    link.focus()
    opened(page)
    field = page.get_by_role("combobox", name="Go to or search")
    page.keyboard.type("settings")
    expect(page.locator("#finder").get_by_role("option")).to_have_count(6)
    first, second = (page.locator("#finder").get_by_role("option").nth(number) for number in (0, 1))
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(second).to_have_attribute("aria-selected", "true")
    identity = second.get_attribute("id")
    assert identity
    expect(field).to_have_attribute("aria-activedescendant", identity)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    last = page.locator("#finder").get_by_role("option").last
    expect(last).to_have_attribute("aria-selected", "true")
    expect(last).to_contain_text("Search everything for “settings”")
    assert not faults(page)
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(link).to_be_focused()
    opened(page)
    page.keyboard.type("usage")
    # Without waiting: what was typed counts, not what is shown.
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page).to_have_url(re.compile("/settings/usage/$"))
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("nothing is called so")
    expect(page.locator("#finder").get_by_role("option")).to_have_count(1)
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page).to_have_url(re.compile(r"/search/\?q=nothing\+is\+called\+so$"))


def test_the_palette_offers_recent_conversations_and_commands(
    signed_in: Callable[..., Page], talk: Callable[[str], str], owner: Client
) -> None:
    """Nothing is typed: what was used last. A command is written into the message field, and a
    text that stands there is kept."""
    chat = talk(new_words())
    owner.post(f"/chat/{chat}/rename", title="Zebra crossing")
    page = signed_in()
    page.goto("/memory/")
    opened(page)
    follow(page, page.locator("#finder").get_by_role("option", name="Zebra crossing").click)
    expect(page).to_have_url(re.compile(f"/chat/{chat}/$"))
    field = page.get_by_label(FIELD)
    opened(page)
    page.keyboard.type("/stat")
    expect(page.locator("#finder").get_by_role("option").first).to_contain_text("/status")
    page.keyboard.press("Enter")
    expect(field).to_have_value("/status")
    expect(field).to_be_focused()
    opened(page)
    page.keyboard.type("/help")
    expect(page.locator("#finder").get_by_role("option").first).to_contain_text("/help")
    page.keyboard.press("Enter")
    expect(field).to_have_value("/status")
    expect(page.get_by_text("has a text already")).to_be_visible()
    page.goto("/memory/")
    opened(page)
    page.keyboard.type("/remem")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_label(FIELD)).to_have_value("/remember ")


def test_a_late_answer_does_not_replace_a_newer_one(signed_in: Callable[..., Page]) -> None:
    """The answer to what was typed first comes last, and is not shown."""
    page = signed_in()
    page.goto("/memory/")
    late: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.url.endswith("?q=snap"):
            late.append(route)
        else:
            route.continue_()

    page.route("**/search/palette*", hold)
    opened(page)
    with page.expect_request("**/search/palette?q=snap"):
        page.keyboard.type("snap")
    page.locator("#finder-field").fill("usage")
    expect(page.locator("#finder").get_by_role("option").first).to_contain_text("Usage")
    for route in late:
        route.continue_()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page.locator("#finder").get_by_role("option").first).to_contain_text("Usage")


def test_the_page_searches_while_one_types_and_leads_to_the_message(
    signed_in: Callable[..., Page], talk: Callable[[str], str]
) -> None:
    """Hits follow the words, the address keeps them, a kind stays chosen, and a hit leads to its
    message."""
    words = new_words()
    chat = talk(f"{words} about an ocelot")
    page = signed_in()
    page.goto("/search/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("ocelo")
    hit = page.locator(".hits li").first
    expect(hit.locator("mark")).to_have_text("ocelot")
    expect(page).to_have_url(re.compile(r"q=ocelo"))
    follow(page, page.get_by_role("link", name="Conversations", exact=True).click)
    page.get_by_role("searchbox").fill("ocelot")
    expect(page).to_have_url(re.compile("q=ocelot&kind=chats"))
    follow(page, page.locator(".hits a").first.click)
    expect(page).to_have_url(re.compile(f"/chat/{chat}/#m[0-9]+$"))
    expect(page.locator(".item:target")).to_contain_text("ocelot")


def test_an_attached_file_is_found_where_it_was_sent(
    signed_in: Callable[..., Page],
    talk: Callable[[str], str],
    owner: Client,
    model_server: ModelServer,
) -> None:
    """The text of a document leads to its message, that of a text file to its line, which says in
    which conversation it was sent; a replaced message shows its files."""
    words, other = new_words(), new_words()
    model_server.script("I see.", when=only_for(words))
    data = {"plan.pdf": files.pdf(["The okapi enclosure"]), "list.txt": b"Hay\nOkapi salt\n"}
    numbers = " ".join(number(attach(owner, name, one)) for name, one in data.items())
    sent = owner.post("/chat/send", text=words, attachments=numbers)
    chat = sent.json()["conversation"]
    owner.answer(chat)
    owner.post(f"/chat/{chat}/rename", title=f"Zoo {words}")
    page = signed_in(**options(360, "dark"))
    page.goto("/search/?q=okapi+enclosure")
    hit = page.locator(".hits li")
    expect(hit).to_have_count(1)
    expect(hit).to_contain_text("in the attached file plan.pdf (PDF)")
    follow(page, hit.get_by_role("link").click)
    expect(page.locator(".item:target")).to_contain_text("plan.pdf")
    page.goto("/search/?q=okapi+salt")
    expect(hit).to_contain_text("sent in")
    assert overflow(page) <= 0
    assert not faults(page)
    follow(page, hit.get_by_role("link", name=f"Zoo {words}").click)
    expect(page.locator(".item:target")).to_contain_text("list.txt")
    first = re.findall(r'id="m(\d+)"', owner.thread(chat))[0]
    model_server.script("Again.", when=only_for(other))
    owner.post(f"/chat/{chat}/edit/{first}", text=other)
    owner.answer(chat)
    page.goto(f"/chat/{chat}/at/{first}")
    rows = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    expect(rows).to_have_count(2)
    assert overflow(page) <= 0
    assert not faults(page)
    follow(page, rows.get_by_role("link", name="list.txt").click)
    expect(page.get_by_role("main")).to_contain_text("Okapi salt")


def test_a_replaced_message_is_found_and_its_version_shown(
    signed_in: Callable[..., Page],
    talk: Callable[[str], str],
    owner: Client,
    model_server: ModelServer,
) -> None:
    """What an edit replaced is among the old versions; its page shows it and brings it back."""
    words, other = new_words(), new_words()
    chat = talk(f"{words} about an axolotl")
    number = re.findall(r'id="m(\d+)"', owner.thread(chat))[0]
    model_server.script("Newts are small.", when=only_for(other))
    owner.post(f"/chat/{chat}/edit/{number}", text=f"{other} about a newt")
    owner.answer(chat)
    page = signed_in(**options(360, "dark"))
    page.goto("/search/?q=axolotl")
    follow(page, page.get_by_role("link", name="Search old versions too").click)
    hit = page.locator(".old .hits a")
    expect(hit).to_have_count(1)
    follow(page, hit.click)
    expect(page.get_by_role("main")).to_contain_text("in a version")
    expect(page.locator(f"#m{number}")).to_contain_text("axolotl")
    assert overflow(page) <= 0
    assert not faults(page)
    follow(page, page.get_by_role("button", name="Show this version").click)
    expect(page).to_have_url(re.compile(f"/chat/{chat}/#m{number}$"))
    expect(page.locator(".item:target")).to_contain_text("axolotl")


def test_without_script_a_form_and_links_do(
    signed_in: Callable[..., Page], talk: Callable[[str], str]
) -> None:
    """The navigation leads to the page, the form searches, links narrow it down."""
    words = new_words()
    talk(f"{words} about a narwhal")
    page = signed_in(java_script_enabled=False)
    page.goto("/memory/")
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_role("searchbox").fill("narwha")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hits mark").first).to_have_text("narwhal")
    follow(page, page.get_by_role("link", name="Wikis", exact=True).first.click)
    page.goto("/search/?q=narwha&kind=wikis")
    expect(page.get_by_text("Nothing was found in what is chosen above")).to_be_visible()
    page.get_by_role("link", name="Search everything, of any time").click()
    expect(page.locator(".hits mark").first).to_have_text("narwhal")


def test_keys_of_a_conversation(
    signed_in: Callable[..., Page], talk: Callable[[str], str], model_server: ModelServer
) -> None:
    """Next and previous conversation, copying the last answer, stopping one, to the field."""
    first, second = talk(new_words()), talk(new_words())
    page = signed_in(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/chat/{second}/")
    idle(page)
    page.keyboard.press("Escape")
    follow(page, lambda: page.keyboard.press("j"))
    expect(page).to_have_url(re.compile(f"/chat/{first}/$"))
    page.keyboard.press("Escape")
    follow(page, lambda: page.keyboard.press("k"))
    expect(page).to_have_url(re.compile(f"/chat/{second}/$"))
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    expect(page.get_by_role("button", name="Copied").last).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "The **answer** to it."
    words = new_words()
    model_server.script(Say("Half of it"), Gate(words), Say("the rest"), when=only_for(words))
    page.keyboard.press("c")
    page.get_by_label(FIELD).fill(words)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Half of it")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press(".")
    expect(page.locator(".ending").last).to_contain_text("Stopped")
    model_server.open(words)


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_the_search(
    signed_in: Callable[..., Page], talk: Callable[[str], str], width: int, scheme: str
) -> None:
    """Empty, with hits, without any, and with the palette open; none is wider than its window."""
    words = new_words()
    talk(f"{words} about a capybara")
    page = signed_in(**options(width, scheme))
    found: list[str] = []
    for query in (
        "",
        "?q=capybara",
        "?q=qwertzuiop&old=1",
        "?q=capybara&when=week&since=2026-01-01",
    ):
        page.goto(f"/search/{query}")
        assert overflow(page) <= 0, query
        found += faults(page)
    opened(page)
    assert overflow(page) <= 0
    found += faults(page)
    assert not found
