"""Approval of Dream's skills that ask to be read in every conversation."""

from jenny.accounts.models import Account, Workspace
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.write_rules import Actor
from memory import skills
from memory.approvals.values import Outcome
from memory.skills import Skill


def skills_waiting(workspace: Workspace) -> tuple[Skill, ...]:
    """Return Dream's skills with ``always: true`` whose text (``Skill.version``) is not
    approved."""
    return skills.waiting(workspace.root)


def approve_skill(
    workspace: Workspace,
    path: str,
    version: str,
    *,
    account: Account | None,
    kind: str = "browser",
) -> Outcome:
    """Approve that version of the skill; another text needs another approval."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if found.version != version:
        message = (
            f"The skill “{found.name}” has another text by now than you were shown, so nothing was "
            "agreed to. Look at it again."
        )
        return Outcome(ok=False, message=message)
    if found.waits(skills.approved_versions(workspace.root)):
        try:
            skills.approve_skill(workspace.root, path, version, _person(account, kind))
        except WorkspaceError as error:
            return Outcome(ok=False, message=error.message)
    message = f"The skill “{found.name}” is read in every conversation from now on."
    return Outcome(ok=True, message=message)


def withdraw_skill(
    workspace: Workspace, path: str, *, account: Account | None, kind: str = "browser"
) -> Outcome:
    """Withdraw the approval: the skill is only listed from now on."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if not found.waits(skills.approved_versions(workspace.root)):
        try:
            skills.withdraw_approval(workspace.root, path, _person(account, kind))
        except WorkspaceError as error:
            return Outcome(ok=False, message=error.message)
    message = f"The skill “{found.name}” is only listed from now on, until you agree to it."
    return Outcome(ok=True, message=message)


def _found(workspace: Workspace, path: str) -> Skill | None:
    """Return Dream's skill at *path* that asks to be read always."""
    every = skills.all_skills(workspace.root)
    return next((row for row in every if row.path == path and row.always and row.by_dream), None)


def _refused(path: str) -> Outcome:
    message = (
        f"There is no skill of Dream's at {path} that asks to be read in every conversation. "
        "Nothing was changed."
    )
    return Outcome(ok=False, message=message)


def _person(account: Account | None, kind: str) -> Actor:
    return Actor(kind, account=account.pk if account else None)
