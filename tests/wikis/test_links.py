"""Links as people write them: what the page shows as a link is found, with where it is written."""

import random

import pytest

from tests.support.chance import seed
from wikis.links import find_links, parse_target, read_links


def written(text: str) -> list[str]:
    """What names the target of each link of *text*, as it is written."""
    return [text[link.start : link.end] for link in find_links(text)]


def targets(text: str) -> list[str]:
    """What the links of *text* name."""
    return [link.target for link in find_links(text)]


@pytest.mark.parametrize(
    ("inner", "parts"),
    [
        ("hive", ("", "hive", "", "")),
        ("hive|the box", ("", "hive", "", "the box")),
        ("hive\\|the box", ("", "hive", "", "the box")),
        ("hive#Winter care", ("", "hive", "Winter care", "")),
        ("hive#FAQ#Sub One", ("", "hive", "FAQ#Sub One", "")),
        ("hive#a|b", ("", "hive", "a", "b")),
        ("zoo:lions", ("zoo", "lions", "", "")),
        ("zoo:lions#a|b|c", ("zoo", "lions", "a", "b|c")),
        ("#here", ("", "", "here", "")),
    ],
)
def test_every_form_is_read(inner: str, parts: tuple[str, ...]) -> None:
    """Wiki, target, anchor, label."""
    link = parse_target(inner)
    assert (link.wiki, link.target, link.anchor, link.label) == parts


@pytest.mark.parametrize(
    ("text", "place", "target"),
    [
        ("See [[ concepts/hive#Care | the box ]].", " concepts/hive#Care ", "concepts/hive"),
        ("[it](../a%20b.md#x)", "../a%20b.md#x", "../a b.md"),
        ("![p](<c d.png> 'title')", "<c d.png>", "c d.png"),
        ('[x](Mars_(planet).md "t")', "Mars_(planet).md", "Mars_(planet).md"),
        ("[x](Earth%20(planet).md)", "Earth%20(planet).md", "Earth (planet).md"),
        ("[x](a\\(b.md)", "a\\(b.md", "a(b.md"),
        ("[x](R&amp;D.md)", "R&amp;D.md", "R&D.md"),
        ("[x](a%23b.md#c)", "a%23b.md#c", "a#b.md"),
        ("[x](\n  venus.md\n)", "venus.md", "venus.md"),
        ("[x][r] and [x][R]\n\n[r]: venus.md 'title'", "venus.md", "venus.md"),
        ("[r]\n\n[r]:\n  <venus b.md>", "<venus b.md>", "venus b.md"),
        ("> [r][]\n>\n> [r]: venus.md", "venus.md", "venus.md"),
        ("![r]\n\n[r]: pic.png", "pic.png", "pic.png"),
        ("| a | b |\n|---|---|\n| a a | x [[hive\\|a]] |", "hive", "hive"),
        ("| [a](q\\|r.md) | b |\n|---|---|", "q\\|r.md", "q|r.md"),
        ("- a\n\n  1. [[hive]]", "hive", "hive"),
        ("> - a\n>   [[hive]]", "hive", "hive"),
        ("1. # 1 [[hive]] #", "hive", "hive"),
        ("a [[hive]]\n===", "hive", "hive"),
        ("a[^1]\n\n[^1]: b\n    [[hive]]", "hive", "hive"),
        ("**[[hive]]** <b>x</b>", "hive", "hive"),
        ("[![p](https://x.example/y.png)](hive.md)", "hive.md", "hive.md"),
        ('---\nrelated: "[[hive|x]]"\n---\n', "hive", "hive"),
        ("---\nrelated:\n  - '[[hive#A b]]' # [[no]]\n---\n", "hive#A b", "hive"),
    ],
)
def test_a_links_place_is_that_of_its_target(text: str, place: str, target: str) -> None:
    """So that renaming changes the target and leaves label, title and brackets alone."""
    for whole in (text, f"one\r\ntwo\r\n\r\n{text}" if not text.startswith("---") else text):
        assert written(whole) == [place]
        assert targets(whole) == [target]
    windows = text.replace("\n", "\r\n")
    assert written(windows) == [place]


def test_code_and_hidden_text_hold_no_links() -> None:
    """Fences of any kind, backticks of any number, what is indented as code, and comments."""
    text = (
        "[[a]] `[[no]]` ``x ` [[no]]`` [[b]]\n"
        "```\n[[no]]\n~~~\n[[no]]\n```\n[[c]]\n"
        "~~~~ md\n[[no]]\n~~~\n[[no]]\n~~~~\n"
        "> ```\n> [[no]]\n> ```\n"
        "- item\n\n    [[d]]\n\n"
        "words\n\n    [[no]]\n\n\t[[no]]\nwords\n    [[e]]\n"
        "\\[[no]] lone ` tick [[f]]\n\n`[[g]]\n\n"
        "<!-- [[no]]\n\n[no](no.md) -->\n\n[^9]: [[no]]\n\n[unused]: no.md\n"
    )
    assert targets(text) == ["a", "b", "c", "d", "e", "f", "g"]


def test_what_leads_elsewhere_is_no_link_of_the_wiki() -> None:
    """Addresses, rooted paths and anchors of the page itself."""
    text = "[a](https://x.org/a.md) [b](/chat/) [c](#d) [e](mailto:a@b.c) [f](g.md) [[]] [[a\nb]]"
    assert targets(text) == ["g.md"]


def test_an_open_fence_goes_to_the_end() -> None:
    """As it does on the page."""
    assert targets("[[a]]\n```\n[[no]]\n") == ["a"]


def test_headings_are_those_of_the_page() -> None:
    """Words without marks, ids of their own, none in code."""
    text = "# A *b* [c](d.md) [[e|f]]\n```\n# no\n```\n## कि\n## का\n## A b c f\nSetext 🎉\n---\n"
    assert [(one.level, one.text, one.id) for one in read_links(text).headings] == [
        (1, "A b c f", "h-a-b-c-f"), (2, "कि", "h-कि"), (2, "का", "h-का"),
        (2, "A b c f", "h-a-b-c-f-1"), (2, "Setext 🎉", "h-setext"),
    ]  # fmt: skip


def test_any_text_is_read_and_never_fails() -> None:
    """Hostile runs of brackets and backticks, too."""
    chance = random.Random(seed())
    pieces = [
        "[[", "]]", "`", "``", "\n", "\n\n", "    ", "a", "|", "#", "](", ")", "~~~\n", "\\", ">",
        "[r]", "[r]: a.md\n", "| a |\n|---|\n| ", "<", "!", "\r\n", "- ", "\t", "[^1]", "[^1]: ",
    ]  # fmt: skip
    for _ in range(300):
        text = "".join(chance.choices(pieces, k=60))
        for link in find_links(text):
            assert 0 <= link.start <= link.end <= len(text)
    for text in ("[[" * 20_000, "`" * 20_000, "[[a]]" * 20_000, "`a" * 5_000, "](" * 20_000):
        assert len(find_links(text)) <= 5_000
