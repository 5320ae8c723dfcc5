"""Skills: ways of doing things, one folder each, ``skills/<slug>/SKILL.md``.

The folder's name is the skill's. Its header may have ``description``, ``always: true`` (the
whole text goes into every prompt) and ``disabled: true``. A header that cannot be understood
makes the skill *broken*: it is listed as such with the reason, and its bytes are left alone.
Some skills ship with the program; the workspace's own of the same name wins.

A skill that Dream made says so (``made-by: dream``). With ``always: true`` it is listed like any
other until the user has agreed to just that text (``memory.approved``).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jenny.agent.prompt import Block, framed, one_line
from jenny.markdown import front_matter
from jenny.workspace import names
from jenny.workspace.content import version_of
from jenny.workspace.reading import Reading
from jenny.workspace.stamped import StampedFolder
from memory import approved, suspect, switched_off
from memory.approved import Yes

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SHIPPED = Path(__file__).with_name("bundled")
_FLAGS = ("always", "disabled")
MADE_BY = "made-by"
_DREAM = "dream"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. *text* is its body where that goes into the prompt, or the whole file of one
    that ships; *problem* says why it is broken, if it is (so does its description then);
    *suspect* what in it should be looked at, if anything. *version*: of the file, where a yes of
    the user's hangs on it."""

    name: str
    description: str
    path: str
    text: str = ""
    always: bool = False
    disabled: bool = False
    problem: str = ""
    ships: bool = False
    by_dream: bool = False
    suspect: str = ""
    version: str = ""

    def waits(self, agreed: Collection[Yes]) -> bool:
        """Whether it is to be read in every conversation and the user has not agreed yet."""
        return self.always and self.by_dream and (self.path, self.version) not in agreed


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills of a workspace, and what they give to a prompt."""

    all: tuple[Skill, ...]
    always: Block
    listed: Block
    # Whether the user's yes to one of them has a say in the blocks.
    asks: bool = False


def listing(root: Path) -> tuple[Skill, ...]:
    """Every skill of the workspace at *root* that is not switched off, by its header or by the
    person, by name."""
    off = switched_off.names_off(root)
    found = _SKILLS.read(root).all
    return tuple(skill for skill in found if not skill.disabled and skill.name not in off)


def every(root: Path) -> tuple[Skill, ...]:
    """Every skill of the workspace at *root* and those that ship, by name."""
    return _SKILLS.read(root).all


def waiting(root: Path) -> tuple[Skill, ...]:
    """Skills that wait for the user's yes before they are read in every conversation."""
    agreed = approved.approved(root)
    return tuple(skill for skill in listing(root) if skill.waits(agreed))


def blocks(root: Path) -> tuple[Block, Block]:
    """The always-on skills in full, and the list of the others; a text may be empty."""
    found = _SKILLS.read(root)
    off = switched_off.names_off(root)
    if found.asks or off:
        left = [skill for skill in found.all if skill.name not in off]
        return _blocks(left, approved.approved(root))
    return found.always, found.listed


@cache
def shipped() -> tuple[Skill, ...]:
    """The skills that come with the program."""
    found = []
    for file in sorted(_SHIPPED.glob("*/SKILL.md")):
        text = file.read_text(encoding="utf-8")
        found.append(replace(parse(file.parent.name, text), text=text, ships=True))
    return tuple(found)


@cache
def shipped_files() -> dict[str, str]:
    """The shipped skills' files, by the path at which a model reads them."""
    return {skill.path: skill.text for skill in shipped()}


def unfit_name(name: str) -> str:
    """Why a skill may not have this name; empty when it may."""
    if not NAME.fullmatch(name):
        return "its folder's name is not made of up to 64 letters, digits, - and _"
    if why := names.unfit(name):
        return f"its folder's name {why}"
    return ""


def parse(name: str, text: str) -> Skill:
    """The skill in a folder of that name whose file says *text*."""
    path = f"skills/{name}/SKILL.md"
    if why := unfit_name(name):
        return _broken(name, path, why)
    header = front_matter.read(text)
    if header.problem:
        return _broken(name, path, header.problem)
    for flag in _FLAGS:
        if not isinstance(header.values.get(flag, False), bool | None):
            return _broken(name, path, f"{flag} is neither true nor false")
    description = header.values.get("description")
    if not isinstance(description, str | int | float | None):
        return _broken(name, path, "its description is no text")
    always = header.values.get("always") is True
    return Skill(
        name,
        one_line(str(description or "")) or name,
        path,
        text=header.body if always else "",
        always=always,
        disabled=header.values.get("disabled") is True,
        by_dream=header.values.get(MADE_BY) == _DREAM,
        suspect=next(suspect.findings(text), ""),
    )


def _broken(name: str, path: str, problem: str) -> Skill:
    described = f"broken, not loaded ({one_line(problem)})"
    return Skill(one_line(name, 64), described, one_line(path), problem=problem)


def _read(name: str, reading: Reading) -> Skill | None:
    if reading.is_missing:
        return None
    if reading.problem:
        return _broken(name, reading.path, reading.problem)
    skill = parse(name, reading.text)
    if skill.always and skill.by_dream:
        return replace(skill, version=version_of(reading.data))
    return skill


def _gather(own: Sequence[Skill]) -> Skills:
    taken = {skill.name for skill in own}
    found = sorted(
        [*own, *(skill for skill in shipped() if skill.name not in taken)],
        key=lambda skill: skill.name,
    )
    always, listed = _blocks(found, ())
    asks = any(skill.waits(()) and not skill.disabled for skill in found)
    return Skills(tuple(found), always, listed, asks)


def _blocks(skills: Sequence[Skill], agreed: Collection[Yes]) -> tuple[Block, Block]:
    alive = [skill for skill in skills if not skill.disabled]
    always = [skill for skill in alive if skill.always and not skill.waits(agreed)]
    others = [skill for skill in alive if not skill.always or skill.waits(agreed)]
    return _always_block(always), _listed_block(others, agreed)


def _always_block(skills: Sequence[Skill]) -> Block:
    texts = [f"## {skill.name}\n\n{framed(skill.text)}" for skill in skills if skill.text.strip()]
    if not texts:
        return Block("always_skills", "")
    about = "# Skills for every conversation\n\nFollow them where they apply."
    sources = ", ".join(skill.path for skill in skills)
    problem = _look_at(skills)
    return Block("always_skills", "\n\n".join([about, *texts]), source=sources, problem=problem)


def _listed_block(skills: Sequence[Skill], agreed: Collection[Yes]) -> Block:
    if not skills:
        return Block("skills", "")
    about = (
        "# Skills\n\nWays of doing things, written down. When a task fits one, read its file "
        "before you begin."
    )
    rows = [f"- {skill.name}: {skill.description} — {skill.path}" for skill in skills]
    broken = [skill for skill in skills if skill.problem]
    problem = ""
    if broken:
        first = broken[0]
        more = f" {len(broken) - 1} more are broken too." if len(broken) > 1 else ""
        problem = f"The skill “{first.name}” is broken: {first.problem}.{more}"
    elif waits := [skill for skill in skills if skill.waits(agreed)]:
        problem = (
            f"The skill “{waits[0].name}” was written by Dream to be read in every conversation. "
            "Until you agree, it is only listed."
        )
    problem = problem or _look_at(skills)
    return Block("skills", "\n".join([about, "", *rows]), source="skills/", problem=problem)


def _look_at(skills: Sequence[Skill]) -> str:
    """What a person should look at in these skills; empty: nothing."""
    odd = next((skill for skill in skills if skill.suspect), None)
    return f"Look at the skill “{odd.name}”: {odd.suspect}." if odd else ""


_SKILLS: StampedFolder[Skill, Skills] = StampedFolder("skills", "SKILL.md", _read, _gather)
