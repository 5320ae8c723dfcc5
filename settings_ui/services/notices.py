"""Notices that the settings show on every page."""

from collections.abc import Iterator

from django.urls import reverse

from jenny.accounts.models import Workspace
from jenny.accounts.services import notices, usage
from jenny.accounts.services.notices import Notice
from jenny.agent.errors import PAUSED
from jenny.chat.models import ConsentRequest

# Files that a notice names.
_NAMED = 3


def register() -> None:
    notices.register_notices("pause", _paused)
    notices.register_notices("consent", _asked)


def _paused(workspace: Workspace) -> Iterator[Notice]:
    """Warn that model calls are paused."""
    if usage.calls_stopped(workspace.root) == "paused":
        yield Notice(
            key="pause",
            kind="warning",
            text=f"{PAUSED} What you write is kept, and answered when they are resumed.",
            href="/settings/privacy/",
            link="Resume",
        )


def _asked(workspace: Workspace) -> Iterator[Notice]:
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
