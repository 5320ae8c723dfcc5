"""Skills of Dream's that ask to be read in every conversation, and the person's yes to them."""

from jenny.accounts.models import Account, Workspace
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.rules import Actor
from memory import approved, skills
from memory.approval.values import Outcome
from memory.skills import Skill


def skills_waiting(workspace: Workspace) -> tuple[Skill, ...]:
    """Skills of Dream's with ``always: true`` that wait for the person's yes to just their text
    (``Skill.version``)."""
    return skills.waiting(workspace.root)


def approve_skill(
    workspace: Workspace,
    path: str,
    version: str,
    *,
    account: Account | None,
    kind: str = "browser",
) -> Outcome:
    """Agree to that version of the skill at *path*; another text needs another yes."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if found.version != version:
        sentence = (
            f"The skill “{found.name}” has another text by now than you were shown, so nothing was "
            "agreed to. Look at it again."
        )
        return Outcome(ok=False, sentence=sentence)
    if found.waits(approved.approved(workspace.root)):
        try:
            approved.approve(workspace.root, path, version, _person(account, kind))
        except WorkspaceError as error:
            return Outcome(ok=False, sentence=error.sentence)
    sentence = f"The skill “{found.name}” is read in every conversation from now on."
    return Outcome(ok=True, sentence=sentence)


def withdraw_skill(
    workspace: Workspace, path: str, *, account: Account | None, kind: str = "browser"
) -> Outcome:
    """Take the yes back: from now on the skill is only listed."""
    found = _found(workspace, path)
    if found is None:
        return _refused(path)
    if not found.waits(approved.approved(workspace.root)):
        try:
            approved.withdraw(workspace.root, path, _person(account, kind))
        except WorkspaceError as error:
            return Outcome(ok=False, sentence=error.sentence)
    sentence = f"The skill “{found.name}” is only listed from now on, until you agree to it."
    return Outcome(ok=True, sentence=sentence)


def _found(workspace: Workspace, path: str) -> Skill | None:
    """The skill of Dream's at *path* that asks to be read always."""
    every = skills.every(workspace.root)
    return next((row for row in every if row.path == path and row.always and row.by_dream), None)


def _refused(path: str) -> Outcome:
    sentence = (
        f"There is no skill of Dream's at {path} that asks to be read in every conversation. "
        "Nothing was changed."
    )
    return Outcome(ok=False, sentence=sentence)


def _person(account: Account | None, kind: str) -> Actor:
    return Actor(kind, account=account.pk if account else None)
