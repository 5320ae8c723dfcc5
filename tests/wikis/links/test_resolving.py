"""Which page a link means."""

import pytest

from wikis.links.finding import Link, parse
from wikis.links.resolving import Resolver

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
    "raw/paper.md",
    "raw/only-raw.md",
    "log/20260401.md",
]


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
        ("er/Königin", ""),
        ("../USER", ""),
        ("---", ""),
        ("", ""),
    ],
)
def test_the_order_of_the_steps(wiki: Resolver, target: str, path: str) -> None:
    """Exact, folder index, ``.md``, case and slug, stem; nothing else."""
    assert wiki.named(target).path == path


def test_a_name_of_several_pages_is_nobodys(wiki: Resolver) -> None:
    """The candidates are offered; the path says which is meant."""
    found = wiki.named("Notes")
    assert found.path == ""
    assert found.candidates == ("wiki/concepts/notes.md", "wiki/summaries/notes.md")
    assert wiki.named("summaries/notes").path == "wiki/summaries/notes.md"


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
    assert wiki.resolve(parse("#Winter"), "wiki/concepts/hive.md").path == "wiki/concepts/hive.md"


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith(".md")])
def test_the_shortest_words_lead_back(wiki: Resolver, path: str) -> None:
    """What a rename writes is what a reader would resolve."""
    assert wiki.named(wiki.shortest(path)).path == path
