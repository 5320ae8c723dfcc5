"""Asks a person for a change that the assistant may not make by itself.

The person allows it once, allows it from now on, or declines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from jenny.accounts.models import Workspace
from jenny.accounts.services.notices import Notice
from jenny.chat.models import ConsentRequest, Turn
from jenny.chat.services.publish import Publisher
from jenny.workspace import diffs, paths, transactions
from jenny.workspace.content import version_of
from jenny.workspace.errors import VersionMismatch, WorkspaceError
from jenny.workspace.files import Actor, open_workspace
from jenny.workspace.write_rules import Change
from memory import consents

# Files that a notice names.
_NAMED = 3
MARK = "consent"
type Answer = Literal["allow", "always", "no"]


@dataclass(frozen=True, slots=True)
class Decided:
    """Outcome of an answer; *ok*: the change was made."""

    ok: bool
    message: str


def request_consent(turn: Turn, change: Change) -> ConsentRequest:
    """Store the change as a request; it replaces the conversation's earlier one for that file."""
    chat = turn.conversation
    waiting = ConsentRequest.objects.filter(
        turn__conversation=chat, path=change.path, state=ConsentRequest.State.WAITING
    )
    for row in waiting.select_related("block"):
        _end(row, ConsentRequest.State.SUPERSEDED)
    return ConsentRequest.objects.create(
        workspace=chat.workspace,
        turn=turn,
        path=change.path,
        before=change.old,
        after=change.new,
    )


def shown(row: ConsentRequest) -> dict[str, object]:
    counts = diffs.counts(before_of(row), after_of(row))
    chat = row.turn.conversation_id
    return {
        "kind": MARK,
        "path": row.path,
        "added": counts.added,
        "removed": counts.removed,
        "state": row.state,
        "url": reverse("chat:consent", args=[chat, row.pk]),
    }


def decide_consent(row: ConsentRequest, answer: Answer, account: int) -> Decided:
    if answer == "no":
        won = _end(row, ConsentRequest.State.DECLINED)
        return Decided(won, f"{row.path} stays as it is." if won else _late(row))
    if problem := _allowed(row, account):
        return Decided(ok=False, message=problem)
    _show(row)
    said = f"{row.path} is changed as Jenny asked."
    if answer == "always":
        try:
            consents.give(row.workspace.root, row.path, Actor("browser", account=account))
        except WorkspaceError as error:
            return Decided(ok=True, message=f"{said} {error.message}")
        said += " From now on she may change it by herself; Settings → Skills takes that back."
    return Decided(ok=True, message=said)


def before_of(row: ConsentRequest) -> bytes | None:
    return None if row.before is None else bytes(row.before)


def after_of(row: ConsentRequest) -> bytes | None:
    return None if row.after is None else bytes(row.after)


def _allowed(row: ConsentRequest, account: int) -> str:
    """Write the change and store that it was allowed. Return why it failed; empty: it did not.

    After a kill in between, the request still waits, and the next yes finds the change made.
    """
    try:
        # The workspace's lock comes before the database's, as everywhere: its holder may wait for
        # the database.
        with transactions.lock_workspace(paths.real_root(row.workspace.root)), transaction.atomic():
            rows = ConsentRequest.objects.select_for_update()
            if rows.get(pk=row.pk).state != ConsentRequest.State.WAITING:
                return _late(row)
            try:
                _write(row, account)
            except VersionMismatch as error:
                there = None if error.current is None else error.current.data
                if there != after_of(row):
                    return (
                        f"{row.path} was changed since Jenny asked, so nothing was written. Ask "
                        "her again in the chat, or change the file yourself."
                    )
            _move(row, ConsentRequest.State.ALLOWED)
    except WorkspaceError as error:
        return error.message
    return ""


def _write(row: ConsentRequest, account: int) -> None:
    # Still the assistant's edit: text that it removes does not count as forgotten by the person.
    actor = Actor("chat", account=account, run=f"{consents.RUN}{row.pk}")
    workspace = open_workspace(row.workspace.root, actor)
    before = before_of(row)
    expect = None if before is None else version_of(before)
    workspace.write_many({row.path: after_of(row)}, expect={row.path: expect})


def _end(row: ConsentRequest, state: str) -> bool:
    """Set the state, also in its note. ``False``: somebody else set another one."""
    if not _move(row, state):
        return False
    _show(row)
    return True


def _move(row: ConsentRequest, state: str) -> bool:
    rows = ConsentRequest.objects.filter(pk=row.pk, state=ConsentRequest.State.WAITING)
    if not rows.update(state=state, decided_at=Now()):
        return False
    row.state = state
    return True


def _show(row: ConsentRequest) -> None:
    block = row.block
    if block is not None:
        block.data["state"] = row.state
        block.save(update_fields=["data"])
        Publisher(row.turn.conversation).message(block.message)


def _late(row: ConsentRequest) -> str:
    row.refresh_from_db(fields=["state"])
    return f"Nothing was changed now: this was {row.state} already."


def consent_notices(workspace: Workspace) -> Iterator[Notice]:
    """List changes by the chat that wait for consent in their conversations."""
    waiting = list(
        ConsentRequest.objects.filter(
            workspace=workspace,
            state=ConsentRequest.State.WAITING,
            turn__conversation__deleted_at=None,
        ).select_related("turn")[:100]
    )
    if not waiting:
        return
    paths = sorted({row.path for row in waiting})
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    chat = waiting[0].turn.conversation_id
    yield Notice(
        key="consent",
        kind="info",
        text=f"Jenny asks to change {', '.join(paths[:_NAMED])}{more}. Nothing is written yet.",
        href=reverse("chat:consent", args=[chat, waiting[0].pk])
        if len(waiting) == 1
        else "/settings/skills/",
        link="Look at it",
    )
