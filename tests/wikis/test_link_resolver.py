"""Which page a link means."""

from typing import Any

import pytest

from wikis.links import Link, Resolver, Target, parse_target

PATHS = [
    "wiki/index.md",
    "wiki/concepts/hive.md",
    "wiki/concepts/index.md",
    "wiki/entities/Queen Bee.md",
    "wiki/summaries/hive-winter.md",
    "wiki/summaries/notes.md",
    "wiki/concepts/notes.md",
    "wiki/deep/er/Königin.md",
    "wiki/pic.png",
    "wiki/deep/er/Pic.png",
    "raw/photo.jpg",
    "raw/paper.md",
    "raw/only-raw.md",
    "log/20260401.md",
]


def test_marks_of_other_scripts_part_pages() -> None:
    """``[[パパ]]`` does not lead to ハハ, nor ``[[पोता]]`` to पिता; NFC and NFD are one name."""
    wiki = Resolver(["wiki/ハハ.md", "wiki/पिता.md", "wiki/край.md", "raw/Ko\u0308nigin.pdf"])
    for words in ("パパ", "पोता", "краи"):
        assert wiki.named(words).path == ""
        assert wiki.twin(f"wiki/{words}.md") == ""
    assert wiki.named("ﾊﾊ").path == "wiki/ハハ.md"
    assert wiki.named("raw/K\u00f6nigin.pdf").path == "raw/Ko\u0308nigin.pdf"


@pytest.fixture(scope="module")
def wiki() -> Resolver:
    """A wiki with pages of every kind."""
    return Resolver(PATHS)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("concepts/hive.md", "wiki/concepts/hive.md"),
        ("wiki/concepts/hive.md", "wiki/concepts/hive.md"),
        ("concepts", "wiki/concepts/index.md"),
        ("concepts/", "wiki/concepts/index.md"),
        ("Concepts", "wiki/concepts/index.md"),
        ("concepts/hive", "wiki/concepts/hive.md"),
        ("CONCEPTS/Hive", "wiki/concepts/hive.md"),
        ("entities/queen-bee", "wiki/entities/Queen Bee.md"),
        ("hive", "wiki/concepts/hive.md"),
        ("Hive Winter", "wiki/summaries/hive-winter.md"),
        ("queen_bee", "wiki/entities/Queen Bee.md"),
        ("konigin", "wiki/deep/er/Königin.md"),
        ("Königin", "wiki/deep/er/Königin.md"),
        ("pic.png", "wiki/pic.png"),
        ("raw/paper", "raw/paper.md"),
        ("log/20260401.md", "log/20260401.md"),
        ("index", "wiki/index.md"),
        ("nobody", ""),
        ("only-raw", ""),
        ("er/Königin", "wiki/deep/er/Königin.md"),
        ("ER/pic.png", "wiki/deep/er/Pic.png"),
        ("photo.JPG", "raw/photo.jpg"),
        ("p/Königin", ""),
        ("../USER", ""),
        ("---", ""),
        ("", ""),
    ],
)
def test_the_order_of_the_steps(wiki: Resolver, target: str, path: str) -> None:
    """Exact, folder index, ``.md``, case and slug, the end of a path; nothing else."""
    assert wiki.named(target).path == path


def test_a_name_of_several_pages_leads_to_the_nearest(wiki: Resolver) -> None:
    """The candidates are offered; the path says which is meant. Seen from nowhere none is near."""
    both = ("wiki/concepts/notes.md", "wiki/summaries/notes.md")
    assert (wiki.named("Notes").path, wiki.named("Notes").candidates) == ("", both)
    for source, path in (
        ("wiki/summaries/hive-winter.md", both[1]),
        ("wiki/concepts/hive.md", both[0]),
        ("wiki/index.md", both[0]),
    ):
        found = wiki.resolve(parse_target("Notes"), source)
        assert (found.path, found.candidates) == (path, both)
    assert wiki.named("summaries/notes").path == "wiki/summaries/notes.md"
    assert wiki.namesakes(both[0]) == both[1:]
    assert wiki.namesakes("wiki/concepts/index.md") == ()


def test_a_page_of_the_top_folder_is_one_of_its_name() -> None:
    """It is no nearer than it is; with its folder, or an exact name, it is meant from anywhere."""
    wiki = Resolver(
        [
            *("wiki/dup.md", "wiki/sub/dup.md", "wiki/sub/n.md", "wiki/index.md"),
            *(
                "wiki/sub/index.md",
                "wiki/Top.md",
                "wiki/sub/top.md",
                "wiki/C++.md",
                "wiki/sub/C.md",
            ),
        ]
    )
    both = ("wiki/dup.md", "wiki/sub/dup.md")
    for source, path in (("wiki/sub/n.md", both[1]), ("wiki/index.md", both[0])):
        for words in ("dup", "dup.md", "Dup"):
            found = wiki.resolve(parse_target(words), source)
            assert (found.path, found.candidates) == (path, both)
    for words, path in (("wiki/dup", both[0]), ("/dup", both[0]), ("sub/dup", both[1])):
        assert wiki.named(words, "wiki/sub/n.md") == Target(path)
    assert wiki.named("top", "wiki/sub/n.md").path == "wiki/sub/top.md"
    assert wiki.named("C++", "wiki/sub/n.md") == Target("wiki/C++.md")
    assert wiki.named("index", "wiki/sub/n.md") == Target("wiki/index.md")
    assert wiki.named("dup").path == both[0]
    assert [wiki.named(wiki.shortest(path), "wiki/sub/n.md") for path in both] == [
        Target(path) for path in both
    ]


class _Counted(str):
    """A path that counts how often it is taken apart."""

    __slots__ = ()
    splits = 0

    def split(self, *arguments: Any, **more: Any) -> list[str]:
        _Counted.splits += 1
        return super().split(*arguments, **more)


def test_many_links_to_a_name_of_many_pages_take_bounded_work() -> None:
    """The namesakes are compared once, not for each link or each folder."""
    work = []
    for number in (50, 200):
        names = [f"wiki/d{n}/{name}" for n in range(number) for name in ("note.md", "pic.png")]
        wiki = Resolver(_Counted(name) for name in names)
        _Counted.splits = 0
        for n in range(number):
            source = f"wiki/d{n}/x.md"
            assert wiki.named("note", source).path == f"wiki/d{n}/note.md"
            assert wiki.named(f"d{n}/Note", source).path == f"wiki/d{n}/note.md"
            assert wiki.named("PIC.png", source).path == f"wiki/d{n}/pic.png"
        work.append(_Counted.splits)
    assert 0 < work[1] <= 5 * work[0]


def test_aliases_name_a_page_that_has_no_other_claim() -> None:
    """A file's own name goes before an alias; two pages may share one."""
    wiki = Resolver(
        ["wiki/hive.md", "wiki/a/wood.md", "wiki/b/comb.md"],
        {"wiki/hive.md": ["Bee house", "wood"], "wiki/b/comb.md": ["bee-house", "How to/Comb"]},
    )
    assert wiki.named("wood").path == "wiki/a/wood.md"
    assert wiki.named("how to/comb").path == "wiki/b/comb.md"
    assert wiki.resolve(parse_target("Bee House"), "wiki/b/x.md").path == "wiki/b/comb.md"
    assert wiki.named("bee house").candidates == ("wiki/b/comb.md", "wiki/hive.md")


def test_markdowns_own_links_are_relative_to_the_page(wiki: Resolver) -> None:
    """As every other program takes them."""

    def near(target: str) -> str:
        return wiki.resolve(Link("near", 0, 0, target), "wiki/concepts/hive.md").path

    assert near("notes.md") == "wiki/concepts/notes.md"
    assert near("../summaries/notes.md") == "wiki/summaries/notes.md"
    assert near("../../raw/paper.md") == "raw/paper.md"
    assert near("../../../../USER.md") == ""


def test_an_anchor_alone_is_this_page(wiki: Resolver) -> None:
    """``[[#Winter]]``."""
    assert (
        wiki.resolve(parse_target("#Winter"), "wiki/concepts/hive.md").path
        == "wiki/concepts/hive.md"
    )


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith(".md")])
def test_the_shortest_words_lead_back(wiki: Resolver, path: str) -> None:
    """What a rename writes is what a reader would resolve."""
    assert wiki.named(wiki.shortest(path)).path == path
