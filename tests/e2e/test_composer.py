"""Writing: what is typed is never lost, never sent twice, and always says what became of it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import MARKDOWN, Everything, idle, new_words, only_for
from tests.model_server import Fail, Gate, ModelServer, Say, Stop
from tests.support.browser import Complaints, follow
from tests.support.chat import asked
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack
from tests.support.waiting import wait_until

FIELD = "Message to Jenny"
COPIED = "navigator.clipboard.readText()"


@pytest.fixture
def chat(owner: Client, model_server: ModelServer) -> str:
    """A conversation with one exchange."""
    words = new_words()
    model_server.script("Yes.", when=only_for(words))
    begun = owner.begin(words)
    owner.answer(begun)
    return begun


@pytest.fixture
def page(signed_in: Callable[..., Page], chat: str) -> Page:
    """Its page."""
    opened = signed_in()
    opened.goto(f"/chat/{chat}/")
    return opened


def test_enter_sends_and_shift_enter_breaks(page: Page, model_server: ModelServer) -> None:
    """Enter sends what stands there, Shift+Enter makes a line; an empty field sends nothing."""
    words = new_words()
    field = page.get_by_label(FIELD)
    field.press("Enter")
    field.press_sequentially(words)
    field.press("Shift+Enter")
    field.press_sequentially("second line")
    expect(field).to_have_value(f"{words}\nsecond line")
    field.press("Enter")
    expect(field).to_have_value("")
    said = page.locator(".user .words").last
    expect(said).to_have_text(f"{words}\nsecond line")
    wait_until(lambda: asked(model_server, f"{words}\nsecond line"), what="the model to be asked")


@pytest.mark.parametrize("command", ["/status", "/new"])
def test_a_command_is_shown_once(page: Page, command: str) -> None:
    """What was shown while a command was being sent gives way to the command and its reply."""
    field = page.get_by_label(FIELD)
    field.fill(command)
    field.press("Enter")
    expect(page.locator(".item.reply, .item.divider")).to_have_count(1)
    expect(page.locator(".pending")).to_have_count(0)


def test_an_input_method_that_composes_keeps_its_enter(page: Page, owner: Client) -> None:
    """Enter that picks a word of an input method does not send."""
    field = page.get_by_label(FIELD)
    field.fill("にほ")
    for options in ({"isComposing": True}, {"keyCode": 229}):
        field.dispatch_event("keydown", {"key": "Enter", "cancelable": True, **options})
    expect(field).to_have_value("にほ")


def test_the_field_grows_with_what_is_written(page: Page) -> None:
    """Long text has room, up to a part of the window; the rest scrolls inside."""
    field = page.get_by_label(FIELD)
    low = field.evaluate("field => field.clientHeight")
    field.fill("line\n" * 6)
    high = field.evaluate("field => field.clientHeight")
    field.fill("line\n" * 200)
    highest = field.evaluate("field => field.clientHeight")
    assert low < high < highest <= page.evaluate("innerHeight") * 0.5


def test_a_draft_survives_a_reload_and_another_browser(
    page: Page, signed_in: Callable[..., Page], chat: str
) -> None:
    """What was typed and not sent is there after a reload, and elsewhere a moment later."""
    with page.expect_response(re.compile("/draft$")):
        page.get_by_label(FIELD).fill("half a thought")
    page.reload()
    expect(page.get_by_label(FIELD)).to_have_value("half a thought")
    elsewhere = signed_in()
    elsewhere.goto(f"/chat/{chat}/")
    expect(elsewhere.get_by_label(FIELD)).to_have_value("half a thought")


def test_a_draft_survives_without_the_server(page: Page, complaints: Complaints) -> None:
    """The browser keeps the draft when the server could not take it."""
    complaints.allow("net::ERR")
    page.route(re.compile("/draft$"), lambda route: route.abort())
    page.get_by_label(FIELD).fill("only here")
    page.reload()
    expect(page.get_by_label(FIELD)).to_have_value("only here")


def test_sending_takes_the_draft_along(page: Page) -> None:
    """A sent text does not come back as a draft."""
    field = page.get_by_label(FIELD)
    field.fill("/status")
    with page.expect_response(re.compile("/send$")):
        field.press("Escape")
        field.press("Enter")
    expect(page.get_by_text("Context", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label(FIELD)).to_have_value("")


def test_a_text_that_does_not_get_there_goes_back(page: Page, complaints: Complaints) -> None:
    """Jenny is not reachable: the text stands in the field again, with a sentence."""
    complaints.allow("net::ERR")
    page.route(re.compile("/send$"), lambda route: route.abort())
    field = page.get_by_label(FIELD)
    field.fill("do not lose me")
    field.press("Enter")
    expect(page.locator("#status")).to_contain_text("Your text is back in the field")
    expect(field).to_have_value("do not lose me")
    expect(page.locator(".pending")).to_have_count(0)


def test_an_answer_that_is_lost_does_not_double_the_message(
    page: Page, complaints: Complaints, chat: str, owner: Client
) -> None:
    """The server has the message, the page does not know: sent again, it is one message."""
    complaints.allow("net::ERR")
    words = new_words()

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(re.compile("/send$"), lose, times=1)
    field = page.get_by_label(FIELD)
    field.fill(words)
    field.press("Enter")
    expect(page.locator(".user:not(.pending) .words", has_text=words)).to_have_count(1)
    expect(field).to_have_value("")
    expect(page.locator(".answer")).to_have_count(2)
    idle(page)
    assert owner.page(chat).count(f">{words}<") == 1


def test_pressing_twice_sends_once(page: Page, owner: Client, chat: str) -> None:
    """An impatient second press is not a second message."""
    words = new_words()
    page.get_by_label(FIELD).fill(words)
    page.get_by_role("button", name="Send").dblclick()
    expect(page.locator(".answer")).to_have_count(2)
    idle(page)
    assert owner.page(chat).count(f">{words}<") == 1


def test_a_refused_text_says_why(page: Page, complaints: Complaints) -> None:
    """A text that the server does not take stays, with the server's own sentence."""
    complaints.allow("422")
    page.route(
        re.compile("/send$"),
        lambda route: route.fulfill(status=422, json={"message": "It is far too long."}),
    )
    field = page.get_by_label(FIELD)
    field.fill("long")
    field.press("Enter")
    expect(page.locator("#status")).to_contain_text("It is far too long.")
    expect(field).to_have_value("long")


def test_an_ended_session_keeps_the_text(
    new_page: Callable[..., Page], scripted: Stack, chat: str, complaints: Complaints
) -> None:
    """AUT1: logged out while writing: sending leads to the login and back, the text waits there."""
    complaints.allow("401")  # what is typed is saved meanwhile, and refused by then
    page = new_page(base_url=scripted.url)
    page.goto("/login/")
    log_in(page)
    page.goto(f"/chat/{chat}/")
    page.context.clear_cookies(name=re.compile("^jenny_session_"))
    page.get_by_label(FIELD).fill("written too late")
    follow(page, lambda: page.get_by_label(FIELD).press("Enter"))
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    log_in(page)
    expect(page).to_have_url(re.compile(f"/chat/{chat}/$"))
    expect(page.get_by_label(FIELD)).to_have_value("written too late")


def test_a_page_opened_after_the_session_ended_leads_to_the_login(
    new_page: Callable[..., Page], scripted: Stack, chat: str
) -> None:
    """Also once the browser asks through the service worker, as it does from the second page on:
    what it then says of itself looks like a script's request."""
    page = new_page(base_url=scripted.url, service_workers="allow")
    page.goto("/login/")
    log_in(page)
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    page.context.clear_cookies(name=re.compile("^jenny_session_"))
    page.goto(f"/chat/{chat}/")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    log_in(page)
    expect(page).to_have_url(re.compile(f"/chat/{chat}/$"))


def log_in(page: Page) -> None:
    """Fill in the login and wait for the page behind it."""
    page.get_by_label("User name").fill(OWNER)
    page.get_by_label("Password").fill(PASSWORD)
    follow(page, page.get_by_role("button", name="Log in").click)
    expect(page.get_by_label(FIELD)).to_be_visible()


# --- The slash commands ----------------------------------------------------------------------


def test_a_slash_opens_the_commands(page: Page) -> None:
    """Typing narrows the list, arrows choose, Enter fills in and then sends."""
    field = page.get_by_label(FIELD)
    field.press_sequentially("/")
    options = page.get_by_role("listbox").get_by_role("option")
    expect(options.first).to_be_visible()
    assert options.count() >= 7
    field.press_sequentially("st")
    expect(options).to_have_text([re.compile("/stop"), re.compile("/status")])
    field.press("ArrowDown")
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    expect(chosen).to_have_text(re.compile("/status"))
    assert field.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    field.press("Enter")
    expect(field).to_have_value("/status")
    expect(page.get_by_role("listbox")).to_be_hidden()
    field.press("Enter")
    expect(page.locator(".command .words").last).to_have_text("/status")


def test_a_command_with_an_argument_waits_for_it(page: Page) -> None:
    """Chosen by the mouse, it stands in the field with room for its argument."""
    field = page.get_by_label(FIELD)
    field.press_sequentially("/mo")
    page.get_by_role("listbox").get_by_role("option").first.click()
    expect(field).to_have_value("/model ")
    expect(field).to_be_focused()


def test_escape_leaves_the_slash_alone(page: Page) -> None:
    """Who wants to write a slash can: Escape shuts the list, and other text never opens it."""
    field = page.get_by_label(FIELD)
    field.press_sequentially("/")
    field.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(field).to_have_value("/")
    field.fill("either/or")
    expect(page.get_by_role("listbox")).to_be_hidden()


# --- Answers that ended before their end ------------------------------------------------------


def test_an_answer_that_failed_is_tried_again(
    page: Page, chat: str, owner: Client, model_server: ModelServer
) -> None:
    """The reason stands below the answer with a button; pressed, the same question is answered,
    and the button is gone."""
    words = new_words()
    model_server.script(Fail(400, "invalid_request_error", "No."), when=only_for(words))
    owner.send(chat, words)
    ending = page.locator(".ending")
    expect(ending).to_be_visible()
    model_server.script("Now it works.", when=only_for(words))
    ending.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Now it works.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    expect(page.locator(".user .words", has_text=words)).to_have_count(1)


def test_an_answer_that_was_cut_goes_on(
    page: Page, chat: str, owner: Client, model_server: ModelServer
) -> None:
    """A reply cut by its limit says so and offers to go on."""
    words = new_words()
    model_server.script("The first half", Stop("max_tokens"), when=only_for(words))
    owner.send(chat, words)
    expect(page.locator(".ending")).to_contain_text("length limit")
    model_server.script("and the second.", when=only_for("Continue."))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("and the second.")).to_be_visible()


def test_an_example_takes_nothing_that_was_typed(signed_in: Callable[..., Page]) -> None:
    """It fills an empty field, takes another example's place, and comes after one's own words."""
    page = signed_in()
    page.goto("/chat/")
    field = page.get_by_label("Message to Jenny")
    starts = page.locator("#welcome [data-start]")
    texts = [starts.nth(at).get_attribute("data-start") or "" for at in (0, 1)]
    starts.nth(0).click()
    starts.nth(1).click()
    expect(field).to_have_value(texts[1])
    field.fill("My own words")
    starts.nth(0).click()
    expect(field).to_have_value(f"My own words\n{texts[0]}")


# --- Copying ---------------------------------------------------------------------------------


def test_code_and_messages_can_be_copied(
    signed_in: Callable[..., Page], scripted: Stack, everything: Everything
) -> None:
    """One press takes a piece of code, or a message with its formatting."""
    page = signed_in()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=scripted.url)
    page.goto(f"/chat/{everything.chat}/")
    page.get_by_role("button", name="Copy code").first.click()
    page.wait_for_function(f"{COPIED}.then(text => text.startsWith('def monthly('))")
    code = MARKDOWN.partition("```python\n")[2].partition("\n```")[0]
    assert page.evaluate(COPIED) == code, "no line end that is not part of it"
    expect(page.locator("#announce")).to_have_text("Copied")
    with page.expect_response("**/files/save-code"):
        page.get_by_role("button", name="Save code in the workspace").first.click()
    expect(page.locator("#announce")).to_contain_text("Saved as output/code")
    saved = page.locator(".code-saved a").first.text_content() or ""
    assert saved.endswith(".py")
    assert (scripted.data.workspaces / OWNER / saved).read_text() == f"{code}\n"
    wide = page.locator(".code pre").first
    expect(wide).to_be_visible()
    assert wide.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    page.get_by_role("button", name="Wrap lines").first.click()
    fits = "pre => pre.scrollWidth <= pre.clientWidth"
    page.wait_for_function(fits, arg=wide.element_handle())
    answer = page.locator(".answer", has_text="You decided on")
    answer.hover()
    answer.locator("footer").get_by_role("button", name="Copy").click()
    page.wait_for_function(f"{COPIED}.then(text => text.includes('4 November'))")
    words = page.evaluate(COPIED)
    assert MARKDOWN.strip() in words, "the source, as it was written"
    assert "Python\nCopy" not in words, "the page's own labels are not the answer's"
    kinds = page.evaluate("navigator.clipboard.read().then(items => items[0].types)")
    assert set(kinds) == {"text/plain", "text/html"}


def test_a_selection_keeps_what_is_drawn(
    signed_in: Callable[..., Page], scripted: Stack, everything: Everything
) -> None:
    """Numbers, bullets, fences and addresses of what is selected are copied with it."""
    page = signed_in()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=scripted.url)
    page.goto(f"/chat/{everything.chat}/")
    prose = page.locator(".answer .prose", has_text="Ask for a second offer.").last
    prose.evaluate("prose => getSelection().selectAllChildren(prose)")
    page.keyboard.press("ControlOrMeta+c")
    page.wait_for_function(f"{COPIED}.then(text => text.includes('second offer'))")
    words = page.evaluate(COPIED)
    for part in (
        "1. Ask for a second offer.",
        "2. ",
        "- Read the meter",
        "[the page](https://example.org/page)",
        "```\ndef monthly(",
        "**4 November**",
        "> The plumber said so.",
    ):
        assert part in words


# --- Touch and direction ---------------------------------------------------------------------


def test_on_a_touch_screen_enter_makes_a_line(
    signed_in: Callable[..., Page], chat: str, model_server: ModelServer
) -> None:
    """There is no Shift and Enter on it; the button sends."""
    page = signed_in(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page.goto(f"/chat/{chat}/")
    words = new_words()
    field = page.get_by_label(FIELD)
    field.press_sequentially(words)
    field.press("Enter")
    field.press_sequentially("second line")
    expect(field).to_have_value(f"{words}\nsecond line")
    expect(field).to_have_attribute("enterkeyhint", "enter")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator(".user .words").last).to_have_text(f"{words}\nsecond line")
    wait_until(lambda: asked(model_server, f"{words}\nsecond line"), what="the model to be asked")


def test_text_runs_as_its_letters_do(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """Arabic and Hebrew begin at the right, in messages, lists, tables and the composer; code and
    English do not."""
    words = new_words()
    answer = (
        "مرحبا بك.\n\nHello there.\n\n- שלום\n- עולם\n\n> اقتباس\n\n"
        "| עברית | English |\n|---|---|\n| שלום | word |\n\n```\nשלום = 1\n```\n"
    )
    model_server.script(answer, when=only_for(words))
    said = f"שאלה {words}"
    begun = owner.begin(said)
    owner.answer(begun)
    page = signed_in()
    page.goto(f"/chat/{begun}/")
    prose = page.locator(".answer .prose")

    def direction(text: str, tag: str) -> str:
        where = prose.locator(tag, has_text=text).first
        return str(where.evaluate("e => getComputedStyle(e).direction"))

    for text, tag in (
        ("مرحبا", "p"),
        ("שלום", "li"),
        ("שלום", "ul"),
        ("اقتباس", "blockquote"),
        ("עברית", "th"),
        ("עברית", "table"),
        ("שלום", "td"),
    ):
        assert direction(text, tag) == "rtl", (text, tag)
    for text, tag in (("Hello", "p"), ("English", "th"), ("word", "td"), ("שלום = 1", "pre")):
        assert direction(text, tag) == "ltr", (text, tag)
    align = "e => getComputedStyle(e).textAlign"
    for tag in ("p", "td", "th"):
        assert prose.locator(tag).first.evaluate(align) == "start"
    own = page.locator(".user .words").last
    assert own.evaluate("e => getComputedStyle(e).direction") == "rtl"
    field = page.get_by_label(FIELD)
    field.fill("مرحبا")
    assert field.evaluate("e => getComputedStyle(e).direction") == "rtl"
    field.fill("Hello")
    assert field.evaluate("e => getComputedStyle(e).direction") == "ltr"


# --- Without script --------------------------------------------------------------------------


def test_a_chat_can_be_held_without_script(
    signed_in: Callable[..., Page], model_server: ModelServer, owner: Client
) -> None:
    """Forms post and redirect: write, see the answer after a reload, stop, try again, rename,
    delete."""
    words = new_words()
    model_server.script("An answer.", when=only_for(words))
    page = signed_in(java_script_enabled=False)
    page.goto("/chat/")
    page.get_by_label(FIELD).fill(words)
    follow(page, page.get_by_role("button", name="Send").click)
    chat = page.url.rstrip("/").rsplit("/", 1)[1]
    owner.answer(chat)
    page.reload()
    expect(page.get_by_text("An answer.")).to_be_visible()
    gate = new_words()
    model_server.script(Say("Begun"), Gate(gate), when=only_for(gate))
    page.get_by_label(FIELD).fill(gate)
    follow(page, page.get_by_role("button", name="Send").click)
    wait_until(lambda: "Begun" in owner.page(chat), what="the answer to begin")
    page.reload()
    follow(page, page.get_by_role("button", name="Stop").click)
    owner.answer(chat)
    page.reload()
    expect(page.get_by_text("Begun")).to_be_visible()
    page.get_by_role("button", name="Options of this conversation").click()
    page.get_by_role("textbox", name="Name").fill("No script")
    follow(page, page.get_by_role("button", name="Rename", exact=True).click)
    expect(page.get_by_role("heading", name="No script")).to_be_visible()
    page.get_by_role("button", name="Options of this conversation").click()
    follow(page, page.get_by_role("link", name="Delete this conversation").click)
    follow(page, page.get_by_role("button", name="Delete it").click)
    expect(page.get_by_role("heading", name="What is on your mind?")).to_be_visible()
    assert owner.get(f"/chat/{chat}/").status_code == 404


def test_a_failed_answer_is_tried_again_without_script(
    signed_in: Callable[..., Page], everything: Everything
) -> None:
    """The page's own form has what it needs, though the worker wrote the item."""
    page = signed_in(java_script_enabled=False)
    page.goto(f"/chat/{everything.chat}/")
    form = page.locator(".ending form", has=page.get_by_role("button"))
    assert form.count() >= 1
    assert form.first.locator("input[name=csrfmiddlewaretoken]").count() == 1
