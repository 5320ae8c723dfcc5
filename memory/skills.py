"""Skills: instructions for tasks, one folder each, ``skills/<slug>/SKILL.md``.

The folder's name is the skill's. Its header may have ``description``, ``always: true`` (the whole
text is in every prompt) and ``disabled: true``. An invalid header makes the skill *broken*: it is
listed with the reason, and its file is left alone. Some skills are bundled; the workspace's own
of the same name wins.

Dream's skills say ``made-by: dream``. With ``always: true`` such a skill is only listed until the
user has approved this very text (``memory/.approved.jsonl``); an unreadable line there may have
withdrawn an approval, so no earlier one counts. Skills that the person disabled are in no prompt
(``memory/.skills.jsonl``): a separate file means that skill files are not rewritten, and that
bundled skills can be disabled, too. An unreadable line there may have disabled the skill that it
names or, without a name, every skill that was not enabled since.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jenny.agent.prompt import Block, framed, one_line
from jenny.markdown import front_matter
from jenny.workspace import names, paths
from jenny.workspace.content import Reading, version_of
from jenny.workspace.file_cache import StampedFiles, StampedFolder
from jenny.workspace.files import open_workspace
from jenny.workspace.write_rules import Actor
from memory import injection_scan, ledgers

DISABLED_PATH = "memory/.skills.jsonl"


@dataclass(frozen=True, slots=True)
class DisabledSkills:
    """Names of disabled skills; with *is_doubtful* all but those in *on* are disabled."""

    names: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    is_doubtful: bool = False

    def __contains__(self, name: str) -> bool:
        return name in self.names or (self.is_doubtful and name not in self.on)

    def __bool__(self) -> bool:
        return bool(self.names) or self.is_doubtful


def disabled_skills(root: Path) -> DisabledSkills:
    return _derive_disabled(root) if ledgers.is_odd(root, DISABLED_PATH) else _DISABLED.read(root)


def switch_skill(root: Path, name: str, actor: Actor, *, off: bool) -> bool:
    """Disable or enable the skill. ``False``: it was like that already.

    Raises:
        WriteFailed, LockTimeout: nothing was recorded.
    """
    if (name in disabled_skills(root)) == off:
        return False
    real = paths.real_root(root)
    row = {"skill": name, "off": off, "at": ledgers.now(), "actor": actor.kind}
    ledgers.land(real, [ledgers.added(real, DISABLED_PATH, [row], None)])
    return True


def disabled_by(found: ledgers.Ledger) -> DisabledSkills:
    """Return the skills that are disabled by these rows."""
    off: dict[str, bool] = {}
    on: set[str] = set()
    for row, is_sure in found.checked_rows():
        name, value = row.get("skill"), row.get("off")
        if isinstance(name, str) and isinstance(value, bool):
            off[name] = value
            (on.add if is_sure and not value else on.discard)(name)
    damaged = found.damaged_texts("skill")
    off |= {name: name not in on for name in damaged if name is not None}
    names = frozenset(name for name, value in off.items() if value)
    return DisabledSkills(names, frozenset(on), bool(found.problem) or None in damaged)


def _derive_disabled(root: Path) -> DisabledSkills:
    return disabled_by(ledgers.read_ledger(paths.real_root(root), DISABLED_PATH))


_DISABLED: StampedFiles[DisabledSkills] = StampedFiles((DISABLED_PATH,), _derive_disabled)


APPROVALS_PATH = "memory/.approved.jsonl"

type SkillApproval = tuple[str, str]
"""A skill's file and its approved version."""


def approved_versions(root: Path) -> frozenset[SkillApproval]:
    return _APPROVED.read(root)


def approve_skill(root: Path, path: str, version: str, actor: Actor) -> None:
    """Record the approval of that version of a skill (``FileVersion.version``).

    Raises:
        FileMissing: there is no such skill.
        WriteFailed, LockTimeout: nothing was recorded.
    """
    _record_approval(root, path, actor, {"version": version})


def withdraw_approval(root: Path, path: str, actor: Actor) -> None:
    """Withdraw every approval of a skill.

    Raises:
        FileMissing, WriteFailed, LockTimeout: nothing was recorded.
    """
    _record_approval(root, path, actor, {"withdrawn": True})


def _record_approval(root: Path, path: str, actor: Actor, what: dict[str, Any]) -> None:
    workspace = open_workspace(root, actor)
    where = workspace.relative(path)
    workspace.resolve(where, must_exist=True)
    row = {"path": where, **what, "at": ledgers.now(), "actor": actor.kind}
    ledgers.land(workspace.root, [ledgers.added(workspace.root, APPROVALS_PATH, [row], None)])


def approved_by(rows: ledgers.Ledger) -> frozenset[SkillApproval]:
    """Return the approvals that hold by these rows."""
    found: set[SkillApproval] = set()
    for row, is_sure in rows.checked_rows():
        path, version = row.get("path"), row.get("version")
        if row.get("withdrawn") is True:
            found = {yes for yes in found if yes[0] != path}
        elif isinstance(path, str) and isinstance(version, str) and is_sure:
            found.add((path, version))
    return frozenset(found)


def _derive_approvals(root: Path) -> frozenset[SkillApproval]:
    return approved_by(ledgers.read_ledger(paths.real_root(root), APPROVALS_PATH))


_APPROVED: StampedFiles[frozenset[SkillApproval]] = StampedFiles(
    (APPROVALS_PATH,), _derive_approvals
)


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SHIPPED = Path(__file__).with_name("bundled")
_FLAGS = ("always", "disabled")
_READ_FILE = "When a task fits one, read its file before you begin."
_READ_SKILL = "When a task fits one, read it with `read_skill` before you begin."
_PATH_IN_LIST = re.compile(r" — skills/\S+/SKILL\.md$", re.MULTILINE)
_WAITING_PATH = re.compile(r"^- skills/([^/\s]+)/SKILL\.md:", re.MULTILINE)
MADE_BY = "made-by"
# Lines of a header that say nothing about the task.
HEADER_LINE = re.compile(rf"---\s*$|(?:name|{MADE_BY}|always|disabled):")
_DREAM = "dream"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    *text* is the body for the prompt, or the whole file of a bundled one. *problem* says why it
    is broken, as its description does then. *suspect* names findings of the injection scan.
    *version* is that of the file, for approvals.
    """

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

    def waits(self, agreed: Collection[SkillApproval]) -> bool:
        """True when it asks to be read in every conversation and is not approved."""
        return self.always and self.by_dream and (self.path, self.version) not in agreed


@dataclass(frozen=True, slots=True)
class Skills:
    all: tuple[Skill, ...]
    always: Block
    listed: Block
    # True when an approval of one of them affects the blocks.
    asks: bool = False


def listing(root: Path) -> tuple[Skill, ...]:
    """List the workspace's enabled skills, by name."""
    off = disabled_skills(root)
    found = _SKILLS.read(root).all
    return tuple(skill for skill in found if not skill.disabled and skill.name not in off)


def all_skills(root: Path) -> tuple[Skill, ...]:
    """List the workspace's skills and the bundled ones, by name."""
    return _SKILLS.read(root).all


def waiting(root: Path) -> tuple[Skill, ...]:
    """List skills that wait for approval."""
    agreed = approved_versions(root)
    return tuple(skill for skill in listing(root) if skill.waits(agreed))


def blocks(root: Path) -> tuple[Block, Block]:
    """Return the always-on skills in full and the list of the others; either may be empty."""
    found = _SKILLS.read(root)
    off = disabled_skills(root)
    if found.asks or off:
        left = [skill for skill in found.all if skill.name not in off]
        return _blocks(left, approved_versions(root))
    return found.always, found.listed


@cache
def shipped() -> tuple[Skill, ...]:
    found = []
    for file in sorted(_SHIPPED.glob("*/SKILL.md")):
        text = file.read_text(encoding="utf-8")
        found.append(replace(parse(file.parent.name, text), text=text, ships=True))
    return tuple(found)


@cache
def shipped_files() -> dict[str, str]:
    """Return the files of the bundled skills by the path at which a model reads them."""
    return {skill.path: skill.text for skill in shipped()}


def name_problem(name: str) -> str:
    """Return why a skill may not have this name; empty when it may."""
    if not NAME.fullmatch(name):
        return "its folder's name is not made of up to 64 letters, digits, - and _"
    if why := names.unfit(name):
        return f"its folder's name {why}"
    return ""


def parse(name: str, text: str) -> Skill:
    """The skill in a folder of that name whose file says *text*."""
    path = f"skills/{name}/SKILL.md"
    if why := name_problem(name):
        return _broken(name, path, why)
    header = front_matter.read_front_matter(text)
    if header.problem:
        return _broken(name, path, header.problem)
    for flag in _FLAGS:
        if front_matter.parse_flag(header.values.get(flag)) is None:
            return _broken(name, path, f"{flag} is neither true nor false")
    description = header.values.get("description")
    if not isinstance(description, str | None):
        return _broken(name, path, "its description is no text")
    always = bool(front_matter.parse_flag(header.values.get("always")))
    return Skill(
        name,
        one_line(description or "") or name,
        path,
        text=header.body if always else "",
        always=always,
        disabled=bool(front_matter.parse_flag(header.values.get("disabled"))),
        by_dream=header.values.get(MADE_BY) == _DREAM,
        suspect=next(injection_scan.findings(text), ""),
    )


def _broken(name: str, path: str, problem: str) -> Skill:
    described = f"broken, not loaded ({one_line(problem)})"
    return Skill(one_line(name, 64), described, one_line(path), problem=problem)


def _read(name: str, reading: Reading) -> Skill | None:
    if reading.is_missing:
        return None
    if reading.problem:
        return _broken(name, reading.path, reading.problem)
    if reading.is_hard_link:  # as for the tools that read files
        why = "its file is a hard link; put a copy in its place"
        return _broken(name, reading.path, why)
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


def _blocks(skills: Sequence[Skill], agreed: Collection[SkillApproval]) -> tuple[Block, Block]:
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


def _listed_block(skills: Sequence[Skill], agreed: Collection[SkillApproval]) -> Block:
    if not skills:
        return Block("skills", "")
    about = f"# Skills\n\nWays of doing things, written down. {_READ_FILE}"
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


def without_paths(listed: Block) -> Block:
    """Return the list of skills for a run that reads them by name."""
    text = _PATH_IN_LIST.sub("", listed.text.replace(_READ_FILE, _READ_SKILL))
    return replace(listed, text=_WAITING_PATH.sub(r"- \1:", text))


def _look_at(skills: Sequence[Skill]) -> str:
    """Return the findings of the injection scan in these skills; empty without any."""
    odd = next((skill for skill in skills if skill.suspect), None)
    return f"Look at the skill “{odd.name}”: {odd.suspect}." if odd else ""


_SKILLS: StampedFolder[Skill, Skills] = StampedFolder("skills", "SKILL.md", _read, _gather)
