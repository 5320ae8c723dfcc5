"""The memory files' table."""

import pytest

from jenny.workspace import seed
from jenny.workspace.config import BY_KEY
from jenny.workspace.versions import tracked_files
from memory import files


def test_every_row_names_things_that_exist() -> None:
    """Budget keys are settings, templates are shipped, and names are told apart."""
    rows = files.MEMORY_FILES
    assert {row.path for row in rows} == {"SOUL.md", "USER.md", "memory/MEMORY.md"}
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert BY_KEY[row.budget_key].unit == "characters"
        assert row.template in seed.SHIPPED
        assert files.BY_PATH[row.path] is row


def test_what_versions_are_kept_of() -> None:
    """The set of the specification: what Dream can write, its cursor and its guide."""
    kept = (*files.BY_PATH, files.CURSOR, files.GUIDE)
    assert sorted(kept) == sorted(tracked_files.TRACKED_FILES)
    assert tracked_files.TRACKED_FOLDERS == (files.SKILLS,)
    assert all(map(tracked_files.is_tracked, kept))
    assert tracked_files.is_tracked("skills/x/SKILL.md")
    assert tracked_files.is_tracked("skills/x/scripts/run.py")
    for path in ("AGENTS.md", "memory/history.jsonl", "prompts/README.md", "wikis/a.md", "skill"):
        assert not tracked_files.is_tracked(path)
    for path in ("skills", "skills/.git/config", "skills/x/.GIT/hooks/y", "skills/.gitmodules"):
        assert not tracked_files.is_tracked(path)


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("soul.md", "SOUL.md"),
        ("Memory/memory.MD", "memory/MEMORY.md"),
        ("agents.md", "AGENTS.md"),
        ("USER.md", "USER.md"),
        ("notes/USER.md", "notes/USER.md"),
        ("ＵＳＥＲ.md", "USER.md"),
    ],
)
def test_a_files_right_spelling(path: str, right: str) -> None:
    """A name that would pass for a memory file is known to be meant for it."""
    assert files.canonical(path) == right


@pytest.mark.parametrize(
    ("path", "skill"),
    [
        ("skills/tea/SKILL.md", "tea"),
        ("Skills/tea/skill.MD", "tea"),
        ("skills/SKILL.md", None),
        ("skills/tea/more/SKILL.md", None),
        ("skills/tea/notes.md", None),
    ],
)
def test_a_skills_own_file(path: str, skill: str | None) -> None:
    """Only ``skills/<slug>/SKILL.md`` is a skill's text."""
    assert files.skill_of(path) == skill
