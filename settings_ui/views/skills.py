"""Settings → Skills: what each skill and instruction file costs, and consent to changes."""

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts import access
from jenny.accounts.models import Workspace
from jenny.agent.prompt import framed
from jenny.agent.tokens import estimate
from jenny.chat.models import ConsentRequest
from jenny.markdown import front_matter
from jenny.markdown.render import render as markdown
from jenny.workspace.content import version_of
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from memory import consents, files, pins, skills
from memory.errors import NotPinned
from memory.services import approval_decisions
from memory.skills import DisabledSkills, Skill, SkillApproval, switch_skill


@dataclass(frozen=True, slots=True)
class SkillRow:
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
    rows: tuple[SkillRow, ...]
    tokens: int


def list_skills(root: Path) -> Skills:
    """List the skills of the workspace and the bundled ones, by name."""
    off = skills.disabled_skills(root)
    agreed = skills.approved_versions(root)
    free = consents.given(root)
    pinned = {row.path for row in pins.pins(root) if row.is_whole}
    rows = tuple(
        SkillRow(
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


_PAGE = "settings_skills"
# What each file that takes consent is for.
_ABOUT = {
    files.INSTRUCTIONS: "How Jenny works in this workspace; read in every conversation.",
    files.GUIDE: "Your guide for Dream: what is worth keeping, and where.",
}
_OF_PROJECT = "How Jenny works in that project, and its line in the list of wikis."
_ACTS = ("pin", "unpin", "off", "on", "agree", "withdraw", "allow", "disallow")


@require_safe
def skills_page(request: HttpRequest) -> HttpResponse:
    workspace = access.workspace(request)
    found = list_skills(workspace.root)
    given = consents.given(workspace.root)
    context = {
        "rows": found.rows,
        "tokens": found.tokens,
        "files": [
            {"path": path, "about": about, "is_given": path in given}
            for path, about in (_ABOUT | dict.fromkeys(_of_projects(given), _OF_PROJECT)).items()
        ],
        "given_skills": [row for row in found.rows if row.is_free_to_change],
        "asked": ConsentRequest.objects.filter(
            workspace=workspace,
            state=ConsentRequest.State.WAITING,
            turn__conversation__deleted_at=None,
        ).select_related("turn__conversation"),
    }
    return render(request, "settings/skills.html", context)


@require_safe
def skill(request: HttpRequest, name: str) -> HttpResponse:
    workspace = access.workspace(request)
    return _skill_page(request, workspace, _row(workspace.root, name))


@require_POST
def change(request: HttpRequest, name: str) -> HttpResponse:
    """Run the action of the field ``act`` (one of ``_ACTS``) on a skill."""
    workspace = access.workspace(request)
    row = _row(workspace.root, name)
    act = request.POST.get("act", "")
    if act not in _ACTS:
        return _skill_page(request, workspace, row, problem="Nothing was changed: say what to do.")
    try:
        ok, said = _done(request, workspace, row, act)
    except (NotPinned, WorkspaceError) as error:
        ok, said = False, error.message
    if not ok:
        return _skill_page(request, workspace, row, problem=said)
    messages.success(request, said)
    return redirect(_address(name))


@require_POST
def consent(request: HttpRequest) -> HttpResponse:
    """Give or withdraw (field ``act``) the consent for a file (field ``path``)."""
    workspace = access.workspace(request)
    path, act = request.POST.get("path", ""), request.POST.get("act", "")
    known = {*_ABOUT, *_of_projects(consents.given(workspace.root))}
    if path not in known or act not in ("allow", "disallow"):
        raise Http404
    try:
        said = _consented(request, workspace.root, path, is_given=act == "allow")
    except WorkspaceError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, said)
    return redirect(_PAGE)


def _of_projects(given: frozenset[str]) -> list[str]:
    """List the AGENTS.md of projects for which there is consent."""
    return sorted(path for path in given if path not in _ABOUT and files.skill_of(path) is None)


def _row(root: Path, name: str) -> SkillRow:
    found = next((row for row in list_skills(root).rows if row.skill.name == name), None)
    if found is None:
        raise Http404
    return found


def _done(request: HttpRequest, workspace: Workspace, row: SkillRow, act: str) -> tuple[bool, str]:
    root, one, person = workspace.root, row.skill, access.account(request)
    actor = Actor("browser", account=person.pk)
    if act in ("off", "on"):
        return True, _switched(root, row, actor, off=act == "off")
    if act in ("agree", "withdraw"):
        given = request.POST.get("version", "")
        outcome = (
            approval_decisions.approve_skill(workspace, one.path, given, account=person)
            if act == "agree"
            else approval_decisions.withdraw_skill(workspace, one.path, account=person)
        )
        return outcome.ok, outcome.message
    if one.ships:
        return False, f"{one.name} comes with Jenny; nobody writes it. Nothing was changed."
    if act in ("allow", "disallow"):
        return True, _consented(request, root, one.path, is_given=act == "allow")
    return True, _pinned(root, row, actor, is_wanted=act == "pin")


def _switched(root: Path, row: SkillRow, actor: Actor, *, off: bool) -> str:
    one = row.skill
    changed = switch_skill(root, one.name, actor, off=off)
    if one.disabled and not off:
        return f"The header of {one.path} still switches it off: disabled is true there."
    said = "not read from now on" if off else "read again"
    return f"{one.name} is {said}." if changed else f"{one.name} was so already."


def _pinned(root: Path, row: SkillRow, actor: Actor, *, is_wanted: bool) -> str:
    if is_wanted:
        pins.pin(root, row.skill.path, 0, actor)
        return f"{row.skill.name} is pinned: Dream leaves it word for word as it is."
    pins.unpin(root, row.skill.path, 0, actor)
    return f"{row.skill.name} is not pinned any more."


def _consented(request: HttpRequest, root: Path, path: str, *, is_given: bool) -> str:
    actor = Actor("browser", account=access.account(request).pk)
    if is_given:
        changed = consents.give(root, path, actor)
        said = f"Jenny may change {path} by herself from now on."
    else:
        changed = consents.withdraw(root, path, actor)
        said = f"Jenny asks you before she changes {path}."
    return said if changed else f"It was so already. {said}"


def _skill_page(
    request: HttpRequest, workspace: Workspace, row: SkillRow, problem: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {"row": row, "problem": problem, "address": _address(row.skill.name)}
    try:
        text = text_of(workspace.root, row.skill)
    except WorkspaceError as error:
        context["unreadable"] = error.message
    else:
        header = front_matter.read_front_matter(text)
        context |= {
            "header": []
            if header.problem
            else [(key, front_matter.format_value(v)) for key, v in header.values.items()],
            "html": markdown(text if header.problem else header.body),
            "version": version(workspace.root, row.skill),
        }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "settings/skill.html", context, status=status)


def _address(name: str) -> str:
    return f"/settings/skills/{quote(name, safe='')}/"
