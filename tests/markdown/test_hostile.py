"""Nothing that a model or a page it read puts into a text runs, loads, submits or covers.

The samples are judged by Python's parser, whole and at every point of a stream, and then
stand all together in a real browser without the second wall that the policy of the app is.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page as BrowserPage

from jenny.markdown.render import normalise_text, render
from jenny.markdown.sanitise import sanitise
from jenny.markdown.streaming import StreamRenderer
from tests.markdown.hostile import PAYLOADS, SAMPLES
from tests.markdown.page import Page
from tests.support.html import Seen


def test_there_are_enough() -> None:
    """The table keeps its breadth."""
    assert len(set(SAMPLES)) >= 300


@pytest.mark.parametrize("source", SAMPLES)
def test_whole(source: str) -> None:
    """A stored text has harmless tags only, each closed, and no way for script."""
    assert Seen(render(source)).faults == []


@pytest.mark.parametrize("source", SAMPLES)
def test_streamed(source: str) -> None:
    """Neither has any state of the page while it arrives character by character."""
    renderer, page = StreamRenderer(), Page()
    for character in source:
        ops = renderer.feed(character)
        page.apply(ops)
        if ops:
            assert Seen("".join(page.shown())).faults == []


@pytest.mark.parametrize("source", SAMPLES)
def test_second_wall_has_nothing_to_do(source: str) -> None:
    """The renderer writes nothing that the sanitiser takes away, so that either would do."""
    html = render(source)
    assert sanitise(html) == html


@pytest.mark.parametrize("html", PAYLOADS)
def test_second_wall_alone(html: str) -> None:
    """The sanitiser makes any HTML harmless, should the renderer ever let some through."""
    picture = '<img src="data:image/png;base64,iVBORw0KGgo=">'
    faults = Seen(sanitise(normalise_text(html) + picture)).faults
    # It cannot tell an id that the renderer makes from another.
    assert [fault for fault in faults if not fault.startswith(("id ", "name "))] == []


def test_in_a_browser(new_page: Callable[..., BrowserPage]) -> None:
    """Chromium runs nothing, asks nobody and submits nowhere for all samples at once."""
    page = new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: said.append(request.url))
    whole = "".join(f"<article>{render(sample)}</article>" for sample in SAMPLES)
    page.set_content(f"<!doctype html><main id=thread>{whole}</main>")
    page.evaluate("document.querySelectorAll('a,button,input').forEach(e => e.focus())")
    assert page.locator("article").count() == len(SAMPLES)
    bad = (
        "script,iframe,object,embed,form,style,link,meta[http-equiv],base,svg,main article article"
    )
    assert page.locator(f"main :is({bad})").count() == 0
    assert not [url for url in said if not url.startswith("data:image/")]
