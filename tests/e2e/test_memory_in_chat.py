"""Memory in the chat, seen by a person: the button, the chip, the commands."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memory.history import reader
from tests.e2e.conftest import idle, new_words, only_for, sign_in
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_server import Call, Gate, ModelServer, Say
from tests.support.browser import follow
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack, start

LAST = "- Lives on the third floor"


@pytest.fixture
def root(scripted: Stack) -> Path:
    """The workspace's folder, with a USER.md that is no template."""
    folder = scripted.data.workspaces / OWNER
    (folder / "USER.md").write_text(f"# User\n\n{LAST}\n")
    return folder


def wrote(owner: Client, model: ModelServer, line: str, *, fence: Gate | None = None) -> str:
    """A conversation whose turn added *line* to USER.md."""
    words = new_words()
    edit = {"path": "USER.md", "old_text": LAST, "new_text": f"{LAST}\n- {line}"}
    model.script(Say("I write it down."), Call("edit_file", edit), when=only_for(words))
    model.script(*([fence] if fence else []), Say("I have noted that."), when=only_for(words))
    return owner.begin(words)


def test_a_message_is_remembered_once_and_taken_back(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer, root: Path
) -> None:
    """The button says so on the message, in the other tab, too; two clicks make one note, which
    every conversation is shown; Undo takes it out, and it can be remembered again. With the
    keyboard alone."""
    words = new_words()
    model_server.script("Good to know.", when=only_for(words))
    chat = owner.begin(f"I am allergic to {words}")
    owner.answer(chat)
    first, second = signed_in(), signed_in()
    for page in (first, second):
        page.goto(f"/chat/{chat}/")
        idle(page)
    said = first.locator(".item.user")
    button = said.get_by_role("button", name="Remember this")
    other = second.locator(".item.user").get_by_role("button", name="Remember this")
    number = said.get_attribute("id")
    assert number is not None
    button.focus()
    button.press("Enter")
    expect(said.get_by_role("link", name="Remembered")).to_be_visible()
    expect(other).to_have_count(0)
    again = owner.post(f"/chat/{chat}/remember", message=number[1:])
    assert again.status_code < 400
    notes = [row for row in reader.read_pending(root).entries if words in row.content]
    assert len(notes) == 1
    assert notes[0].kind == "note"
    assert notes[0].messages == (int(number[1:]), int(number[1:]))
    said.get_by_role("button", name="Undo").click()
    expect(button).to_have_count(1)
    assert not [row for row in reader.read_pending(root).entries if words in row.content]


def test_the_chip_shows_what_was_written_and_takes_it_back(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer, root: Path
) -> None:
    """It appears by itself when the turn ends, stays after a reload, and leads to the difference;
    Undo takes back that line and leaves what others wrote since, after it has asked."""
    line = f"Keeps {new_words()}"
    gate = Gate(line)
    chat = wrote(owner, model_server, line, fence=gate)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    expect(page.locator(".row.tool")).to_have_count(1)
    expect(page.locator(".chip")).to_have_count(0)
    model_server.open(line)
    chip = page.locator(".chip")
    expect(chip).to_contain_text("Memory updated")
    expect(chip).to_contain_text("USER.md")
    expect(chip).to_contain_text("+1")
    page.reload()
    idle(page)
    path = root / "USER.md"
    path.write_text(f"{path.read_text()}- Written by hand since\n")
    chip.get_by_role("button", name="Undo").click()
    page.wait_for_url(re.compile("/changes/"))
    expect(page.get_by_text(line)).to_be_visible()
    expect(page.get_by_text("changed since")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("This was undone.")).to_be_visible()
    text = path.read_text()
    assert line not in text
    assert "- Written by hand since\n" in text
    page.goto(f"/chat/{chat}/")
    expect(chip).to_contain_text("then undone")


def test_words_without_a_write_show_no_chip(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """“I have noted that” is no proof: the chip comes from what was written."""
    words = new_words()
    model_server.script("I have noted that in your memory.", when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    idle(page)
    expect(page.locator(".answer")).to_contain_text("noted")
    expect(page.locator(".chip")).to_have_count(0)


def test_commands_remember_forget_and_bring_back_without_script(
    new_page: Callable[..., Page], owner: Client, scripted: Stack, root: Path
) -> None:
    """/remember, /forget with its Undo, and /recall, which says that it stands there again; all of
    it without script."""
    path = root / "USER.md"
    fact = f"Plays chess with {new_words()}"
    path.write_text(f"{path.read_text()}- {fact}\n")
    page = new_page(base_url=scripted.url, java_script_enabled=False)
    sign_in(page, scripted, owner)
    chat = owner.begin(f"/remember {fact} on Mondays")
    owner.send(chat, f"/forget {fact}")
    assert fact not in path.read_text()
    page.goto(f"/chat/{chat}/")
    follow(page, page.get_by_role("link", name="Undo").click)
    expect(page.get_by_text("This was forgotten")).to_be_visible()
    follow(page, page.get_by_role("button", name="Bring it back").click)
    assert f"- {fact}\n" in path.read_text()
    owner.send(chat, f"/recall {fact}")
    page.goto(f"/chat/{chat}/")
    expect(page.get_by_text("It stands in USER.md again")).to_be_visible()


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_usable_by_everybody(
    signed_in: Callable[..., Page],
    owner: Client,
    model_server: ModelServer,
    root: Path,
    view: tuple[int, str],
) -> None:
    """Chip, buttons and the pages behind them: axe finds nothing, and nothing is too wide."""
    chat = wrote(owner, model_server, f"Likes {new_words()}")
    owner.answer(chat)
    page = signed_in(**options(*view))
    page.goto(f"/chat/{chat}/")
    idle(page)
    if view[0] < 500:
        page.locator(".item.user").get_by_role("button", name="Remember this").tap()
    else:
        page.locator(".item.user").hover()
        page.locator(".item.user").get_by_role("button", name="Remember this").click()
    expect(page.get_by_role("link", name="Remembered")).to_be_visible()
    assert overflow(page) <= 0
    found = faults(page)
    page.get_by_role("link", name="See the change").click()
    expect(page.get_by_role("heading", name="USER.md")).to_be_visible()
    assert overflow(page) <= 0
    assert not found + faults(page)


@pytest.fixture(scope="module")
def demo(scratch: Path) -> Iterator[Stack]:
    """An instance without a model."""
    stack = start(scratch / "memory-in-chat", has_owner=True)
    try:
        yield stack
    finally:
        stack.end()


def test_a_walk_with_the_demo_model(demo: Stack, new_page: Callable[..., Page]) -> None:
    """“remember that …”, “what do you know about …”, “forget …” call the tools; another
    conversation knows it, then does not; the chip tells of the line that left; a temporary chat
    remembers nothing."""
    folder = next(iter(demo.data.workspaces.iterdir()))
    (folder / "USER.md").write_text("# User\n\n- I drink green tea\n")
    owner = Client(demo.url).login(OWNER, PASSWORD)
    page = new_page(base_url=demo.url)
    sign_in(page, demo, owner)

    def ask(text: str, start: str = "/chat/") -> None:
        page.goto(start)
        page.get_by_role("textbox", name="Message to Jenny").fill(text)
        follow(page, page.get_by_role("button", name="Send").click)
        idle(page)

    ask("remember that I grow radishes")
    expect(page.locator(".row.tool .row-name")).to_have_text("Remember")
    expect(page.locator(".answer")).to_contain_text("All chats know it now")
    expect(page.locator(".chip")).to_have_count(0)
    ask("What do you know about radishes?")
    expect(page.locator(".answer")).to_contain_text("grows radishes")
    ask("forget that I drink green tea")
    expect(page.locator(".chip")).to_contain_text("−1")
    assert "tea" not in (folder / "USER.md").read_text()
    page.locator(".chip").get_by_role("button", name="Undo").click()
    expect(page.locator(".chip")).to_contain_text("then undone")
    assert "- I drink green tea\n" in (folder / "USER.md").read_text()
    ask("forget that I grow radishes")
    ask("What do you know about radishes?")
    expect(page.locator(".answer")).not_to_contain_text("grows radishes")
    ask("remember that I sing", "/chat/?temporary=1")
    expect(page.locator(".answer")).to_contain_text("it leaves no memory")
    assert not [row for row in reader.read_pending(folder).entries if "sing" in row.content]
