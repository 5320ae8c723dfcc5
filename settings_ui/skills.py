from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.prompt import framed
from jenny.agent.tokens import estimate
from jenny.workspace.content import version_of
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import consents, pins, skills
from memory.skills import DisabledSkills, Skill, SkillApproval


@dataclass(frozen=True, slots=True)
class Row:
    """A skill on its page.

    *whose* is ``yours``, ``by Dream`` or ``bundled``. *reach* is ``always``, ``listed``,
    ``waits`` (listed until somebody approves), ``off`` or ``broken``. *tokens* is its approximate
    cost in each prompt; *agreed*: this very text is approved.
    """

    skill: Skill
    whose: str
    reach: str
    tokens: int
    is_pinned: bool = False
    is_off: bool = False
    is_agreed: bool = False
    is_free_to_change: bool = False

    @property
    def is_off_by_itself(self) -> bool:
        """True when the file's own header disables it, which only an edit changes."""
        return self.skill.disabled and not self.is_off


@dataclass(frozen=True, slots=True)
class Skills:
    rows: tuple[Row, ...]
    tokens: int


def list_skills(root: Path) -> Skills:
    """List the skills of the workspace and the bundled ones, by name."""
    off = skills.disabled_skills(root)
    agreed = skills.approved_versions(root)
    free = consents.given(root)
    pinned = {row.path for row in pins.pins(root) if row.is_whole}
    rows = tuple(
        Row(
            skill=one,
            whose=_whose(one),
            reach=(reach := _reach(one, off, agreed)),
            tokens=_tokens(one, reach),
            is_pinned=one.path in pinned,
            is_off=one.name in off,
            is_agreed=(one.path, one.version) in agreed,
            is_free_to_change=one.path in free,
        )
        for one in skills.all_skills(root)
    )
    return Skills(rows, sum(row.tokens for row in rows))


def text_of(root: Path, skill: Skill) -> str:
    """Return the whole file of a skill.

    Raises:
        WorkspaceError: it cannot be read.
    """
    if skill.ships:
        return skill.text
    return open_workspace(root, Actor("browser")).read(skill.path).text


def version(root: Path, skill: Skill) -> str:
    """Return the version of the skill's file for an approval of this very text; empty without
    one."""
    if skill.ships:
        return ""
    try:
        return version_of(open_workspace(root, Actor("browser")).read(skill.path).data)
    except WorkspaceError:
        return ""


def _whose(skill: Skill) -> str:
    if skill.ships:
        return "bundled"
    return "by Dream" if skill.by_dream else "yours"


def _reach(skill: Skill, off: DisabledSkills, agreed: Collection[SkillApproval]) -> str:
    if skill.name in off or skill.disabled:
        return "off"
    if skill.problem:
        return "broken"
    if skill.waits(agreed):
        return "waits"
    return "always" if skill.always else "listed"


def _tokens(skill: Skill, reach: str) -> int:
    if reach == "off":
        return 0
    if reach == "always":
        return estimate(f"## {skill.name}\n\n{framed(skill.text)}")
    return estimate(f"- {skill.name}: {skill.description} — {skill.path}")
