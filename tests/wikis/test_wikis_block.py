"""The list of wikis that every personal chat sees."""

from pathlib import Path

import pytest

from wikis import wikis_block
from wikis.wikis_block import NO_SCOPE


def make(root: Path, name: str, agents: bytes | None) -> None:
    """A wiki folder."""
    folder = root / "wikis" / name
    folder.mkdir(parents=True)
    if agents is not None:
        (folder / "AGENTS.md").write_bytes(agents)


def rows(root: Path) -> list[str]:
    """The lines of the block."""
    return [line for line in wikis_block.block(root).text.split("\n") if line.startswith("- ")]


def test_one_line_a_folder_by_name(tmp_path: Path) -> None:
    """Name, scope, path of the index; what the pages say is not in it."""
    make(tmp_path, "kitchen", b"---\nsummary: What we cook\n---\n# Kitchen\n")
    make(tmp_path, "bees", b"---\nsummary: Our hives\n---\nPage text\n")
    (tmp_path / "wikis/_index.md").write_text("no wiki")
    assert rows(tmp_path) == [
        "- bees: Our hives — wikis/bees/wiki/index.md",
        "- kitchen: What we cook — wikis/kitchen/wiki/index.md",
    ]
    block = wikis_block.block(tmp_path)
    assert "Open a wiki's index before you answer" in block.text
    assert "grep wikis/" in block.text
    assert "Page text" not in block.text


def test_without_wikis_there_is_no_block(tmp_path: Path) -> None:
    """Neither a missing nor an empty folder says anything."""
    assert wikis_block.block(tmp_path).text == ""
    (tmp_path / "wikis").mkdir()
    assert wikis_block.block(tmp_path).text == ""


@pytest.mark.parametrize(
    ("agents", "scope"),
    [
        (b"\xef\xbb\xbf---\nsummary: Our hives\n---\n", "Our hives"),
        (b"---\r\nsummary: Our hives\r\n---\r\ntext\r\n", "Our hives"),
        (b"---\nsummary: Our hives\n---\ntext\n---\nsummary: other\n---\n", "Our hives"),
        ("---\nsummary: “Unsere Bienen”\n---\n".encode(), "“Unsere Bienen”"),
        (b"---\nsummary: 2024\n---\n", "2024"),
        (b'---\nsummary: "a\\n# b"\n---\n', "a # b"),
        (None, NO_SCOPE),
        (b"", NO_SCOPE),
        (b"# Bees\n\n---\nsummary: not a header\n---\n", NO_SCOPE),
        (b"---\nsummary: Our hives\n", NO_SCOPE),
        (b"---\nsummary: Our hives: since 2024\n---\n", "Our hives: since 2024"),
        (b'---\nsummary: "Our "own" hives"\n---\n', 'Our "own" hives'),
        (b"---\nsummary: [a, b\n---\n", NO_SCOPE),
        (b"---\nsummary: a\nsummary: b\n---\n", NO_SCOPE),
        (b"---\n\tsummary: a\n---\n", NO_SCOPE),
        (b"---\nsummary:\n---\n", NO_SCOPE),
        (b"---\nsummary: <one line about it>\n---\n", NO_SCOPE),
        (b"---\nsummary: [a, b]\n---\n", NO_SCOPE),
        (b"---\nother: a\n---\n", NO_SCOPE),
        (b"---\nsummary: \xff\n---\n", NO_SCOPE),
        (b"x" * 1_000_001, NO_SCOPE),
    ],
)
def test_the_scope_is_found_or_said_to_be_missing(
    tmp_path: Path, agents: bytes | None, scope: str
) -> None:
    """WIK1: marks, line ends, malformed headers, rules in the text; nothing is rewritten."""
    make(tmp_path, "bees", agents)
    assert rows(tmp_path) == [f"- bees: {scope} — wikis/bees/wiki/index.md"]
    if agents is not None:
        assert (tmp_path / "wikis/bees/AGENTS.md").read_bytes() == agents


def test_what_is_wrong_is_said_to_the_person(tmp_path: Path) -> None:
    """A scope that was meant to be there does not vanish in silence."""
    make(tmp_path, "bees", b'---\nsummary: "a "b""\n---\n')
    make(tmp_path, "kitchen", b"\xff")
    problem = wikis_block.block(tmp_path).problem
    assert problem.startswith("wikis/bees/AGENTS.md: the header is no YAML in line 2")
    assert problem.endswith("1 more like this.")


@pytest.mark.parametrize("name", ["a\nb", "\u202ecod", "x\u200by", "tab\there"])
def test_a_name_that_cannot_stand_in_a_line_is_left_out_and_said(tmp_path: Path, name: str) -> None:
    """A folder's name cannot write lines of its own into the prompt."""
    make(tmp_path, name, b"---\nsummary: x\n---\n")
    make(tmp_path, "bees", None)
    assert len(rows(tmp_path)) == 1
    assert "invisible characters" in wikis_block.block(tmp_path).problem


def test_names_of_other_languages_are_listed(tmp_path: Path) -> None:
    """Whatever a person calls a folder."""
    make(tmp_path, "Bienen & Honig", None)
    make(tmp_path, "養蜂", None)
    assert len(rows(tmp_path)) == 2


def test_hidden_folders_and_links_out_give_nothing_away(tmp_path: Path) -> None:
    """What lies outside the workspace is not read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "AGENTS.md").write_text("---\nsummary: secret\n---\n")
    root = tmp_path / "root"
    make(root, ".git", None)
    (root / "wikis/link").symlink_to(outside)
    assert "secret" not in wikis_block.block(root).text
    assert all(".git" not in row for row in rows(root))


def test_every_change_is_in_the_next_prompt(tmp_path: Path) -> None:
    """Nothing has to be rebuilt."""
    make(tmp_path, "bees", None)
    assert NO_SCOPE in rows(tmp_path)[0]
    (tmp_path / "wikis/bees/AGENTS.md").write_text("---\nsummary: Our hives\n---\n")
    assert "Our hives" in rows(tmp_path)[0]
    make(tmp_path, "a", None)
    assert len(rows(tmp_path)) == 2
    (tmp_path / "wikis/a").rmdir()
    assert len(rows(tmp_path)) == 1


def test_a_thousand_wikis_are_all_listed(tmp_path: Path) -> None:
    """The list has no cap; each has its line."""
    for number in range(1000):
        make(tmp_path, f"wiki-{number:04}", b"---\nsummary: one\n---\n")
    assert len(rows(tmp_path)) == 1000
    assert [wiki.name for wiki in wikis_block.listing(tmp_path)] == [
        f"wiki-{number:04}" for number in range(1000)
    ]
