"""A text that arrives in pieces looks, at each moment and at its end, as if it came at once.

Costs are counted (characters parsed and sent), not timed.
"""

import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jenny.markdown import limits
from jenny.markdown.render import render
from jenny.markdown.streaming import Done, Open, StreamRenderer, Tail
from tests.markdown.page import SAVE, Page
from tests.support.html import Seen

PIECES = [
    "a", "b", " ", "  ", "\n", "\n\n", "# ", "## ", "- ", "* ", "1. ", "> ", "```", "```py\n",
    "~~~", "    ", "\t", "|", "a|b", "|-|-|", "---", "===", "**", "*", "_", "`", "$", "$$",
    "$$\n", "\\[", "\\]", "\\(", "\\)", "<b>", "</b>", "<br>", "https://x.y", "word", "word ",
    "[ ] ", "- [x] ", "!", "&", "&amp;", "<", "\\", "x^2", "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "10", "1", "+ ", "é", "😀", "(", ")", "\r\n", "\r", "> [!tip]- ", "[!note]", "==", ": d",
    "\n # ", "\n  - ",
    "\n: d\n", "~", "^", "```csv\n", "%%", "重", "：", "（", "」", "مرحبا", "שלום ",
]  # fmt: skip
# What later lines may still change, by definitions: links and notes.
REFERENCES = ["[a]", "[a]: /x\n", "\n\n[a]: https://x.y 't'\n\n", "[^1]", "\n\n[^1]: note\n\n"]


settled = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
anything = st.one_of(
    st.lists(st.sampled_from(PIECES + REFERENCES), max_size=40).map("".join),
    st.text(max_size=200),
    st.text(alphabet=st.characters(), max_size=60),
)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=20)


def streamed(source: str, sizes: list[int]) -> tuple[StreamRenderer, Page]:
    """*source* fed in pieces of these sizes, again and again, and the page it made."""
    renderer, page = StreamRenderer(), Page()
    position = turn = 0
    while position < len(source):
        size = sizes[turn % len(sizes)]
        page.apply(renderer.feed(source[position : position + size]))
        assert page.shown() == renderer.snapshot()
        assert len(page.done) == renderer.done_count
        position += size
        turn += 1
    return renderer, page


@given(source=anything, sizes=sizes)
@example(source="\ud83d\ude00 \ude00\ud83d", sizes=[1])
@example(source="a\r\n\r\nb\r", sizes=[1])
def test_page_follows(source: str, sizes: list[int]) -> None:
    """What a page built from the pieces is what a page that is loaded now gets; the end is
    the stored rendering."""
    renderer, _ = streamed(source, sizes)
    assert renderer.source == source
    assert renderer.finish() == render(source)


@given(source=settled, sizes=sizes)
@example(source="# ## ", sizes=[1])
@example(source="a\n| a | b |\n|---|---|\n| 1 | 2 |\na|b", sizes=[1])
@example(source="# | a |\n|---|\n", sizes=[1])
@example(source="- a\n\n10 b\n\n1. c", sizes=[2])
def test_nothing_changes_at_the_end(source: str, sizes: list[int]) -> None:
    """Where nothing later defines a link or a note, the page is at each moment what a stored
    text of that length looks like: the end moves nothing."""
    source = source.rstrip("\r")
    _, page = streamed(source, sizes)
    assert SAVE.sub("", page.html()) == SAVE.sub("", render(source))


@given(source=settled, sizes=sizes)
def test_finished_the_same_however_it_came(source: str, sizes: list[int]) -> None:
    """A page loaded in the middle agrees with the worker on what is finished."""
    source = source.rstrip("\r")
    renderer, _ = streamed(source, sizes)
    assert StreamRenderer(source).done_count == renderer.done_count


@given(source=anything, sizes=sizes)
def test_finished_parts_are_harmless(source: str, sizes: list[int]) -> None:
    """Each state of the page is well-formed HTML."""
    _, page = streamed(source, sizes)
    assert Seen("".join(page.shown())).faults == []


def test_operations() -> None:
    """Blocks are finished once; words are sent as words; what they change is sent again."""
    renderer = StreamRenderer()
    tail = '<span class="tail"></span>'
    assert renderer.feed("Hello") == [Open(0, f'<p dir="auto">Hello{tail}</p>\n')]
    assert renderer.feed(" there ") == [Tail(0, " there")]
    assert renderer.feed("you") == [Tail(0, " you")]
    assert renderer.feed(" *now*") == [
        Open(0, f'<p dir="auto">Hello there you <em>now</em>{tail}</p>\n')
    ]
    assert renderer.feed("\n\n")[0] == Done(0, '<p dir="auto">Hello there you <em>now</em></p>\n')
    assert renderer.feed("```\na")[-1].at == 1
    assert renderer.snapshot()[0] == '<p dir="auto">Hello there you <em>now</em></p>\n'
    assert renderer.feed("") == []


@pytest.mark.parametrize(
    "source",
    ["a paragraph\n\n", "# heading\n", "```\ncode\n```\n", "---\n", "$$\nx\n$$\n", "> a\n\n",
     "| a |\n|---|\n| 1 |\n\n", "- a\n\nB", "1. a\n\n**B", "- a\n# b\n"],
)  # fmt: skip
def test_finished_early(source: str) -> None:
    """A block is finished as soon as nothing can change it, not with the next one's end."""
    renderer = StreamRenderer()
    ops = [op for character in source for op in renderer.feed(character)]
    assert any(isinstance(op, Done) for op in ops)


@pytest.mark.parametrize("before", ["", "- a\n\n"])
def test_code_that_grows_is_not_saved(before: str) -> None:
    """Only a whole block can be."""
    renderer = StreamRenderer(f"{before}```py\na = 1\n")
    assert "data-copy" in "".join(renderer.snapshot())
    assert "data-save" not in "".join(renderer.snapshot())
    renderer.feed("```\n")
    assert 'data-save="py"' in "".join(renderer.snapshot())
    assert 'data-save="py"' in StreamRenderer("```py\na = 1\n").finish()


def test_links_defined_above() -> None:
    """A link whose target was defined above is one at once; below, it is one at the end."""
    renderer = StreamRenderer("[a]: https://x.example\n\nsee [a] and [b]\n\n")
    assert 'href="https://x.example"' in renderer.snapshot()[0]
    renderer.feed("[b]: https://y.example\n\nsee [a]\n\n")
    assert "y.example" not in renderer.snapshot()[0]
    assert renderer.finish().count('href="https://y.example"') == 1
    assert renderer.finish().count('href="https://x.example"') == 2


def test_definition_that_grows() -> None:
    """A definition that has not ended defines nothing yet."""
    renderer = StreamRenderer()
    for character in "[a]: https://x.example/long\n\nsee [a]\n\n":
        renderer.feed(character)
    assert 'href="https://x.example/long"' in renderer.snapshot()[0]


def test_notes_come_at_the_end() -> None:
    """Footnotes are shown when the text is complete, with the ids of their block."""
    renderer = StreamRenderer("a[^1]\n\n[^1]: note\n\nb", prefix="b4-")
    assert "note" not in "".join(renderer.snapshot())
    assert 'id="fn-b4-1"' in renderer.finish()


def test_seen_with_fewer_finished() -> None:
    """A page may show the same text with fewer chunks finished, as another process had it."""
    renderer = StreamRenderer("a\n\nb\n\nc")
    assert renderer.done_count == 2
    assert renderer.snapshot(1)[0] == '<p dir="auto">a</p>\n'
    assert "".join(renderer.snapshot(1)) == "".join(renderer.snapshot())


GROWING = {
    "paragraphs": "Some *words* of a paragraph, with `code` and [a link](https://x.example).\n\n",
    "one paragraph": "Some *words* of a paragraph, with `code` and (brackets).\n",
    "one line": "word ",
    "one fence": "    return value + 1  # comment\n",
    "one list": "- an *item* of the list\n",
    "one table": "| a cell | `another` |\n",
    "one quote": "> words\n",
    "headings": "# head\n",
    "brackets": "[",
    "stars": "*a ",
    "backticks": "`a",
    "dollars": "$a ",
    "quotes": ">",
    "tags": "<b>",
    "highlights": "==a== ",
    "superscripts": "a^b ",
    "callouts": "> [!note] a\n> > [!tip]- b\n\n",
    "blank lines": "\n",
    "definitions": "[a]: x\n",
    "notes": "[^1]: x\n\n",
}
BEGINNINGS = {
    "one fence": "```python\n",
    "one table": "| a | b |\n|---|---|\n",
}


def cost(name: str, length: int) -> tuple[int, int]:
    """Characters sent and parsed for a text of *length*, in pieces of four to twelve."""
    piece = GROWING[name]
    source = BEGINNINGS.get(name, "") + piece * (length // len(piece))
    chance = random.Random(length)
    renderer, page = StreamRenderer(), Page()
    position = 0
    while position < len(source):
        size = chance.randint(4, 12)
        page.apply(renderer.feed(source[position : position + size]))
        position += size
    assert page.shown() == renderer.snapshot()
    return page.sent, renderer.work


@pytest.mark.parametrize("name", GROWING)
def test_cost_grows_with_the_length(name: str) -> None:
    """Four times the text costs about four times as much to send and to parse, whatever it is."""
    sent, work = cost(name, 12_000)
    sent_more, work_more = cost(name, 48_000)
    # Beside proportion, room for the small beginning and for where the last step of growth fell.
    assert sent_more <= 4.5 * sent + 20_000
    assert work_more <= 4.5 * work + 20_000


def test_long_answer_is_cheap() -> None:
    """An answer of paragraphs costs a small multiple of its own length, not of its square."""
    source = GROWING["paragraphs"] * 400
    _, page = streamed(source, [7])
    assert page.sent < 15 * len(render(source))


def test_end_of_a_large_block_is_seen() -> None:
    """What follows a long code block or list stands below it at once."""
    for source, end in (
        ("```\n" + "x = 1\n" * 3_000, "```\n"),
        ("- item\n" * 3_000, "\nNext"),
        ("> said\n" * 3_000, "\nNext"),
        ("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000, "\nNext"),
    ):
        renderer, _ = streamed(source, [500])
        assert renderer.done_count == 0
        renderer.feed(end)
        assert renderer.done_count == 1


@pytest.mark.parametrize(
    "item", ["{}. Item *one* of many\n\n", "- Item {} of\n  - a few\n", "{}. a\n\n   b c\n"]
)
def test_items_of_a_long_list_are_items_at_once(item: str) -> None:
    """Once a list is long, what began since it was last formatted does not run together."""
    source = "".join(item.format(number) for number in range(1, 161))
    renderer, page = StreamRenderer(), Page()
    for position in range(0, len(source), 7):
        page.apply(renderer.feed(source[position : position + 7]))
        assert page.shown() == renderer.snapshot()
        so_far = "\n" + source[: position + 7]
        begun = len(re.findall(r"\n(?:\d+\.|-) \w\w", so_far)) + len(
            re.findall(r"\n  - a ", so_far)
        )
        assert page.open.count("<li") >= begun - 2


@pytest.mark.parametrize(
    ("piece", "count"),
    [
        ("word *em* " * 50 + "\n\n", limits.SOURCE // 502 + 1),
        ("*a*\n\n" * 10, limits.LINES // 20 + 1),
        ("```\n" + "*a*\n" * limits.LINES, 1),
    ],
    ids=["characters", "lines", "lines of code"],
)
def test_more_than_is_formatted(piece: str, count: int) -> None:
    """Behind each limit, text is shown as it comes, and costs no more than itself."""
    renderer, page = StreamRenderer(), Page()
    for _ in range(count):
        page.apply(renderer.feed(piece))
    work, sent = renderer.work, page.sent
    for _ in range(50):
        page.apply(renderer.feed("more *words*\n\n"))
    assert renderer.work == work
    assert page.sent - sent == 50 * len("more *words*\n\n")
    assert page.html() == renderer.finish()
