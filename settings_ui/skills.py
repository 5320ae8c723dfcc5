"""Skills as their page shows them: whose they are, how they reach a prompt, what they cost."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from jenny.agent.prompt import framed
from jenny.agent.tokens import estimate
from jenny.workspace.content import version_of
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import approved, consents, pins, skills, switched_off
from memory.approved import Yes
from memory.skills import Skill


@dataclass(frozen=True, slots=True)
class Row:
    """A skill. *whose*: ``yours``, ``by Dream`` or ``bundled``; *reach*: how it reaches prompts
    now, ``always``, ``listed``, ``waits`` (listed until somebody agrees), ``off`` or ``broken``;
    *tokens*: about what it costs in each prompt; *agreed*: somebody agreed to just this text."""

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
        """Whether its own header switches it off, which only an edit of the file takes back."""
        return self.skill.disabled and not self.is_off


@dataclass(frozen=True, slots=True)
class Skills:
    """All of them, and what they cost together in each prompt."""

    rows: tuple[Row, ...]
    tokens: int


def every(root: Path) -> Skills:
    """Every skill of the workspace at *root* and those that ship, by name."""
    off = switched_off.names_off(root)
    agreed = approved.approved(root)
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
        for one in skills.every(root)
    )
    return Skills(rows, sum(row.tokens for row in rows))


def text_of(root: Path, skill: Skill) -> str:
    """The skill's whole file.

    Raises:
        WorkspaceError: it cannot be read.
    """
    if skill.ships:
        return skill.text
    return open_workspace(root, Actor("browser")).read(skill.path).text


def version(root: Path, skill: Skill) -> str:
    """The version of its file that is shown, for a yes to just that text; empty: none."""
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


def _reach(skill: Skill, off: Collection[str], agreed: Collection[Yes]) -> str:
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
