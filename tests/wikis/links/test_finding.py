"""Links as people write them."""

import random

import pytest

from tests.support.chance import seed
from wikis.links.finding import find, parse


def targets(text: str) -> list[str]:
    """What the links of *text* name."""
    return [link.target for link in find(text)]


@pytest.mark.parametrize(
    ("inner", "parts"),
    [
        ("hive", ("", "hive", "", "")),
        ("hive|the box", ("", "hive", "", "the box")),
        ("hive\\|the box", ("", "hive", "", "the box")),
        ("hive#Winter care", ("", "hive", "Winter care", "")),
        ("hive#a|b", ("", "hive", "a", "b")),
        ("zoo:lions", ("zoo", "lions", "", "")),
        ("zoo:lions#a|b|c", ("zoo", "lions", "a", "b|c")),
        ("#here", ("", "", "here", "")),
    ],
)
def test_every_form_is_read(inner: str, parts: tuple[str, ...]) -> None:
    """Wiki, target, anchor, label."""
    link = parse(inner)
    assert (link.wiki, link.target, link.anchor, link.label) == parts


def test_a_links_place_is_that_of_its_target() -> None:
    """So that renaming changes the target and leaves label and brackets alone."""
    text = "See [[ concepts/hive#Care | the box ]] and [it](../a%20b.md#x) and ![p](<c d.png>).\n"
    found = find(text)
    assert [text[link.start : link.end] for link in found] == [
        " concepts/hive#Care ", "../a%20b.md#x", "c d.png",
    ]  # fmt: skip
    assert [link.target for link in found] == ["concepts/hive", "../a b.md", "c d.png"]


def test_code_holds_no_links() -> None:
    """Fences of any kind, backticks of any number, and what is indented as code."""
    text = (
        "[[a]] `[[no]]` ``x ` [[no]]`` [[b]]\n"
        "```\n[[no]]\n~~~\n[[no]]\n```\n[[c]]\n"
        "~~~~ md\n[[no]]\n~~~\n[[no]]\n~~~~\n"
        "> ```\n> [[no]]\n> ```\n"
        "- item\n\n    [[d]]\n\n"
        "words\n\n    [[no]]\n\n\t[[no]]\nwords\n    [[e]]\n"
        "\\[[no]] lone ` tick [[f]]\n\n`[[g]]\n"
    )
    assert targets(text) == ["a", "b", "c", "d", "e", "f", "g"]


def test_what_leads_elsewhere_is_no_link_of_the_wiki() -> None:
    """Addresses, rooted paths and anchors of the page itself."""
    text = "[a](https://x.org/a.md) [b](/chat/) [c](#d) [e](mailto:a@b.c) [f](g.md) [[]] [[a\nb]]"
    assert targets(text) == ["g.md"]


def test_an_open_fence_goes_to_the_end() -> None:
    """As it does on the page."""
    assert targets("[[a]]\n```\n[[no]]\n") == ["a"]


def test_any_text_is_read_in_time_in_proportion_and_never_fails() -> None:
    """Hostile runs of brackets and backticks, too."""
    chance = random.Random(seed())
    pieces = [
        "[[",
        "]]",
        "`",
        "``",
        "\n",
        "\n\n",
        "    ",
        "a",
        "|",
        "#",
        "](",
        ")",
        "~~~\n",
        "\\",
        ">",
    ]
    for _ in range(300):
        text = "".join(chance.choices(pieces, k=60))
        for link in find(text):
            assert 0 <= link.start <= link.end <= len(text)
    for text in ("[[" * 200_000, "`" * 200_000, "[[a]]" * 100_000, "`a" * 20_000, "](" * 200_000):
        assert len(find(text)) <= 5_000
