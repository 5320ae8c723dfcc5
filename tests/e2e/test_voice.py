"""Dictation and reading aloud at a real browser. What hears and speaks is a stand-in for the
browser's own interface, since it needs a microphone and voices; everything else is real.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from jenny.workspace import config
from tests.e2e.conftest import Everything, idle
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.stack import OWNER, Stack

# The interface as browsers have it. The page's script sees nothing else of it.
STAND_IN = """
window.heard = [];
class Recognition extends EventTarget {
  constructor() { super(); window.heard.push(this); }
  start() { this.started = { lang: this.lang, here: this.processLocally }; }
  stop() { this.dispatchEvent(new Event("end")); }
  abort() { this.aborted = true; this.dispatchEvent(new Event("end")); }
  say(...texts) {
    const results = texts.map((text) => [{ transcript: text }]);
    this.dispatchEvent(Object.assign(new Event("result"), { results }));
  }
  fail(error) {
    this.dispatchEvent(Object.assign(new Event("error"), { error }));
    this.dispatchEvent(new Event("end"));
  }
}
"""
ON_DEVICE = """
Object.defineProperty(Recognition.prototype, "processLocally", { value: false, writable: true });
Recognition.available = async (asked) => {
  window.asked = asked;
  return window.found ?? "available";
};
Recognition.install = async () => { window.installed = true; return true; };
"""
HEARS = f"{STAND_IN} window.SpeechRecognition = Recognition;"
HEARS_ON_DEVICE = f"{HEARS} {ON_DEVICE}"
HEARS_NOTHING = "delete window.SpeechRecognition; delete window.webkitSpeechRecognition;"
SPEAKS = """
window.spoken = [];
window.voices = [
  { name: "far", lang: "en-US", localService: false, default: true },
  { name: "near", lang: "en-GB", localService: true, default: false },
];
class Synthesis extends EventTarget {
  getVoices() { return window.voices; }
  speak(one) { window.spoken.push(one); }
  cancel() { window.cancelled = (window.cancelled ?? 0) + 1; }
}
window.SpeechSynthesisUtterance = class extends EventTarget {
  constructor(text) { super(); this.text = text; }
};
Object.defineProperty(window, "speechSynthesis", { value: new Synthesis() });
"""


@pytest.fixture
def opened(signed_in: Callable[..., Page], everything: Everything) -> Callable[..., Page]:
    """Open the conversation in a browser with that interface."""

    def make(interface: str, **more: object) -> Page:
        page = signed_in(**more)
        page.add_init_script(interface)
        page.goto(f"/chat/{everything.chat}/")
        idle(page)
        return page

    return make


@pytest.fixture
def set_voice(scripted: Stack):
    """Set one of the two settings for this test."""
    root = scripted.data.workspaces / OWNER

    def change(key: str, value: str) -> None:
        config.change_config(root, lambda raw: raw.setdefault("voice", {}).update({key: value}))

    yield change
    for key in ("dictation", "reading"):
        change(key, "device")


def field(page: Page):
    return page.get_by_role("textbox", name="Message to Jenny")


def dictate(page: Page):
    return page.get_by_role("button", name="Dictate", exact=True)


def listen(page: Page) -> None:
    """Press the button, and wait until it listens."""
    dictate(page).click()
    expect(page.get_by_role("button", name="Stop dictating")).to_be_visible()


def read_aloud(answer: Locator) -> None:
    """Press the button, and wait until it reads."""
    answer.get_by_role("button", name="Read aloud").click()
    expect(answer.get_by_role("button", name="Stop reading")).to_be_visible()


def test_words_come_in_where_the_cursor_stands(opened: Callable[..., Page]) -> None:
    """On the device, while one speaks; what one types meanwhile stays, and the draft is kept."""
    page = opened(HEARS_ON_DEVICE)
    field(page).fill("Dear . Bye")
    field(page).evaluate("field => field.setSelectionRange(5, 5)")
    dictate(page).click()
    stop = page.get_by_role("button", name="Stop dictating")
    expect(stop).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#status")).to_contain_text("Listening")
    assert page.evaluate("heard[0].started.here")
    assert page.evaluate("asked.processLocally")
    page.evaluate("heard[0].say('good')")
    expect(field(page)).to_have_value("Dear good . Bye")
    page.evaluate("heard[0].say('good sir', ' and madam')")
    expect(field(page)).to_have_value("Dear good sir and madam . Bye")
    page.keyboard.type("!")
    page.evaluate("heard[0].say('good sir', ' and madam', ' how are you')")
    expect(field(page)).to_have_value("Dear good sir and madam! how are you . Bye")
    page.keyboard.press("Escape")
    expect(dictate(page)).to_have_attribute("aria-pressed", "false")
    expect(field(page)).to_be_focused()
    expect(page.locator("#status")).not_to_contain_text("Listening")


def test_sending_ends_it(opened: Callable[..., Page]) -> None:
    """What comes after belongs to no message."""
    page = opened(HEARS_ON_DEVICE)
    listen(page)
    page.evaluate("heard[0].say('/status')")
    page.get_by_role("button", name="Send").click()
    expect(field(page)).to_have_value("")
    assert page.evaluate("heard[0].aborted")
    page.evaluate("heard[0].say('/status late')")
    expect(field(page)).to_have_value("")


def test_sound_goes_nowhere_unless_it_is_allowed(
    opened: Callable[..., Page], set_voice: Callable[..., None]
) -> None:
    """A browser that would send it away is not even started, and the button says why."""
    page = opened(HEARS)
    expect(dictate(page)).to_have_attribute("title", re.compile("Dictation is off"))
    dictate(page).click()
    expect(page.locator("#status")).to_contain_text("this browser would send what you say")
    assert page.evaluate("heard.length") == 0
    set_voice("dictation", "anywhere")
    page.reload()
    listen(page)
    page.evaluate("heard[0].say('far away')")
    expect(field(page)).to_have_value("far away")
    assert page.evaluate("heard[0].started.here") is None
    set_voice("dictation", "off")
    page.reload()
    idle(page)
    expect(dictate(page)).to_be_hidden()


def test_the_language_is_fetched_when_it_is_missing(opened: Callable[..., Page]) -> None:
    """At the press of the button, not before."""
    page = opened(f"{HEARS_ON_DEVICE} window.found = 'downloadable';")
    assert not page.evaluate("window.installed")
    listen(page)
    assert page.evaluate("window.installed")
    assert page.evaluate("heard[0].started.here")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("not-allowed", "allow it in the browser's settings"),
        ("audio-capture", "No microphone was found"),
        ("no-speech", "Nothing was heard"),
        ("something-new", "could not listen"),
    ],
)
def test_what_goes_wrong_is_said(opened: Callable[..., Page], error: str, sentence: str) -> None:
    """In a sentence, and one can begin anew."""
    page = opened(HEARS_ON_DEVICE)
    listen(page)
    page.evaluate(f"heard[0].fail('{error}')")
    expect(page.locator("#status")).to_contain_text(sentence)
    dictate(page).click()
    expect(page.get_by_role("button", name="Stop dictating")).to_be_visible()


def test_a_browser_that_fails_to_begin_can_be_asked_again(opened: Callable[..., Page]) -> None:
    """The button stays usable, and the sentence blames no setting."""
    broken = "Recognition.install = undefined; window.found = 'downloadable';"
    page = opened(f"{HEARS_ON_DEVICE} {broken}")
    dictate(page).click()
    expect(page.locator("#status")).to_contain_text("could not listen")
    expect(dictate(page)).to_be_enabled()
    expect(dictate(page)).to_be_focused()


def test_an_answer_is_read_by_a_voice_of_the_device(
    opened: Callable[..., Page], set_voice: Callable[..., None]
) -> None:
    """Its words without its code; the button, Escape and the end stop it."""
    page = opened(SPEAKS)
    answer = page.locator(".item.answer").first
    answer.hover()
    answer.get_by_role("button", name="Read aloud").click()
    stop = answer.get_by_role("button", name="Stop reading")
    expect(stop).to_have_attribute("aria-pressed", "true")
    spoken = page.evaluate("spoken.map((one) => [one.text, one.voice.name])")
    assert {name for _, name in spoken} == {"near"}
    code = answer.locator(".code pre").first.text_content() or ""
    assert code.strip()
    assert not any(code.strip() in text for text, _ in spoken)
    assert len(spoken) > 3
    page.evaluate("spoken.at(-1).dispatchEvent(new Event('end'))")
    expect(answer.get_by_role("button", name="Read aloud")).to_be_visible()
    for end in (stop.click, lambda: page.keyboard.press("Escape")):
        read_aloud(answer)
        before = page.evaluate("cancelled ?? 0") if page.evaluate("'cancelled' in window") else 0
        end()
        expect(answer.get_by_role("button", name="Read aloud")).to_be_visible()
        assert page.evaluate("cancelled") == before + 1
    set_voice("reading", "anywhere")
    page.reload()
    answer.hover()
    read_aloud(answer)
    assert page.evaluate("spoken[0].voice.name") == "far"


def test_there_are_no_buttons_without_the_browsers_help(
    opened: Callable[..., Page], set_voice: Callable[..., None]
) -> None:
    """Neither where it has nothing, nor where only voices from elsewhere are left."""
    silent = "Object.defineProperty(window, 'speechSynthesis', { value: undefined });"
    for interface in (
        f"{HEARS_NOTHING} {silent}",
        f"{HEARS_NOTHING} {SPEAKS} window.voices = [window.voices[0]];",
    ):
        page = opened(interface)
        expect(dictate(page)).to_be_hidden()
        expect(page.locator(".read-aloud").first).to_be_hidden()
    set_voice("reading", "off")
    page = opened(SPEAKS)
    expect(page.locator(".read-aloud").first).to_be_hidden()


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_the_buttons_fit_at_every_width(
    opened: Callable[..., Page], width: int, scheme: str
) -> None:
    """Axe finds nothing while it listens and reads, and nothing is wider than the window."""
    page = opened(f"{HEARS_ON_DEVICE} {SPEAKS}", **options(width, scheme))
    answer = page.locator(".item.answer").first
    answer.hover()
    read_aloud(answer)
    assert not faults(page)
    listen(page)
    expect(answer.get_by_role("button", name="Read aloud")).to_be_visible()
    assert overflow(page) <= 0
    assert not faults(page)


def test_only_jennys_own_pages_may_ask_for_the_microphone(
    opened: Callable[..., Page], everything: Everything
) -> None:
    """The header says so on every page."""
    for path in ("/", f"/chat/{everything.chat}/", "/health/live/"):
        policy = everything.owner.get(path).headers.get("Permissions-Policy", "")
        assert "microphone=(self)" in policy
    page = opened(HEARS_ON_DEVICE)
    assert page.evaluate("document.featurePolicy?.allowsFeature('microphone') ?? true")
