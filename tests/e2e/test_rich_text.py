"""What people and models write is shown as meant at a real browser, and nothing of it runs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, new_words, only_for
from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.model_acts import Call
from tests.model_server import ModelServer
from tests.support.browser import Complaints
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack

HOSTILE_PAGE = """<h1 onclick="document.title='run'">Hello</h1>
<script>document.title = "run"; fetch("https://evil.example/a")</script>
<img src="https://evil.example/b.png" onerror="document.title='run'">
<link rel="stylesheet" href="https://evil.example/c.css">
<iframe src="https://evil.example/d"></iframe>
<meta http-equiv="refresh" content="0;url=https://evil.example/e">
<a href="javascript:document.title='run'" target="_top">link</a>
<form action="https://evil.example/f" target="_top"><button>send</button></form>
<style>h1 { color: green; background: url(https://evil.example/g.png) }</style>
"""
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="alert(1)">
<script>parent.document.title = "run"</script>
<image href="https://evil.example/h.png"/><rect width="40" height="40" fill="teal"/></svg>
"""
ANSWER = f"""# Rich text

> [!WARNING]
> Take care of ==this==.

> [!tip]- A folded tip with a long title that goes over more than one line on a phone
> - hidden **words**

> [!question] <img src=x onerror=alert(1)>
> [a](javascript:alert(1)) ![b](data:text/html,x)

Term
: A definition, with H~2~O and x^2^

```html
{HOSTILE_PAGE}```

```svg
{SVG}```

```csv
name,age
"<script>alert(1)</script>",4
Ana,3
```

```json
{{"a": [1, {{"<img src=x onerror=alert(1)>": null}}], "name": "Ana"}}
```

See [the plan](rich/plan.md), [nothing](rich/gone.md), ![a square|40](rich/square.svg),
![gone](rich/gone.png) and [outside](https://example.org/).
"""
OPEN_ALL = "for (const row of document.querySelectorAll('.prose details')) row.open = true"


@pytest.fixture(autouse=True)
def refusals(complaints: Complaints) -> None:
    """The browser says what the frames' policy forbids; `watch` sees what it would not."""
    for words in (
        "Blocked script execution",
        "Content Security Policy",
        "evil.example",
        "sandbox",
        "Unsafe attempt",
    ):
        complaints.allow(words)


@pytest.fixture
def files(scripted: Stack) -> Path:
    """Files of the owner's workspace that an answer names."""
    folder = scripted.data.workspaces / OWNER / "rich"
    folder.mkdir(exist_ok=True)
    (folder / "plan.md").write_text("# The plan\n")
    (folder / "square.svg").write_text(SVG)
    return folder


def watch(page: Page) -> list[str]:
    """What the page says, opens, or asks of other hosts."""
    seen: list[str] = []
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    page.on("popup", lambda popup: seen.append(popup.url))
    page.on(
        "requestfinished", lambda asked: seen.append(asked.url) if "evil" in asked.url else None
    )
    # A request that the policy forbids is made by nobody.
    page.on(
        "requestfailed",
        lambda asked: (
            seen.append(asked.url) if "evil" in asked.url and asked.failure != "csp" else None
        ),
    )
    return seen


@pytest.fixture(scope="session")
def rich_chat(scripted: Stack, model_server: ModelServer) -> str:
    """A conversation whose answer holds everything."""
    owner = Client(scripted.url).login(OWNER, PASSWORD)
    words = new_words()
    model_server.script(ANSWER, when=only_for(words))
    chat = owner.begin(words)
    owner.answer(chat)
    return chat


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_an_answer_with_everything_can_be_used_at_every_width(
    signed_in: Callable[..., Page], rich_chat: str, files: Path, width: int, scheme: str
) -> None:
    """Axe finds nothing with all of it open, and nothing is wider than the window."""
    page = signed_in(**options(width, scheme))
    page.goto(f"/chat/{rich_chat}/")
    idle(page)
    page.evaluate(OPEN_ALL)
    expect(page.locator(".prose details:not([open])")).to_have_count(0)
    expect(page.locator(".prose .tree")).to_contain_text("Ana")
    assert overflow(page) <= 0
    assert not faults(page)


def test_nothing_of_an_answer_runs(
    signed_in: Callable[..., Page], rich_chat: str, files: Path
) -> None:
    """Previews show a page and a picture in frames without script, net and session; links and
    pictures of the workspace work, and what is missing says so."""
    page = signed_in()
    seen = watch(page)
    page.goto(f"/chat/{rich_chat}/")
    idle(page)
    for summary in page.get_by_text("Preview", exact=True).all():
        summary.click()
    inside = page.frame_locator("iframe.preview").first
    expect(inside.locator("h1")).to_have_css("color", "rgb(0, 128, 0)")
    expect(page.frame_locator("iframe.preview").last.locator("rect")).to_be_visible()
    inside.locator("h1").click()
    inside.locator("a").click()
    inside.get_by_role("button").click()
    expect(inside.locator("h1")).to_be_visible()
    picture = page.get_by_alt_text("a square")
    expect(picture).to_have_attribute("width", "40")
    assert picture.evaluate("image => image.naturalWidth") == 40
    text = page.locator(".blocks .prose").last
    expect(text).to_contain_text("nothing (there is no such file)")
    expect(text).to_contain_text("Image “gone” (there is no such file)")
    expect(page.get_by_role("link", name="outside")).to_have_attribute("target", "_blank")
    expect(page.get_by_role("link", name="the plan")).to_have_attribute(
        "href", "/workspace/rich/plan.md"
    )
    assert seen == []
    assert page.title() != "run"


def test_a_block_is_saved_by_one_click(
    signed_in: Callable[..., Page], scripted: Stack, rich_chat: str
) -> None:
    """As a new file each time, with a link to it."""
    page = signed_in()
    page.goto(f"/chat/{rich_chat}/")
    idle(page)
    block = page.locator(".code", has_text="name,age")
    names = set()
    for _ in range(2):
        with page.expect_response("**/files/save-code"):
            block.get_by_role("button", name="Save code in the workspace").click()
        saved = block.locator(".code-saved a")
        expect(saved).to_have_text(re.compile(r"^output/code.*\.csv$"))
        names.add(saved.text_content() or "")
        expect(block.locator(".code-saved")).to_have_count(1)
    assert names
    for name in names:
        text = (scripted.data.workspaces / OWNER / name).read_text()
        assert text == 'name,age\n"<script>alert(1)</script>",4\nAna,3\n'


@pytest.fixture(scope="session")
def chart_chat(scripted: Stack, model_server: ModelServer) -> str:
    """A conversation whose answer shows a chart that was drawn for it."""
    owner = Client(scripted.url).login(OWNER, PASSWORD)
    words = new_words()
    drawn = {
        "kind": "bar",
        "title": "Cups of tea",
        "series": [{"name": "green", "values": [3, 5, 8]}, {"name": "black", "values": [1, 2, 2]}],
        "labels": ["Mon", "Tue", "Wed"],
    }
    model_server.script(Call("plot", drawn), when=only_for(words))
    model_server.script(
        "More and more tea:\n\n![Cups of tea](output/chart-cups-of-tea.svg)", when=only_for(words)
    )
    chat = owner.begin(words)
    owner.answer(chat)
    return chat


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_a_chart_is_drawn_and_shown_in_the_answer(
    signed_in: Callable[..., Page], chart_chat: str, width: int, scheme: str
) -> None:
    """The tool's file is the picture of the answer, at every width, light and dark."""
    page = signed_in(**options(width, scheme))
    page.goto(f"/chat/{chart_chat}/")
    idle(page)
    expect(page.locator(".row.tool .row-name")).to_have_text("Draw chart")
    chart = page.get_by_role("img", name="Cups of tea")
    chart.scroll_into_view_if_needed()
    page.wait_for_function("image => image.naturalWidth === 600", arg=chart.element_handle())
    assert overflow(page) <= 0
    assert not faults(page)
