"""A text that has a place: its links, headings and pictures are asked for there."""

from typing import Any

import pytest

from jenny.markdown import link_context
from jenny.markdown.link_context import (
    HEADING_PREFIX,
    Heading,
    HeadingIndex,
    ResolvedLink,
    anchor,
)
from jenny.markdown.render import render, render_page
from jenny.text_normalisation import fold
from tests.markdown.hostile import SAMPLES
from tests.support.html import Seen


class Place:
    """Somewhere that knows one page, one picture and one diagram."""

    def wiki_link(self, inner: str) -> ResolvedLink:
        """Every link leads to a page named by it."""
        return ResolvedLink(
            "there" if inner == "known" else "missing", f"/p?x={len(inner)}", inner, "A hint"
        )

    def near(self, address: str) -> str | None:
        """One address."""
        return "/near" if address == "near.md" else None

    def picture(self, address: str) -> str | None:
        """One picture."""
        return "/pic" if address == "pic.png" else None

    def missing(self, address: str) -> bool:
        """One file that is not there."""
        return address == "gone.md"

    def frame(self, language: str, source: str) -> str | None:
        """One diagram."""
        return "/frame" if source == "a\n" else None

    def tag(self, name: str) -> str:
        """Where tags are found."""
        return f"/tags?q={len(name)}"

    def embed(self, inner: str) -> str | None:
        """One page that can be shown."""
        return '<div class="embed"><p>inside</p></div>' if inner == "known" else None


def html(source: str) -> str:
    """The page."""
    return render_page(source, Place()).html


@pytest.mark.parametrize(
    "tag",
    [
        "a/b-c_1",
        "हिन्दी",
        "ไทย/ที่",
        "می\u200cخواهم",
        "e\u0301te\u0301",
        "🎉",
        "2026/🎉",
        "👍🏽",
        "👩\u200d🌾",
        "重要",
    ],
)
def test_a_tag_is_whole_in_any_script(tag: str) -> None:
    """Marks, joiners and emoji belong to it; digits alone are none, and punctuation ends it."""
    for source in (f"x #{tag}, y", f"#{tag}^", f"(#{tag}/)"):
        assert f'href="/tags?q={len(tag)}"' in html(source)
        assert f">#{tag}</a>" in html(source)
    for source in (f"x#{tag}", f"`#{tag}`", "#12", "#-", "#^a", "#\u0301", "#"):
        assert "/tags" not in html(f"y {source}")


def test_links_pictures_and_diagrams_come_from_the_place() -> None:
    """What it does not know is shown as text."""
    assert html("[[known]]") == (
        '<p dir="auto"><a class="wiki-link" href="/p?x=5" title="A hint" rel="noopener nofollow">'
        "known</a></p>\n"
    )
    assert 'class="wiki-link missing"' in html("[[other]]")
    assert html("`[[known]]`") == '<p dir="auto"><code>[[known]]</code></p>\n'
    assert Seen(html("[a [[known]] b](https://x.example)")).tags.count("a") == 2
    assert 'href="/near"' in html("[x](near.md)")
    assert "<code>far.md</code>" in html("[x](far.md)")
    assert '<img src="/pic" alt="a" loading="lazy">' in html("![a](pic.png)")
    assert "<img" not in html("![a](https://x.example/pic.png)")
    assert "<iframe" in html("```mermaid\na\n```")
    assert "<iframe" not in html("```mermaid\nb\n```")
    assert "known" in html("| a |\n|---|\n| [[known\\|b]] |")


def test_a_message_has_no_place() -> None:
    """Double brackets are text there, a diagram is code, headings have no ids."""
    for source in ("[[known]]", "```mermaid\na\n```", "# A"):
        text = render(source)
        assert "wiki-link" not in text
        assert "<iframe" not in text
        assert " id=" not in text


def test_headings_have_anchors_of_their_own() -> None:
    """Also those that say the same, or nothing."""
    page = render_page("# Same\n## Same\n## [[known]] `x`\n## ***\nSetext\n---\n", Place())
    assert [(one.level, one.id) for one in page.headings] == [
        (1, "h-same"), (2, "h-same-1"), (2, "h-known-x"), (2, "h-section"), (2, "h-setext"),
    ]  # fmt: skip
    for one in page.headings:
        assert f'id="{one.id}"' in page.html
    assert anchor("GRÖßE & Form!") == "h-grösse-form"
    assert anchor("Ｐａｒｔ １ \u200bof it") == anchor("part 1 of IT") == "h-part-1-of-it"
    found = HeadingIndex([Heading(2, "It’s here", "h-x")]).find("it's here")
    assert found is not None
    assert found.id == "h-x"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("b", "h-b"), ("b-1", "h-b-1"), ("a#b", "h-b"), ("c#b", "h-b-1"), ("c#a#b", None),
        ("a#c", "h-c"), ("#c#", "h-c"), ("c#a", None), ("a#a#a", None), ("A  B!", "h-a-b"),
        ("", None), ("a-b", "h-a-b"), ("a#b#" * 50, None),
    ],
)  # fmt: skip
def test_a_path_of_headings_names_one(written: str, found: str | None) -> None:
    """Each part stands below the one before; there are no more parts than levels."""
    outline = (1, "a"), (2, "b"), (2, "c"), (3, "b"), (1, "A b"), (1, "a")
    ids = ("h-a", "h-b", "h-c", "h-b-1", "h-a-b", "h-a-1")
    headings = [Heading(*one, name) for one, name in zip(outline, ids, strict=True)]
    heading = HeadingIndex(headings).find(written)
    assert (heading and heading.id) == found


def test_many_links_to_headings_that_repeat_take_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A heading is folded once, not for each link; no path of parts is tried twice."""
    folded: list[str] = []

    def counted(text: str) -> str:
        folded.append(text)
        return fold(text)

    monkeypatch.setattr(link_context, "fold", counted)
    tried: list[int] = []
    below = HeadingIndex._below

    def counted_below(self: HeadingIndex, *arguments: Any) -> int | None:
        tried.append(1)
        return below(self, *arguments)

    monkeypatch.setattr(HeadingIndex, "_below", counted_below)
    work = []
    for count in (120, 480):
        tried.clear()
        folded.clear()
        headings = [Heading(1 + n % 6, "a", f"h-a-{n}") for n in range(count)]
        headings.append(Heading(1, "zz", "h-zz"))
        index = HeadingIndex(headings)
        for _ in range(50):
            assert index.find("a#a#a#a#a#zz") is None
            assert index.find("a#a#a#a#a#zy") is None
        assert len(folded) < 2 * count + 50
        work.append(len(tried))
    assert work[1] <= 5 * work[0]
    assert work[1] <= 6 * 480


@pytest.mark.parametrize("source", SAMPLES)
def test_nothing_hostile_gets_further_on_a_page(source: str) -> None:
    """No script, handler, style or address of another scheme; no frame but the place's own."""
    for text in (html(source), html(f"# {source}\n\n[[{source[:80]}]]\n")):
        seen = Seen(text)
        allowed = ("tag iframe", f"id {HEADING_PREFIX}")
        assert [fault for fault in seen.faults if not fault.startswith(allowed)] == []
        assert set(seen.of("iframe", "src")) <= {"/frame"}
        assert len(seen.of("iframe", "sandbox")) == seen.tags.count("iframe")
