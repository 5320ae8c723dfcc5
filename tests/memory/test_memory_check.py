"""What ``check_workspace`` says of the memory files and skills."""

from pathlib import Path

import django
import pytest

from jenny.workspace import check, config, seed
from jenny.workspace.check import Finding, check_workspace
from jenny.workspace.files import Actor, open_workspace
from memory.checks import check_memory


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """The apps are loaded, as in every process of the product."""
    django.setup()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A new workspace, in which nothing is wrong."""
    seed.seed(open_workspace(tmp_path, Actor("setup")))
    return tmp_path


def found(root: Path) -> dict[str, Finding]:
    """The findings by path, through the whole check."""
    assert check_memory in check._checks
    return {row.path: row for row in check_workspace(root)}


def test_a_new_workspace_is_fine(root: Path) -> None:
    """The templates and the shipped skills are in order."""
    assert found(root) == {}


def test_memory_files_that_cannot_be_read(root: Path) -> None:
    """Bytes that are no text, and a file too large for a prompt, are problems with a cure."""
    (root / "USER.md").write_bytes(b"caf\xe9")
    (root / "SOUL.md").write_bytes(b"x" * 1_000_001)
    (root / "memory" / "MEMORY.md").unlink()
    (root / "memory" / "MEMORY.md").mkdir()
    rows = found(root)
    assert "not UTF-8" in rows["USER.md"].message
    assert "1,000,001 bytes" in rows["SOUL.md"].message
    assert "is a folder" in rows["memory/MEMORY.md"].message
    assert all(rows[path].is_open for path in ("USER.md", "SOUL.md", "memory/MEMORY.md"))


def test_files_over_their_budget_are_noted(root: Path) -> None:
    """In characters, against the budget of this workspace; 0 is no budget."""

    def small(raw: dict) -> None:
        raw["agents"] = {"defaults": {"dream": {"userBudgetChars": 10, "memoryBudgetChars": 0}}}

    config.change_config(root, small)
    (root / "USER.md").write_text("ž" * 12, encoding="utf-8")
    (root / "memory" / "MEMORY.md").write_text("x" * 9_000, encoding="utf-8")
    (root / "prompts" / "dream.md").write_text("x" * 32_001, encoding="utf-8")
    rows = found(root)
    assert rows["USER.md"].message == "It has 12 characters, 2 over its 10."
    assert rows["prompts/dream.md"].message == "It has 32,001 characters, 1 over its 32,000."
    assert {row.level for row in rows.values()} == {"note"}
    assert "memory/MEMORY.md" not in rows


def test_broken_skills_are_named_and_left_as_they_are(root: Path) -> None:
    """A header that cannot be understood is a problem; the bytes stay."""
    broken = b"---\nname: \xe2\x80\x9cTea\nalways: [\n---\nText\n"
    for name, data in {"broken": broken, "fine": b"---\ndescription: d\n---\nText\n"}.items():
        (root / "skills" / name).mkdir(parents=True)
        (root / "skills" / name / "SKILL.md").write_bytes(data)
    rows = found(root)
    assert list(rows) == ["skills/broken/SKILL.md"]
    assert rows["skills/broken/SKILL.md"].is_open
    assert (root / "skills" / "broken" / "SKILL.md").read_bytes() == broken
