"""Wikis and pages as they lie on disk, whoever put them there."""

from pathlib import Path

import pytest

from jenny.workspace.errors import FileMissing, PathRefused, WorkspaceError
from wikis import pages
from wikis.errors import PageRefused, WikiMissing
from wikis.index_entries import parse_page


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one wiki."""
    (tmp_path / "wikis/bees/wiki/concepts").mkdir(parents=True)
    (tmp_path / "wikis/bees/wiki/index.md").write_text("# Bees\n")
    (tmp_path / "USER.md").write_text("secret")
    return tmp_path


def page(root: Path, text: str | bytes) -> pages.Page:
    """The page that these bytes make."""
    data = text.encode() if isinstance(text, str) else text
    (root / "wikis/bees/wiki/p.md").write_bytes(data)
    return pages.read_page(pages.open_wiki(root, "bees"), "wiki/p.md")


def test_every_folder_is_a_wiki(root: Path) -> None:
    """Also one with an odd name, and one that nothing is in; files and hidden folders are none."""
    for name in ("Zoo #1 ?%", "\u202eseeb", "a'b\"c"):
        (root / "wikis" / name).mkdir()
    (root / "wikis/.hidden").mkdir()
    (root / "wikis/note.md").touch()
    found = pages.wiki_names(root)
    assert set(found) == {"bees", "Zoo #1 ?%", "\u202eseeb", "a'b\"c"}
    for name in found:
        assert pages.open_wiki(root, name).name == name
    assert pages.wiki_names(root / "wikis") == ()


@pytest.mark.parametrize("name", ["", ".", "..", "nobody", "../wikis/bees", ".hidden", "a\0"])
def test_what_is_no_wiki_is_not_opened(root: Path, name: str) -> None:
    """The sentence names it."""
    with pytest.raises(WikiMissing):
        pages.open_wiki(root, name)


@pytest.mark.parametrize(
    "path", ["../../USER.md", "wiki/../../../USER.md", "/etc/passwd", "wiki/out.md", "wiki/away.md"]
)
def test_nothing_outside_the_folder_is_a_page(root: Path, path: str) -> None:
    """Not by dots, not by a link to another place of the workspace, not by one out of it."""
    (root / "wikis/bees/wiki/out.md").symlink_to("/etc/passwd")
    (root / "wikis/bees/wiki/away.md").symlink_to(root / "USER.md")
    with pytest.raises(WorkspaceError) as caught:
        pages.read_page(pages.open_wiki(root, "bees"), path)
    assert isinstance(caught.value, PageRefused | PathRefused | FileMissing)


def test_a_header_shows_four_things(root: Path) -> None:
    """Title, type, tags and dates; the rest of it stays unsaid."""
    head = page(
        root,
        "---\ntitle: The queen\ntype: concept\ntags: [bee, '#Hive', bee, {a: 1}]\n"
        "created: 2026-04-01\nupdated: 2026-04-02 10:30:00\nsecret: x\n---\n# Other\n",
    ).head
    assert (head.title, head.type, head.tags) == ("The queen", "concept", ("bee", "Hive"))
    assert head.dates == (("created", "2026-04-01"), ("updated", "2026-04-02 10:30:00"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A **b** [[c]]\n", "A b c"),
        ("\ufeff---\r\ntitle: T\r\n---\r\nx", "T"),
        ("---\ntitle: [\n---\n# Heading\n", "Heading"),
        ("```\n# no\n```\n# later\n", "p"),
        ("words\n---\ntitle: no\n---\n", "p"),
        ("", "p"),
        ("%%\n# Secret\n%%\n\nBody", "p"),
        ("<!--\n# Secret\n-->\n# Shown %%not this%%\n", "Shown"),
        ("%%\n```\n%%\n# Shown\n", "Shown"),
    ],
)
def test_a_page_has_a_title_whatever_its_header(root: Path, text: str, title: str) -> None:
    """From the header, the first heading that is no comment, or the file's name."""
    assert page(root, text).title == title
    assert parse_page("wiki/p.md", text.encode(), len(text), 0.0).entry.title == title


def test_bytes_that_are_no_text_are_still_shown(root: Path) -> None:
    """What can be read is; the sentence says where it cannot."""
    found = page(root, b"good \xff bad\n\0")
    assert "good \ufffd bad" in found.body
    assert "Byte 6" in found.problem


def test_of_a_huge_page_the_beginning_is_read(root: Path) -> None:
    """Not in the middle of a character, and it cannot be saved over the rest."""
    found = page(root, "é" * 1_500_000)
    assert found.is_cut
    assert found.version == ""
    assert found.problem == ""
    assert set(found.body) == {"é"}


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("Queen", "wiki/Queen.md"),
        ("concepts/Queen bee", "wiki/concepts/Queen bee.md"),
        ("/wiki/x.md", "wiki/x.md"),
        ("a.markdown", "wiki/a.markdown"),
    ],
)
def test_a_new_page_goes_below_wiki(typed: str, path: str) -> None:
    """With the ending it lacks."""
    assert pages.new_path(typed) == path


@pytest.mark.parametrize(
    "typed",
    ["", "/", "../x", "a//b", "a/../b", ".git/x", "a\\b", "x\0", "\u202ex", "CON", "%2e%2e/x",
     "a" * 300],
)  # fmt: skip
def test_no_page_is_made_where_none_can_be(typed: str) -> None:
    """Each is refused before anything is asked of the disk."""
    with pytest.raises(PageRefused):
        pages.new_path(typed)
