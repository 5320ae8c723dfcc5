"""The list of conversations in a browser: by scrolling, by keyboard, for everybody."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, new_words, only_for, sign_in
from tests.model_server import Gate, ModelServer
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import PASSWORD, Stack
from tests.support.waiting import wait_until

MAKE = """
from datetime import timedelta
from django.utils import timezone
from jenny.accounts.models import Account, Workspace
from jenny.chat.models import Conversation
from jenny.chat.services import conversation_list
account = Account.objects.make_account("scroller", {password!r}, "UTC")
row = Workspace.objects.get(owner=account)
now = timezone.now()
made = Conversation.objects.bulk_create(
    Conversation(workspace=row, title=f"talk {{n:03}}", active_at=now - timedelta(minutes=n))
    for n in range(130)
)
conversation_list.tag(row, made[:3], "Boats")
"""


@pytest.fixture(scope="module")
def scroller(scripted: Stack) -> Client:
    """Somebody with 130 conversations."""
    scripted.manage("shell", "-v0", "-c", MAKE.format(password=PASSWORD))
    return Client(scripted.url).login("scroller", PASSWORD)


@pytest.fixture
def page_of(
    new_page: Callable[..., Page], scripted: Stack, scroller: Client
) -> Callable[..., Page]:
    """A browser in which that person is logged in."""

    def make(**options: object) -> Page:
        page = new_page(base_url=scripted.url, **options)
        sign_in(page, scripted, scroller)
        return page

    return make


def test_the_list_goes_on_as_one_scrolls(page_of: Callable[..., Page]) -> None:
    """Scrolling loads the rest, on the page and in the side list, without a press."""
    page = page_of(viewport={"width": 1280, "height": 800})
    page.goto("/chat/all/")
    rows = page.locator("#listing .rows > li")
    rail = page.locator("#conversations li")
    expect(rows).to_have_count(50)
    expect(rail).to_have_count(60)
    for shown, selector in ((rows, "#listing .next-page"), (rail, "#conversations .next-page")):
        for _ in range(3):
            more = page.locator(selector)
            if not more.count():
                break
            count = shown.count()
            more.scroll_into_view_if_needed()
            expect(shown).not_to_have_count(count)
        expect(shown).to_have_count(130)
    titles = rows.locator(".what a[dir]").all_inner_texts()
    assert titles == [f"talk {number:03}" for number in range(130)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_pages_can_be_used_by_everybody(
    page_of: Callable[..., Page], scroller: Client, width: int, scheme: str
) -> None:
    """The list with something chosen, the trash, name and tags: axe finds nothing, and no page is
    wider than its window."""
    page = page_of(
        viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce",
        has_touch=width < 500, is_mobile=width < 500,
    )  # fmt: skip
    page.goto("/chat/all/?tag=Boats")
    address = page.locator("#listing .what a[dir]").first.get_attribute("href")
    assert address
    key = address.split("/")[2]
    other = page.locator("#listing [name=chosen]").last.get_attribute("value")
    scroller.post("/chat/all/act", act=f"delete:{other}", memory="keep")
    faults = []
    for path in ("/chat/all/", "/chat/trash/", f"/chat/{key}/about", f"/chat/{key}/"):
        page.goto(path)
        if path == "/chat/all/":
            page.locator("[name=chosen]").first.check()
            expect(page.locator("[data-chosen]")).to_have_text("1 chosen")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        faults += [(path, one["id"], [node["html"] for node in one["nodes"]])
                   for one in Axe().run(page).response["violations"]]  # fmt: skip
    page.goto("/chat/all/")
    for number in (0, 1):
        page.locator("#listing [name=chosen]").nth(number).check()
    follow(page, page.get_by_role("button", name="Delete…", exact=True).click)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    faults += [(one["id"], [node["html"] for node in one["nodes"]])
               for one in Axe().run(page).response["violations"]]  # fmt: skip
    scroller.post("/chat/trash/act", act=f"back:{other}")
    assert not faults


def test_several_are_deleted_and_come_back(page_of: Callable[..., Page]) -> None:
    """Ticked by the keyboard, deleted together after a question, and brought back by the notice's
    Undo."""
    page = page_of()
    page.goto("/chat/all/")
    boxes = page.locator("#listing [name=chosen]")
    for number in (0, 1):
        boxes.nth(number).focus()
        page.keyboard.press("Space")
    expect(page.locator("[data-chosen]")).to_have_text("2 chosen")
    follow(page, page.get_by_role("button", name="Delete…", exact=True).click)
    expect(page.get_by_role("heading", name="Delete these 2 conversations?")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("talk 001")
    follow(page, page.get_by_role("link", name="Keep them").click)
    expect(page.locator("#listing")).to_contain_text("talk 001")
    for number in (0, 1):
        boxes.nth(number).check()
    follow(page, page.get_by_role("button", name="Delete…", exact=True).click)
    follow(page, page.get_by_role("button", name="Delete them").click)
    expect(page.locator("#notices")).to_contain_text("2 conversations deleted.")
    expect(page.locator("#listing")).not_to_contain_text("talk 001")
    follow(page, page.locator("#notices").get_by_role("button", name="Undo").click)
    expect(page.locator("#listing")).to_contain_text("talk 001")


def test_the_list_is_worked_without_script(page_of: Callable[..., Page]) -> None:
    """By a form and links: filters, the next page, pinning, deleting several with the question,
    the trash, and a name."""
    page = page_of(java_script_enabled=False)
    page.goto("/chat/")
    follow(page, page.get_by_role("link", name="All conversations").click)
    rows = page.locator("#listing .rows > li")
    expect(rows).to_have_count(50)
    follow(page, page.get_by_role("link", name="More conversations").last.click)
    expect(rows.first).to_contain_text("talk 050")
    follow(page, page.get_by_role("link", name="Back to the newest").click)
    page.locator(".filters [name=tag]").select_option("Boats")
    follow(page, page.get_by_role("button", name="Show").click)
    expect(rows).to_have_count(3)
    first = rows.first
    first.locator("summary").click()
    follow(page, first.get_by_role("button", name="Pin").click)
    expect(page.locator("#notices")).to_contain_text("1 conversation pinned.")
    rows.first.locator("summary").click()
    follow(page, rows.first.get_by_role("button", name="Unpin").click)
    for number in (1, 2):
        rows.nth(number).get_by_role("checkbox").check()
    follow(page, page.get_by_role("button", name="Delete…", exact=True).click)
    follow(page, page.get_by_role("button", name="Delete them").click)
    expect(page).to_have_url(re.compile(r"/chat/all/\?tag=Boats$"))
    expect(rows).to_have_count(1)
    follow(page, page.locator("#notices").get_by_role("button", name="Undo").click)
    follow(page, page.get_by_role("link", name="Trash").click)
    expect(page.get_by_role("main")).not_to_contain_text("talk 002")


def is_unread(owner: Client, chat: str) -> bool:
    """Whether the list of what is unread has the conversation."""
    listing = owner.get("/chat/all/?show=unread").text.partition('id="listing"')[2]
    return f"/chat/{chat}/" in listing.partition("</main>")[0]


def test_an_answer_is_unread_until_its_page_is_seen(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """An answer that ends before one's eyes is not marked; one that ends elsewhere is, in the side
    list of the page that is open."""
    first, second = new_words(), new_words()
    page = signed_in()
    model_server.script("Seen.", when=only_for(first))
    chat = owner.begin(first)
    page.goto(f"/chat/{chat}/")
    idle(page)
    owner.answer(chat)
    wait_until(lambda: not is_unread(owner, chat), what="the answer to be seen")
    page.reload()
    idle(page)
    model_server.script(Gate(second), "Elsewhere.", when=only_for(second))
    other = owner.begin(second)
    page.reload()
    row = page.locator(f'#conversations a[href="/chat/{other}/"]')
    expect(row.locator(".alive")).to_be_visible()
    model_server.open(second)
    expect(row.locator(".unread")).to_be_visible()
    model_server.script("Before one's eyes.", when=only_for(f"more {first}"))
    with page.expect_response(lambda answer: answer.url.endswith(f"/chat/{chat}/seen")):
        page.get_by_label("Message to Jenny").fill(f"more {first}")
        page.keyboard.press("Enter")
    page.goto("/chat/all/?show=unread")
    listing = page.locator("#listing")
    expect(listing).to_contain_text("new answer")
    expect(listing.locator(f'a[href="/chat/{chat}/"]')).to_have_count(0)


def test_a_message_is_copied_as_markdown_and_branches_off(
    signed_in: Callable[..., Page], scripted: Stack, owner: Client, model_server: ModelServer
) -> None:
    """Its Markdown alone is on the clipboard, and the branch opens with a link to where it came
    from."""
    words = new_words()
    model_server.script("It is **so**.", when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    page = signed_in()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=scripted.url)
    page.goto(f"/chat/{chat}/")
    idle(page)
    answer = page.locator(".item.answer")
    answer.hover()
    more = answer.locator(".more-acts > summary")
    expect(more).to_have_css("opacity", "1")
    more.click()
    expect(answer.locator(".more-acts form .quiet")).to_have_css("opacity", "1")
    answer.get_by_role("button", name="Copy as Markdown").click()
    expect(answer.get_by_text("Copied")).to_be_visible()
    kinds = page.evaluate("navigator.clipboard.read().then((items) => items[0].types)")
    assert kinds == ["text/plain"]
    assert page.evaluate("navigator.clipboard.readText()") == "It is **so**."
    follow(page, answer.get_by_role("button", name="Branch into a new conversation").click)
    number = re.findall(r'id="m(\d+)"', owner.thread(chat))[-1]
    link = page.locator(".branched a")
    expect(link).to_have_attribute("href", f"/chat/{chat}/at/{number}")
    expect(page.locator(".item.answer")).to_contain_text("It is so.")
