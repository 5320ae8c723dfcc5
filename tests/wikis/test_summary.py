"""A wiki's scope is set without touching the rest of its AGENTS.md."""

from pathlib import Path

import pytest

from jenny.workspace.files import Actor, open_workspace
from wikis import pages, scaffold, wikis_block
from wikis.errors import WikiError

NEW = 'Bees: "all", of\u00a0them'


def change(root: Path, text: str = NEW) -> bytes:
    """Set the scope; the file afterwards."""
    files = open_workspace(root, Actor("browser"))
    scaffold.change_summary(files, pages.open_wiki(root, "bees"), text)
    return (root / "wikis/bees/AGENTS.md").read_bytes()


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    """Where the file is."""
    (tmp_path / "wikis/bees").mkdir(parents=True)
    return tmp_path / "wikis/bees/AGENTS.md"


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (None, b"# bees"),
        (b"", b""),
        (b"# Rules\n\n---\ntext\n", b"# Rules\n\n---\ntext\n"),
        (b"---\nsummary: old\nmemory: profile\n---\n# Rules\n", b"memory: profile\n---\n# Rules\n"),
        (b"---\nmemory: profile\n---\n# Rules\n", b"memory: profile\n"),
        (b"\xef\xbb\xbf---\r\nsummary: 'old'\r\na: b\r\n---\r\n# R\r\n", b"a: b\r\n---\r\n# R\r\n"),
        (b"---\n---\n# Rules", b"# Rules"),
    ],
)
def test_the_line_is_set_and_the_rest_stays(
    tmp_path: Path, guide: Path, before: bytes | None, kept: bytes
) -> None:
    """With a header, without one, with a byte order mark, with any line ends; setting it again
    changes nothing."""
    if before is not None:
        guide.write_bytes(before)
    data = change(tmp_path)
    assert kept in data
    assert wikis_block.parse("bees", data.decode()).scope == " ".join(NEW.split())
    assert change(tmp_path) == data
    if before and b"\r\n" in before:
        assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize(
    "before",
    [
        b"---\nsummary: [\n---\nx", b"---\nsummary: >\n  a\n  b\n---\nx", b"\xff",
        b"---\nsummary: a",
        b"---\nsummary: a\nsummary: b\n---\n",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_left(tmp_path: Path, guide: Path, before: bytes) -> None:
    """Byte for byte, and said."""
    guide.write_bytes(before)
    with pytest.raises(WikiError, match="Nothing was written"):
        change(tmp_path)
    assert guide.read_bytes() == before
