"""Files in the composer: chosen, pasted and dropped, with progress, kept over a reload, removed,
sent, and shown in the thread."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import idle, new_words, only_for
from tests.e2e.test_look import faults, options, overflow
from tests.model_server import ModelServer
from tests.support import files
from tests.support.browser import Complaints, follow
from tests.support.chat import asked
from tests.support.client import Client

DROP = """([kind, names]) => {
  const transfer = new DataTransfer();
  for (const name of names) {
    transfer.items.add(new File([`tea of ${name}`], name, { type: "text/plain" }));
  }
  const field = document.getElementById("text");
  const options = { bubbles: true, cancelable: true };
  field.dispatchEvent(kind === "paste"
    ? new ClipboardEvent("paste", { ...options, clipboardData: transfer })
    : new DragEvent("drop", { ...options, dataTransfer: transfer }));
}"""


@pytest.fixture
def chat(owner: Client, model_server: ModelServer) -> str:
    """A conversation with one exchange."""
    words = new_words()
    model_server.script("Yes.", when=only_for(words))
    begun = owner.begin(words)
    owner.answer(begun)
    return begun


def made(folder: Path) -> list[Path]:
    """A photograph and a document."""
    photo = files.picture("jpeg", (1_600, 1_200), turned=True)
    return [
        files.store(folder, "photo.jpg", photo),
        files.store(folder, "plan.pdf", files.pdf(["The boiler stays."])),
    ]


@pytest.mark.parametrize("view", [(360, "dark"), (1280, "light")])
def test_files_are_attached_reloaded_and_sent(
    signed_in: Callable[..., Page],
    model_server: ModelServer,
    chat: str,
    tmp_path: Path,
    view: tuple[int, str],
) -> None:
    """Several at once, with what they are; a reload keeps them; the thread shows them, the model
    gets them; nothing is wider than the window, and axe finds nothing."""
    page = signed_in(**options(*view))
    page.goto(f"/chat/{chat}/")
    page.get_by_label("Attach files").set_input_files(made(tmp_path))
    rows = page.locator("#attachments [data-attachment]")
    expect(rows).to_have_count(2)
    expect(page.get_by_text("PDF, ")).to_contain_text("1 page")
    expect(page.locator("#attachments img")).to_have_js_property("complete", value=True)
    assert page.locator("#attachments img").evaluate("image => image.naturalWidth") > 0
    assert overflow(page) <= 0
    assert not faults(page)
    page.reload()
    expect(rows).to_have_count(2)
    words = new_words()
    model_server.script("A boiler.", when=only_for(words))
    page.locator("#text").fill(words)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("A boiler.")).to_be_visible()
    idle(page)
    said = page.locator(".user").last
    expect(said.get_by_role("list", name="Attached files").get_by_role("listitem")).to_have_count(2)
    expect(said).to_contain_text("sent as a picture of 1176 × 1568")
    expect(said.get_by_role("link", name="plan.pdf")).to_have_attribute(
        "href", re.compile(r"^/workspace/uploads/\d{4}-\d\d-\d\d/plan( \(\d+\))?\.pdf$")
    )
    expect(rows).to_have_count(0)
    assert overflow(page) <= 0
    assert not faults(page)
    follow(page, lambda: said.get_by_role("link", name="photo.jpg").click())
    expect(page.locator("main img")).to_be_visible()
    (request,) = asked(model_server, words)
    kinds = [part["type"] for row in request.json["messages"] for part in row["content"]]
    assert "image" in kinds


@pytest.mark.parametrize("kind", ["paste", "drop"])
def test_what_is_pasted_or_dropped_is_attached(
    signed_in: Callable[..., Page], chat: str, kind: str
) -> None:
    """And can be taken away by the keyboard, which leads on to the field."""
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    page.evaluate(DROP, [kind, ["one.txt", "two.txt"]])
    rows = page.locator("#attachments [data-attachment]")
    expect(rows).to_have_count(2)
    expect(page.locator("#announce")).to_contain_text("is attached")
    for name in ("one.txt", "two.txt"):
        page.get_by_role("button", name=f"Remove {name}").press("Space")
        expect(page.get_by_role("button", name=f"Remove {name}")).to_have_count(0)
        expect(page.locator("#announce")).to_contain_text(f"{name} was removed.")
    expect(page.locator("#text")).to_be_focused()
    page.reload()
    expect(rows).to_have_count(0)


def test_progress_is_shown_and_the_message_waits_for_it(
    signed_in: Callable[..., Page], model_server: ModelServer, chat: str, tmp_path: Path
) -> None:
    """While a file is on its way its row has a bar; a message sent meanwhile goes with the file."""
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/attach", hold)
    with page.expect_request("**/attach"):
        page.get_by_label("Attach files").set_input_files(made(tmp_path)[1:])
    bar = page.get_by_role("progressbar", name="Upload of plan.pdf")
    expect(bar).to_be_visible()
    words = new_words()
    model_server.script("A plan.", when=only_for(words))
    page.locator("#text").fill(words)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_contain_text("when its files are there")
    expect(page.locator(".user .words").last).not_to_have_text(words)
    held[0].continue_()
    expect(page.get_by_text("A plan.")).to_be_visible()
    expect(page.locator(".user").last.get_by_role("link", name="plan.pdf")).to_be_visible()


def test_a_refused_file_says_why_and_is_not_sent(
    signed_in: Callable[..., Page], complaints: Complaints, owner: Client, chat: str, tmp_path: Path
) -> None:
    """Too large for the settings: told at once, by the page, with the place of the limit."""
    complaints.allow("status of 4")
    owner.post("/settings/conversation/", maxFileMb="1")
    try:
        page = signed_in()
        page.goto(f"/chat/{chat}/")
        page.get_by_label("Attach files").set_input_files(
            files.store(tmp_path, "large.bin", b"x" * 1_000_001)
        )
        failed = page.locator("#attachments .failed")
        expect(failed).to_contain_text("larger than 1 MB, the limit in Settings")
        page.get_by_role("button", name="Remove large.bin").click()
        expect(failed).to_have_count(0)
    finally:
        owner.post("/settings/conversation/", maxFileMb="50")


def test_files_come_back_when_a_message_is_not_sent(
    signed_in: Callable[..., Page], complaints: Complaints, chat: str, tmp_path: Path
) -> None:
    """The server cannot be reached: words and files are in the composer again."""
    complaints.allow("Failed to load resource")
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    page.get_by_label("Attach files").set_input_files(made(tmp_path)[1:])
    rows = page.locator("#attachments [data-attachment]")
    expect(rows).to_have_count(1)
    page.route("**/send", lambda route: route.abort())
    page.locator("#text").fill("What is this?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_contain_text("could not be reached")
    expect(rows).to_have_count(1)
    expect(page.locator("#text")).to_have_value("What is this?")
    page.get_by_role("button", name="Remove plan.pdf").click()
    expect(rows).to_have_count(0)


def test_a_first_message_may_have_files(
    signed_in: Callable[..., Page], model_server: ModelServer, tmp_path: Path
) -> None:
    """They go into the conversation that begins with it."""
    page = signed_in()
    page.goto("/chat/")
    page.get_by_label("Attach files").set_input_files(made(tmp_path)[1:])
    expect(page.locator("#attachments [data-attachment]")).to_have_count(1)
    words = new_words()
    model_server.script("A plan.", when=only_for(words))
    page.locator("#text").fill(words)
    follow(page, lambda: page.get_by_role("button", name="Send").click())
    expect(page.get_by_text("A plan.")).to_be_visible()
    expect(page.locator(".user").last.get_by_role("link", name="plan.pdf")).to_be_visible()


def test_without_script_files_go_with_the_form(
    signed_in: Callable[..., Page], model_server: ModelServer, chat: str, tmp_path: Path
) -> None:
    """The form itself takes them."""
    page = signed_in(java_script_enabled=False)
    page.goto(f"/chat/{chat}/")
    words = new_words()
    model_server.script("A plan.", when=only_for(words))
    page.locator("#files").set_input_files(made(tmp_path)[1:])
    page.locator("#text").fill(words)
    follow(page, lambda: page.get_by_role("button", name="Send").click())
    expect(page.locator(".user").last.get_by_role("link", name="plan.pdf")).to_be_visible()


def test_an_upload_that_is_cancelled_late_leaves_nothing(
    signed_in: Callable[..., Page], chat: str, tmp_path: Path
) -> None:
    """The server has the file already, and its answer has not come: removed is removed, also after
    a reload."""
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    taken: list[Route] = []

    def keep_answer(route: Route) -> None:
        route.fetch()
        taken.append(route)

    page.route("**/attach", keep_answer)
    page.get_by_label("Attach files").set_input_files(made(tmp_path)[1:])
    expect(page.get_by_role("progressbar", name="Upload of plan.pdf")).to_be_visible()
    while not taken:
        page.evaluate("() => new Promise(requestAnimationFrame)")
    with page.expect_response("**/chat/attach/cancel") as answer:
        page.get_by_role("button", name="Remove plan.pdf").click()
    assert answer.value.status == 204
    expect(page.locator("#announce")).to_contain_text("plan.pdf was removed.")
    page.unroute("**/attach")
    page.reload()
    expect(page.locator("#text")).to_be_visible()
    expect(page.locator("#attachments li")).to_have_count(0)
