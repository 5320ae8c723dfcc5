"""The examples of CommonMark and of GitHub's extensions, whole and in random pieces.

What is parsed is compared by the library's own renderer, since a page's HTML differs on purpose
(levels of headings, highlighted code, addresses). Each departure is listed with its reason.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from jenny.markdown.blocks import create_parser
from jenny.markdown.render import render
from jenny.markdown.streaming import StreamRenderer
from tests.markdown.page import SAVE, Page
from tests.support.html import Seen

EXAMPLES = Path(__file__).parent / "examples"
COMMONMARK: list[dict[str, Any]] = json.loads((EXAMPLES / "commonmark.json").read_text())
GITHUB: list[dict[str, Any]] = json.loads((EXAMPLES / "github.json").read_text())

DEPARTURES = {
    "raw HTML is shown as text": [
        21, 31, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162,
        163, 164, 165, 166, 167, 168, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180,
        181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 203, 310, 311, 346,
        477, 478, 479, 493, 496, 526, 538, 615, 616, 617, 618, 619, 625, 627, 628, 629, 630,
        631, 632, 633, 645, 646,
    ],
    "a link with an empty address is text, since it leads nowhere": [202, 488],
    "https://… in running text is a link, as on GitHub": [604, 610, 613],
}  # fmt: skip
GITHUB_DEPARTURES = {
    "a line without a bar ends a table: models go on with prose right below it": [202],
    "only https://… and http://… are links in running text: names of files look like hosts": [
        621, 622, 623, 624, 625, 626, 627, 628, 629, 630, 631,
    ],
    "raw HTML is shown as text": [653],
}  # fmt: skip
PARSER = create_parser()
PARSER.options["xhtmlOut"] = True


def departs(table: dict[str, list[int]]) -> set[int]:
    """The numbers of all departures."""
    return {number for numbers in table.values() for number in numbers}


def plain(html: str) -> str:
    """HTML without differences that no browser shows."""
    html = re.sub(r' class="(?:task|contains)-[a-z-]*"', "", html)
    html = re.sub(r'style="text-align:(\w+)"', r'align="\1"', html)
    html = re.sub(r'<input( checked="")? disabled="" type="checkbox">', r"<input\1>", html)
    html = re.sub(r'<input disabled="" type="checkbox"( checked="")?>', r"<input\1>", html)
    html = html.replace("<s>", "<del>").replace("</s>", "</del>")
    return re.sub(r">\s+<", "><", html)


def is_as_written(example: dict[str, Any]) -> bool:
    """Whether the parser makes of it what the specification says."""
    return plain(PARSER.render(example["markdown"])) == plain(example["html"])


def test_every_example_is_there() -> None:
    """655 of CommonMark; of GitHub tables, tasks, strikethrough, addresses and tags."""
    assert [example["number"] for example in COMMONMARK] == list(range(1, 656))
    assert len(GITHUB) == 24


@pytest.mark.parametrize(
    ("examples", "departures"), [(COMMONMARK, DEPARTURES), (GITHUB, GITHUB_DEPARTURES)]
)
def test_examples_are_parsed_as_specified(
    examples: list[dict[str, Any]], departures: dict[str, list[int]]
) -> None:
    """All but the departures, and each of these departs."""
    wrong = {example["number"] for example in examples if not is_as_written(example)}
    assert wrong == departs(departures)


def test_examples_are_harmless_and_stream_alike() -> None:
    """In pieces of any size the page becomes what the whole text is; where no later line defines
    a link, it is so at once, before the end."""
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for example in COMMONMARK + GITHUB:
        source = example["markdown"]
        whole = render(source)
        assert Seen(whole).faults == [], example
        renderer, page = StreamRenderer(), Page()
        at = 0
        while at < len(source):
            size = chance.randint(1, 9)
            page.apply(renderer.feed(source[at : at + size]))
            at += size
        assert renderer.finish() == whole, example
        if "]:" not in source:
            # A block of code that may still grow has no Save.
            assert SAVE.sub("", page.html()) == SAVE.sub("", whole), example
