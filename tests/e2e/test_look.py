"""How every page looks and behaves: for eyes, a keyboard, a screen reader, at every width."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MARKDOWN, Everything, idle, new_words, only_for
from tests.model_server import Gate, ModelServer, Pause, Say
from tests.support.browser import Complaints, follow, still
from tests.support.client import Client
from tests.support.stack import Stack

WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")
VIEWS = [(width, scheme) for width in WIDTHS for scheme in SCHEMES]


def faults(page: Page) -> list[str]:
    """What axe finds on *page*, with every row of the thread open."""
    page.wait_for_load_state()
    page.evaluate("for (const row of document.querySelectorAll('details')) row.open = true")
    found = Axe().run(page).response["violations"]
    return [
        f"{page.url} {fault['id']}: {node['html'][:200]} {node['failureSummary']}"
        for fault in found
        for node in fault["nodes"]
    ]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the window."""
    size = page.viewport_size
    assert size is not None
    return int(page.evaluate("document.documentElement.scrollWidth")) - size["width"]


def options(width: int, scheme: str) -> dict[str, object]:
    """A browser of that width and colour scheme; a narrow one is a phone. It asks for no motion:
    what is fading in has not its colours yet."""
    return {
        "reduced_motion": "reduce",
        "viewport": {"width": width, "height": 800},
        "color_scheme": scheme,
        "has_touch": width < 500,
        "is_mobile": width < 500,
    }


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_pages_of_an_account(
    signed_in: Callable[..., Page], everything: Everything, width: int, scheme: str
) -> None:
    """Chat, settings and error pages are usable by everybody, and none is wider than its window."""
    page = signed_in(**options(width, scheme))
    paths = (
        "/chat/",
        f"/chat/{everything.chat}/",
        f"/chat/{everything.chat}/delete",
        "/settings/memory/",
        "/settings/conversation/",
        "/settings/system/",
        "/settings/models/",
        "/settings/account/",
        "/offline/",
    )
    found: list[str] = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_pages_of_a_stranger(
    new_page: Callable[..., Page],
    complaints: Complaints,
    scripted: Stack,
    width: int,
    scheme: str,
) -> None:
    """The login, wrong and right, and a page that is not there."""
    complaints.allow("status of 4")
    page = new_page(base_url=scripted.url, **options(width, scheme))
    page.goto("/login/")
    found = faults(page)
    page.get_by_label("User name").fill("nobody")
    page.get_by_label("Password").fill("nothing at all")
    follow(page, page.get_by_role("button", name="Log in").click)
    expect(page.get_by_role("alert")).to_be_visible()
    found += faults(page)
    assert overflow(page) <= 0
    page.goto("/setup/")
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()
    found += faults(page)
    assert not found


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_pages_that_refuse(
    signed_in: Callable[..., Page], complaints: Complaints, width: int, scheme: str
) -> None:
    """A page that is not there, and a form that is older than the login: the second shows what
    was typed, and gives it back to the page it was for."""
    complaints.allow("status of 4")
    page = signed_in(**options(width, scheme))
    page.goto("/no/such/page/")
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()
    found = faults(page)
    page.goto("/chat/")
    write_and_send = """() => {
            const form = document.createElement("form");
            form.method = "post";
            form.action = "/chat/send";
            const text = document.createElement("input");
            text.name = "text";
            text.value = "Words that stay";
            form.append(text);
            document.body.append(form);
            form.submit();
        }"""
    follow(page, lambda: page.evaluate(write_and_send))
    expect(page.get_by_role("heading", name="Not sent")).to_be_visible()
    expect(page.get_by_label("Your text")).to_have_value("Words that stay")
    assert overflow(page) <= 0
    found += faults(page)
    follow(page, page.get_by_role("link", name="Load the page again").click)
    expect(page.get_by_label("Message to Jenny")).to_have_value("Words that stay")
    assert not found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_first_run_leads_to_the_chat_in_two_steps(
    start_stack: Callable[..., Stack],
    new_page: Callable[..., Page],
    complaints: Complaints,
    scheme: str,
) -> None:
    """The printed link, a name and a password, the demo model: then one is chatting, and every
    page says that no language model is connected."""
    complaints.allow("status of 422")
    stack = start_stack()
    page = new_page(base_url=stack.url, **options(360, scheme))
    page.goto(stack.link)
    found = faults(page)
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("correct horse battery staple")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_role("heading", name="Which model answers?")).to_be_visible()
    found += faults(page)
    page.get_by_label("Another: Ollama").check()
    expect(page.get_by_label("Address of the server")).to_be_visible()
    found += faults(page)
    page.get_by_label("demo model").check()
    expect(page.get_by_label("API key", exact=True)).to_be_hidden()
    follow(page, page.get_by_role("button", name="Start chatting").click)
    expect(page.get_by_role("heading", name="What is on your mind?")).to_be_visible()
    found += faults(page)
    assert overflow(page) <= 0
    label = "demo model — no language model is connected"
    for path in ("/chat/", "/settings/models/", "/settings/account/"):
        page.goto(path)
        expect(page.get_by_text(label)).to_be_visible()
    page.goto("/settings/models/")
    page.get_by_label("Another: Ollama").check()
    page.get_by_label("Address of the server").fill("http://localhost:11434")
    page.get_by_label("Model", exact=True).fill("small")
    page.get_by_label("API key", exact=True).fill("a-key-of-no-use-to-anybody")
    follow(page, page.get_by_role("button", name="Save and use").click)
    # Nobody is there: that is told, and saved all the same by a second button.
    expect(page.get_by_role("alert")).to_contain_text("Not saved yet.")
    found += faults(page)
    follow(page, page.get_by_role("button", name="Save anyway").click)
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_text(label)).to_have_count(0)
    found += faults(page)
    follow(page, page.get_by_role("link", name="Change small").click)
    found += faults(page)
    assert overflow(page) <= 0
    assert not found


# --- The keyboard ----------------------------------------------------------------------------


def test_a_conversation_can_be_held_by_the_keyboard_alone(
    signed_in: Callable[..., Page], model_server: ModelServer
) -> None:
    """Write, send, open a tool's row, stop an answer, rename: nothing needs a mouse, and the
    focus can always be seen."""
    words = new_words()
    model_server.script(Say("Beginning "), Gate(words), Say("end"), when=only_for(words))
    page = signed_in()
    page.goto("/chat/")
    expect(page.get_by_label("Message to Jenny")).to_be_focused()
    page.keyboard.type(words)
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_text("Beginning")).to_be_visible()
    reach(page, "Stop")
    page.keyboard.press("Enter")
    idle(page)
    expect(page.get_by_text("Beginning")).to_be_visible()
    expect(page.locator(".ending")).to_be_visible()
    page.keyboard.press("Control+Home")
    reach(page, "Options of this conversation")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.get_by_role("textbox", name="Name").press("Control+a")
    page.keyboard.type("By hand")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_role("heading", name="By hand")).to_be_visible()


def reach(page: Page, name: str) -> None:
    """Press Tab until the control called *name* has the focus; each on the way must be seen."""
    for _ in range(80):
        page.keyboard.press("Tab")
        focused = page.evaluate_handle("document.activeElement")
        seen = focused.evaluate(
            """node => {
              const composer = node.closest('.composer');
              return getComputedStyle(node).outlineStyle !== 'none'
                || (composer && getComputedStyle(composer).boxShadow !== 'none');
            }"""
        )
        label = focused.evaluate("node => node.getAttribute('aria-label') || node.innerText || ''")
        assert seen or focused.evaluate("node => node === document.body"), label
        if name in label:
            return
    pytest.fail(f"Tab does not reach {name}")


def test_the_skip_link_leads_past_the_navigation(
    signed_in: Callable[..., Page], everything: Everything
) -> None:
    """The first Tab offers to go on to the page, and does."""
    page = signed_in()
    page.goto("/settings/models/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


# --- Widths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [360, 390, 768, 1280, 2560])
def test_the_thread_keeps_its_measure_at_every_width(
    signed_in: Callable[..., Page], everything: Everything, width: int
) -> None:
    """No page scrolls sideways, lines stay readable, and long code scrolls by itself."""
    page = signed_in(viewport={"width": width, "height": 800})
    page.goto(f"/chat/{everything.chat}/")
    assert overflow(page) <= 0
    box = page.locator(".blocks > .prose").first.bounding_box()
    assert box is not None
    assert 300 <= box["width"] <= 640
    assert box["x"] >= 0


def test_the_list_of_conversations_is_a_drawer_on_a_phone(
    signed_in: Callable[..., Page], everything: Everything
) -> None:
    """A press opens it, Escape shuts it, and it works without script."""
    for script in (True, False):
        page = signed_in(**options(360, "light"), java_script_enabled=script)
        page.goto(f"/chat/{everything.chat}/")
        drawer = page.locator("#sidebar")
        expect(drawer).to_be_hidden()
        page.get_by_role("button", name="Menu", exact=True).click()
        expect(drawer.get_by_role("link", name="New chat")).to_be_visible()
        if script:
            assert not faults(page)
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden()


def test_a_list_that_goes_on_is_shaded_where_it_is_cut(signed_in: Callable[..., Page]) -> None:
    """The drawer's list has a shadow at its lower edge for as long as more is below."""
    page = signed_in(**{**options(360, "light"), "viewport": {"width": 360, "height": 560}})
    page.goto("/settings/models/")
    page.get_by_role("button", name="Menu", exact=True).click()
    listed = page.locator("#sidebar .aside")
    expect(listed).to_be_visible()
    assert listed.evaluate("node => node.scrollHeight > node.clientHeight + 48")
    box = listed.bounding_box()
    assert box is not None
    edge = {"x": box["x"] + 1, "y": box["y"] + box["height"] - 3, "width": 4, "height": 2}
    cut = page.screenshot(clip=edge)
    listed.evaluate("node => node.scrollTo(0, node.scrollHeight)")
    still(page)
    assert page.screenshot(clip=edge) != cut


def test_landmarks_of_a_long_conversation_have_names_of_their_own(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """Two answers with tables, code and footnotes give axe nothing to say either."""
    words = new_words()
    for _ in range(2):
        model_server.script(MARKDOWN, when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    owner.send(chat, f"Once more. {words}")
    owner.answer(chat)
    page = signed_in(reduced_motion="reduce")
    page.goto(f"/chat/{chat}/")
    assert not faults(page)


def test_controls_are_large_enough_for_a_thumb(
    signed_in: Callable[..., Page], everything: Everything
) -> None:
    """On a touch screen every control of the chat is 44 pixels high, but for links in text."""
    page = signed_in(**options(360, "light"))
    page.goto(f"/chat/{everything.chat}/")
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, summary, select, .aside a, textarea')]
          .filter(node => node.checkVisibility() && node.getBoundingClientRect().height < 43.5)
          .map(node => node.outerHTML.slice(0, 120))"""
    )
    assert small == []


LEFT_EDGE = """() => Math.min(
  ...[...document.querySelectorAll('#main h2, #main p, #main table, #main li')]
    .filter(node => node.checkVisibility() && node.getBoundingClientRect().width > 20)
    .map(node => Math.round(node.getBoundingClientRect().left))
)"""


def test_pages_have_one_left_edge(signed_in: Callable[..., Page], everything: Everything) -> None:
    """What is read begins below the page's title, on every page."""
    page = signed_in(viewport={"width": 1280, "height": 800})
    edges = {}
    for path in (
        "/memory/",
        "/memory/overview/",
        "/memory/history/",
        "/memory/archive/",
        "/wikis/",
        "/workspace/",
        "/workspace/USER.md",
        "/snapshots/",
        "/snapshots/keep/",
        "/settings/models/",
        "/settings/usage/",
        "/settings/backup/",
        f"/chat/{everything.chat}/delete",
    ):
        page.goto(path)
        title = round(page.locator("#title").bounding_box()["x"])
        edges[path] = (title, page.evaluate(LEFT_EDGE))
    assert set(edges.values()) == {(288, 288)}, edges


def test_the_meter_is_one_short_line_on_a_phone(
    signed_in: Callable[..., Page], everything: Everything
) -> None:
    """It says how full the context is; the details come when it is pressed."""
    page = signed_in(**options(360, "light"))
    page.goto(f"/chat/{everything.chat}/")
    meter = page.locator("#meter > summary")
    expect(meter).to_have_text(re.compile(r"^\s*\d+ % full\s*$"))
    lines = "node => new Set([...node.getClientRects()].map(rect => rect.top)).size"
    assert meter.locator("span").first.evaluate(lines) == 1
    expect(page.locator("#meter-text")).to_be_hidden()
    meter.click()
    expect(page.locator("#meter-text")).to_be_visible()


# --- Motion ----------------------------------------------------------------------------------

WATCH_SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) {
    const moved = entry.sources.map(source => source.node && source.node.outerHTML).join(' | ');
    window.shifts.push(entry.value + ' ' + moved.slice(0, 400));
  }
}).observe({ type: 'layout-shift', buffered: true });
"""


@dataclass(frozen=True)
class Streaming:
    """An answer that waits at its gate, and the page that watches it."""

    page: Page
    model: ModelServer
    gate: str

    def play(self) -> None:
        """Let the answer come, to its end."""
        self.model.open(self.gate)
        idle(self.page)


@pytest.fixture
def streaming(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> Iterator[Streaming]:
    """An answer in many small pieces, in a conversation longer than the window."""
    words = new_words()
    text = MARKDOWN * 3
    pieces = [text[at : at + 14] for at in range(0, len(text), 14)]
    model_server.script(MARKDOWN, when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    paced = [act for piece in pieces for act in (Say(piece), Pause(0.004))]
    model_server.script(Say("So: "), Gate(words), *paced, when=only_for(words))
    page = signed_in()
    page.add_init_script(WATCH_SHIFTS)
    page.goto(f"/chat/{chat}/")
    owner.send(chat, "go on")
    expect(page.get_by_text("So:")).to_be_visible()
    yield Streaming(page, model_server, words)
    model_server.open(words)


def test_nothing_moves_while_an_answer_streams(streaming: Streaming) -> None:
    """Text that one reads stays where it is: no layout shift at all, from the first piece to
    the stored rendering; the page keeps to its end for who is there."""
    streaming.page.evaluate("window.shifts.length = 0")
    streaming.play()
    still(streaming.page)
    assert streaming.page.evaluate("window.shifts") == []
    assert streaming.page.evaluate("innerHeight + scrollY >= document.body.scrollHeight - 2")


def test_who_reads_further_up_is_left_in_peace(streaming: Streaming) -> None:
    """The page does not scroll under a reader, and one press leads to the latest."""
    page = streaming.page
    page.mouse.move(700, 300)
    page.mouse.wheel(0, -400)
    jump = page.get_by_role("button", name="Jump to latest")
    expect(jump).to_be_visible()
    still(page)
    before = page.evaluate("scrollY")
    streaming.play()
    still(page)
    assert page.evaluate("scrollY") == before
    jump.click()
    expect(jump).to_be_hidden()
    still(page)
    assert page.evaluate("innerHeight + scrollY >= document.body.scrollHeight - 2")


def test_the_streamed_page_is_the_stored_page(streaming: Streaming) -> None:
    """After the last event the thread is, byte for byte, what a reload shows."""
    streaming.play()
    page = streaming.page
    streamed = page.locator(".blocks").last.inner_html()
    page.reload()
    assert page.locator(".blocks").last.inner_html() == streamed


def test_less_motion_is_none(signed_in: Callable[..., Page], everything: Everything) -> None:
    """Who asks the system for less motion gets none."""
    page = signed_in(reduced_motion="reduce")
    page.goto(f"/chat/{everything.chat}/")
    moving = page.evaluate(
        """() => [...document.querySelectorAll('*')].filter(node => {
          const style = getComputedStyle(node);
          return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0;
        }).length"""
    )
    assert moving == 0


def test_announcements_are_few(streaming: Streaming) -> None:
    """A screen reader hears that an answer begins and ends, and not each of its words."""
    page = streaming.page
    page.evaluate(
        """() => {
          window.said = [];
          const place = document.getElementById('announce');
          new MutationObserver(() => window.said.push(place.textContent))
            .observe(place, { childList: true, characterData: true, subtree: true });
        }"""
    )
    streaming.play()
    expect(page.locator("#announce")).to_have_text("Jenny has answered.")
    assert page.evaluate("window.said") == ["Jenny has answered."]
    live = page.locator("#thread [aria-live], #thread [role=status], #thread [role=log]")
    assert live.count() == 0
