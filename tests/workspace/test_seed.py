"""The files a workspace begins with."""

from pathlib import Path

import pytest

from jenny.workspace import seed
from jenny.workspace.files import Workspace


def test_a_new_workspace_gets_its_files_once(root: Path, workspace: Workspace) -> None:
    """Every template lands at its path; a second time nothing is left to do."""
    assert seed.seed(workspace) == [
        "SOUL.md",
        "USER.md",
        "AGENTS.md",
        "memory/MEMORY.md",
        "prompts/README.md",
    ]
    assert seed.seed(workspace) == []
    for path in seed.SHIPPED:
        assert (root / path).read_bytes() == seed.template(path)


def test_seeding_overwrites_nothing(root: Path, workspace: Workspace) -> None:
    """Whatever is there stays: edited, empty, a link, a folder, another spelling."""
    (root / "SOUL.md").write_text("mine")
    (root / "USER.md").write_text("")
    (root / "agents.md").write_text("lower")
    (root / "memory").symlink_to("../workspace_evil")
    (root / "prompts").mkdir()
    (root / "prompts" / "README.md").mkdir()
    assert seed.seed(workspace) == []
    assert (root / "SOUL.md").read_text() == "mine"
    assert (root / "USER.md").read_text() == ""
    assert not (root / "AGENTS.md").exists()
    assert [path.name for path in (root.parent / "workspace_evil").iterdir()] == ["secret.md"]


@pytest.mark.parametrize("path", seed.SHIPPED)
def test_an_untouched_template_is_known_by_its_text(path: str) -> None:
    """Byte order mark, line ends and outer white space do not make it an edited one."""
    text = seed.template(path)
    for same in (
        text,
        b"\xef\xbb\xbf" + text,
        text.replace(b"\n", b"\r\n"),
        text.replace(b"\n", b"\r"),
        b"\n\n" + text.strip() + b"  \n",
    ):
        assert seed.is_untouched(path, same)
    assert not seed.is_untouched(path, text + b"- one fact\n")
    assert not seed.is_untouched(path, b"")
    assert not seed.is_untouched("other.md", text)


def test_formerly_shipped_texts_stay_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file seeded by an older version and never edited is untouched for ever."""
    monkeypatch.setitem(
        seed.SHIPPED, "USER.md", (seed.digest(b"# Old text\n"), *seed.SHIPPED["USER.md"])
    )
    assert seed.is_untouched("USER.md", b"# Old text")
    assert seed.is_untouched("USER.md", seed.template("USER.md"))


def test_every_text_ever_shipped_has_its_digest() -> None:
    """Who changes a template adds a digest and keeps the old ones: the newest is the current."""
    folder = Path(seed.__file__).with_name("templates")
    texts = {str(file.relative_to(folder)) for file in folder.rglob("*.md")}
    assert texts == set(seed.SHIPPED)
    for path, digests in seed.SHIPPED.items():
        assert digests[-1] == seed.digest(seed.template(path)), f"add the new digest of {path}"
        assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("path", seed.SHIPPED)
def test_templates_are_text_that_says_something(path: str) -> None:
    """No template is empty, or in a coding or with line ends that editors stumble over."""
    text = seed.template(path).decode("utf-8")
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert "\r" not in text
    assert len(text) < 2_000
