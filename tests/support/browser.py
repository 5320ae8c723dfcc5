"""A real Chromium, driven by Playwright's synchronous API.

``page`` and ``new_page`` fail the test when a page logged an error, broke its own content
security policy, raised, or asked another host for anything.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
LOOPBACK = {"127.0.0.1", "localhost", "::1", ""}
# Far above what anything here takes, also on a small machine that does other things besides.
MILLISECONDS = 60_000
expect.set_options(timeout=MILLISECONDS)


@dataclass
class Complaints:
    """What pages of one test complained about; ``allow`` takes words that make one harmless."""

    seen: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, words: str) -> None:
        """Let complaints that hold *words* pass: the test brings them about on purpose."""
        self.allowed.append(words)

    def left(self) -> list[str]:
        """Those that no ``allow`` covers."""
        return [one for one in self.seen if not any(words in one for words in self.allowed)]


@pytest.fixture(scope="session")
def _chromium() -> Iterator[tuple[Browser, Any]]:
    """The browser and Playwright's event loop, which runs in this thread only while used.

    Left running, it would make ``asyncio.run`` fail in every later test of this process.
    """
    # Where there is none, Playwright's own is used (`.ci/packages` installs one or the other).
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield browser, loop
    asyncio._set_running_loop(loop)
    browser.close()
    playwright.stop()
    asyncio._set_running_loop(None)


@pytest.fixture
def browser(_chromium: tuple[Browser, Any]) -> Iterator[Browser]:
    """The browser, for tests that need contexts of their own."""
    real, loop = _chromium
    asyncio._set_running_loop(loop)
    yield real
    asyncio._set_running_loop(None)


@pytest.fixture
def complaints() -> Complaints:
    """What this test's pages complained about."""
    return Complaints()


def watch(context: BrowserContext, complaints: Complaints) -> None:
    """Note everything that pages of *context* complain about."""

    def asked(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname not in LOOPBACK:
            complaints.seen.append(f"asked another host: {request.url}")

    def logged(message: Any) -> None:
        if message.type == "error":
            complaints.seen.append(f"console: {message.text}")

    context.on("request", asked)
    context.on("console", logged)
    context.on("weberror", lambda error: complaints.seen.append(f"raised: {error.error}"))


def follow(page: Page, act: Callable[[], object]) -> None:
    """Do *act*, which leads to another page, and return once that page is there as a whole.

    A press returns before the browser has begun to leave. Whoever reloads, opens or examines
    something then does it in the middle of the way: the browser refuses, or answers for a page
    that is just being taken away.
    """
    with page.expect_navigation(wait_until="load"):
        act()


def still(page: Page) -> None:
    """Return once the page stands still: it has been painted and scrolls no more."""
    page.evaluate(
        """async () => {
          const frame = () => new Promise(requestAnimationFrame);
          for (let same = 0, last = -1; same < 10; last = scrollY) {
            await frame();
            same = scrollY === last ? same + 1 : 0;
          }
        }"""
    )


@pytest.fixture
def new_page(browser: Browser, complaints: Complaints) -> Iterator[Callable[..., Page]]:
    """Open a page in a fresh profile; keywords go to ``browser.new_context``.

    No service worker begins unless a test allows it: it would take over in the middle of a test and
    hide requests from ``page.route`` and ``expect_request``.
    """
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"service_workers": "block"} | options)
        context.set_default_timeout(MILLISECONDS)
        watch(context, complaints)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    assert not complaints.left()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page in a fresh profile."""
    return new_page()
