"""Somebody at a real browser, logged in, before a conversation that holds everything."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from tests.model_server import Call, Fail, ModelServer, Request, Say, Stop, Think
from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, Stack

MARKDOWN = '''You decided on **4 November** to keep the boiler for *one* more winter.

## What it costs

| Item | Per month | Since |
|---|---:|---|
| Gas | 88.40 € | January |
| **Together** | **101.30 €** | |

The rule is $c = \\frac{g + s}{12}$, and for a whole year:

$$C = \\sum_{m=1}^{12} (g_m + s_m)$$

```python
def monthly(costs: list[float]) -> float:
    """Average cost in euros."""
    return round(sum(costs) / 12, 2)  # twelve months, and a line that is long enough to scroll
```

> The plumber said so.

1. Ask for a second offer.
2. - [x] Read the meter
   - [ ] Write it down

See [the page](https://example.org/page)[^1] and ![a photo](https://pictures.example/boiler.jpg).

[^1]: Last read on 2 November.
'''


def only_for(words: str) -> Callable[[Request], bool]:
    """A rule for scripts: the request's texts of the user hold *words*, and it is no title's."""

    def rule(request: Request) -> bool:
        texts = request.texts("user") if request.path == "/v1/messages" else []
        return bool(request.json.get("tools")) and any(words in text for text in texts)

    return rule


def new_words() -> str:
    """Words that no other test says."""
    return f"question {uuid.uuid4().hex[:10]}"


@dataclass(frozen=True)
class Everything:
    """A conversation with one of each thing that a thread can hold."""

    chat: str
    owner: Client


@pytest.fixture(scope="session")
def everything(scripted: Stack, model_server: ModelServer) -> Everything:
    """Made once for all tests of this process; they only read it."""
    owner = Client(scripted.url).login(OWNER, PASSWORD)
    words = new_words()
    rule = only_for(words)
    model_server.script(
        Think("The user asks about the boiler. I look it up."),
        Say("I look it up."),
        Call("list_dir", {"path": "."}),
        Call("read_file", {"path": "no/such/file.md"}),
        when=rule,
    )
    model_server.script(MARKDOWN, when=rule)
    chat = owner.begin(f"What did we decide about the boiler?\n\n{words}")
    owner.answer(chat)
    for text in ("/status", "/help", "/new"):
        owner.send(chat, text)
    second = new_words()
    model_server.script("Half of it", Stop("max_tokens"), when=only_for(second))
    owner.send(chat, second)
    owner.answer(chat)
    third = new_words()
    model_server.script(Fail(400, "invalid_request_error", "No."), when=only_for(third))
    owner.send(chat, third)
    owner.answer(chat)
    return Everything(chat, owner)


def sign_in(page: Page, stack: Stack, client: Client) -> None:
    """Give the browser the cookies of *client*."""
    page.context.add_cookies(
        [
            {"name": c.name, "value": c.value or "", "url": stack.url}
            for c in client.http.cookies.jar
        ]
    )


@pytest.fixture
def signed_in(new_page: Callable[..., Page], scripted: Stack, owner: Client) -> Callable[..., Page]:
    """Open a page of a fresh browser in which the owner is logged in."""

    def make(**options: object) -> Page:
        page = new_page(base_url=scripted.url, **options)
        sign_in(page, scripted, owner)
        return page

    return make


def idle(page: Page) -> None:
    """Wait until nothing runs in the conversation that *page* shows."""
    expect(page.locator("#thread")).to_have_attribute("data-state", "idle")
