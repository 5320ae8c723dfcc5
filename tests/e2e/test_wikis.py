"""The wikis at a real browser: look, find, write, rename, comment, at every width."""

import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_look import VIEWS, faults, options, overflow
from tests.support.browser import follow
from tests.support.stack import OWNER, Stack
from tests.support.waiting import wait_until

HIVE = """---
title: The hive
type: concept
tags: [box]
---

# The hive

## Wood

Spruce is light. Pine is heavy, and it lasts. See [[queen]] and [[nobody]] and [[twin]].

| a | b |
|---|---|
| [[queen\\|her]] | $x^2$ |

## Drawn

```mermaid
flowchart LR
  egg --> larva --> bee
```

## Code

```python
print("[[no]]")
```
"""


@pytest.fixture
def wiki(scripted: Stack) -> Path:
    """A wiki of its own in the owner's workspace."""
    made = scripted.data.workspaces / OWNER / "wikis" / f"bees-{uuid.uuid4().hex[:8]}"
    for path, text in {
        "AGENTS.md": "---\nsummary: Our hives\n---\n",
        "wiki/index.md": "# Bees\n\n- [[hive]]\n- [[queen]]\n",
        "wiki/concepts/hive.md": HIVE,
        "wiki/queen.md": "# The queen\n\nShe lives in the [[hive]].\n",
        "wiki/a/twin.md": "# Twin\n",
        "wiki/b/twin.md": "# Twin\n",
        "raw/paper.md": "# Paper\n",
        "log/20260401.md": "- 10:00 — A swarm.\n",
    }.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    return made


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_axe_finds_nothing_on_any_page_of_wikis(
    signed_in: Callable[..., Page], wiki: Path, width: int, scheme: str
) -> None:
    """Pages, folders, search, graphs, forms; none is wider than its window."""
    page = signed_in(**options(width, scheme))
    name = wiki.name
    paths = ["/wikis/", f"/wikis/{name}/", f"/wikis/{name}/concepts/hive.md", f"/wikis/{name}/a/"]
    paths += ["/wiki/create/", "/wiki/search/?q=hive", "/wiki/graph/"]
    paths += [
        f"/wiki/{what}/{name}/"
        for what in ("graph", "health", "feedback", "scope", "new", "remove")
    ]
    paths += [f"/wiki/choose/{name}/?page=twin"]
    paths += [
        f"/wiki/{what}/{name}/wiki/concepts/hive.md/"
        for what in ("edit", "rename", "delete", "comment")
    ]
    found: list[str] = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        assert overflow(page) <= 0, path
        found += faults(page)
    assert not found


def test_a_diagram_is_drawn_in_a_frame_that_reaches_nothing(
    signed_in: Callable[..., Page], wiki: Path
) -> None:
    """As high as it is; its frame has no origin, hence no session; bad ones say so."""
    page = signed_in()
    page.goto(f"/wikis/{wiki.name}/concepts/hive.md")
    page.locator("iframe.diagram").scroll_into_view_if_needed()
    inside = page.frame_locator("iframe.diagram")
    expect(inside.locator("#drawing svg")).to_contain_text("larva")
    frame = next(one for one in page.frames if "/wiki/frame/" in one.url)
    assert frame.evaluate("origin") == "null"
    wait_until(
        lambda: page.locator("iframe.diagram").bounding_box()["height"] < 310,  # type: ignore[index]
        30,
        "the frame to fit",
    )
    (wiki / "wiki/bad.md").write_text("# Bad\n\n```mermaid\nno diagram at all {{{\n```\n")
    page.goto(f"/wikis/{wiki.name}/bad.md")
    expect(inside.locator(".problem")).to_contain_text("cannot be drawn")
    expect(inside.locator("#source")).to_be_visible()


def test_a_page_is_found_while_one_types(signed_in: Callable[..., Page], wiki: Path) -> None:
    """By keyboard alone, from the first page to the hit."""
    page = signed_in()
    page.goto(f"/wikis/{wiki.name}/")
    field = page.get_by_role("searchbox")
    field.press_sequentially("liv")
    expect(page.locator("#hits mark")).to_have_text("lives")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    follow(page, lambda: page.keyboard.press("Enter"))
    expect(page.get_by_role("heading", level=1)).to_have_text("The queen")


def test_a_missing_page_is_written_and_renamed_with_its_links(
    signed_in: Callable[..., Page], wiki: Path
) -> None:
    """From the link to the page, to another name; the link leads there again."""
    page = signed_in()
    page.goto(f"/wikis/{wiki.name}/concepts/hive.md")
    follow(page, page.get_by_role("link", name="nobody").click)
    expect(page.get_by_label("Page", exact=True)).to_have_value("nobody")
    page.get_by_label("Text").fill("# Somebody\n\nNow there is.\n")
    follow(page, page.get_by_role("button", name="Save").click)
    expect(page.get_by_role("heading", level=1)).to_have_text("Somebody")
    linked = page.get_by_label("Linked from").get_by_role("link")
    expect(linked.filter(has_text="The hive")).to_be_visible()
    # The new page was linked from the first one, too.
    expect(linked).to_have_count(2)
    page.get_by_text("More", exact=True).click()
    follow(page, page.get_by_role("link", name="Rename").click)
    page.get_by_label("New name").fill("people/somebody")
    follow(page, page.get_by_role("button", name="Show what changes").click)
    expect(page.locator("ins").filter(has_text="[[somebody]]").first).to_be_visible()
    assert (wiki / "wiki/nobody.md").exists()
    follow(page, page.get_by_role("button", name="Rename it").click)
    expect(page.get_by_text("2 links changed with it")).to_be_visible()
    assert "[[somebody]]" in (wiki / "wiki/concepts/hive.md").read_text()


def test_a_page_is_edited_with_a_look_before(signed_in: Callable[..., Page], wiki: Path) -> None:
    """The preview has the wiki's links; Ctrl+S saves."""
    page = signed_in()
    page.goto(f"/wiki/edit/{wiki.name}/wiki/queen.md/")
    field = page.get_by_label("Text of queen")
    field.fill("# Her\n\nSee [[hive]].\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview").get_by_role("link", name="hive")).to_be_visible()
    field.focus()
    follow(page, lambda: page.keyboard.press("Control+s"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Her")


def test_selected_words_are_commented_on(signed_in: Callable[..., Page], wiki: Path) -> None:
    """They come along to the form; the comment stands below the page until it is resolved."""
    page = signed_in()
    page.goto(f"/wikis/{wiki.name}/concepts/hive.md")
    page.evaluate(
        """() => {
          const text = document.getElementById("text");
          const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
          while (walk.nextNode()) {
            const at = walk.currentNode.data.indexOf("Pine is heavy");
            if (at < 0) continue;
            getSelection().setBaseAndExtent(walk.currentNode, at, walk.currentNode, at + 13);
          }
        }"""
    )
    follow(page, page.get_by_role("link", name="Comment on this").click)
    expect(page.get_by_label("Passage")).to_have_value("Pine is heavy")
    page.get_by_label("Kind").select_option("Doubt")
    page.get_by_label("Comment").fill("Is it?")
    follow(page, page.get_by_role("button", name="Keep the comment").click)
    expect(page.get_by_label("Doubt by owner")).to_contain_text("Is it?")
    assert page.evaluate("String([...CSS.highlights.get('commented')][0])") == "Pine is heavy"
    page.get_by_placeholder("What was done").fill("It is.")
    follow(page, page.get_by_role("button", name="Resolve").click)
    expect(page.get_by_text("None is open")).to_be_visible()
    assert list((wiki / "audit/resolved").glob("*.md"))


def test_a_graph_can_be_read_on_a_phone(signed_in: Callable[..., Page], wiki: Path) -> None:
    """Of what is too large for the screen, a part is shown first, with names in a size that can be
    read; all of it comes at a press."""
    page = signed_in(**options(360, "light"))
    for path in (f"/wiki/graph/{wiki.name}/", "/wiki/graph/"):
        page.goto(path)
        graph = page.locator("[data-graph][data-live]")
        expect(graph).to_be_visible()
        pixels = graph.evaluate(
            """svg => Number(svg.getAttribute("font-size")) / Math.max(
                svg.viewBox.baseVal.width / svg.clientWidth,
                svg.viewBox.baseVal.height / svg.clientHeight)"""
        )
        assert pixels >= 9.9, path
        part = graph.get_attribute("viewBox")
        page.get_by_role("button", name="Whole").click()
        expect(graph).not_to_have_attribute("viewBox", part or "")


def test_the_graph_is_searched_and_moved(signed_in: Callable[..., Page], wiki: Path) -> None:
    """Find leads to the page, keys move and zoom, a press opens the page; the wheel zooms, too."""
    page = signed_in()
    page.goto(f"/wiki/graph/{wiki.name}/")
    graph = page.locator("[data-graph]")
    whole = graph.get_attribute("viewBox")
    page.get_by_label("Find a page in the graph").fill("QUEEN")
    expect(page.get_by_text("1 found")).to_be_visible()
    page.keyboard.press("Enter")
    expect(graph).not_to_have_attribute("viewBox", whole or "")
    page.get_by_role("button", name="Whole").click()
    expect(graph).to_have_attribute("viewBox", whole or "")
    graph.focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    expect(graph).not_to_have_attribute("viewBox", whole or "")
    page.get_by_role("button", name="Whole").click()
    page.get_by_label("Find a page in the graph").fill("")
    page.get_by_label("Show only").select_option("concepts")
    expect(graph.locator("a:not(.is-gone)[data-folder]")).to_have_count(1)
    follow(page, graph.locator("a:not(.is-gone)[data-folder] circle").click)
    expect(page.get_by_role("heading", level=1)).to_have_text("The hive")


def test_everything_but_moving_the_graph_works_without_script(
    signed_in: Callable[..., Page], wiki: Path
) -> None:
    """Search by its button, the graph's dots as links, comments by hand."""
    page = signed_in(java_script_enabled=False)
    page.goto(f"/wikis/{wiki.name}/")
    page.get_by_role("searchbox").fill("swarm")
    follow(page, page.get_by_role("button", name="Search").click)
    follow(page, page.locator(".hits a").first.click)
    expect(page.locator("main")).to_contain_text("A swarm")
    page.goto(f"/wiki/graph/{wiki.name}/")
    follow(page, page.locator("svg.graph a[href$='queen.md'] circle").click)
    expect(page.get_by_role("heading", level=1)).to_have_text("The queen")


def test_code_of_a_page_is_copied(
    signed_in: Callable[..., Page], scripted: Stack, wiki: Path
) -> None:
    """The button says Copied and then Copy again, and a screen reader is told."""
    page = signed_in()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=scripted.url)
    page.goto(f"/wikis/{wiki.name}/concepts/hive.md")
    button = page.get_by_role("button", name="Copy code").first
    button.click()
    expect(page.locator("#announce")).to_have_text("Copied")
    expect(button).to_contain_text("Copied")
    expect(button).not_to_contain_text("Copied")


def test_slash_leads_to_a_search_from_every_page(
    signed_in: Callable[..., Page], wiki: Path
) -> None:
    """To the field of the page, or else to the palette, and it is typed into neither; the sheet of
    keys says so. Whoever switched single keys off has the browser's own."""
    page = signed_in()
    page.goto("/wikis/")
    page.keyboard.press("/")
    field = page.locator("main").get_by_role("searchbox")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    page.goto(f"/wikis/{wiki.name}/concepts/hive.md")
    expect(page.locator("main [type=search]")).to_have_count(0)
    page.keyboard.press("/")
    palette = page.get_by_role("combobox", name="Go to or search")
    expect(palette).to_be_focused()
    expect(palette).to_have_value("")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text(re.compile(r"Ctrl K or /\s*Search everything"))
    expect(sheet).to_contain_text("on a page with a search field / leads there")
    sheet.get_by_label("Single keys work outside of fields").uncheck()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.locator("main").focus()
    page.evaluate(
        "addEventListener('keydown', (event) => (document.title = String(event.defaultPrevented)))"
    )
    page.keyboard.press("/")
    expect(page).to_have_title("false")
    expect(palette).to_be_hidden()
