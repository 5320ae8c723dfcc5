"""Finds the conversation that a request may see. Every view of the chat calls this first."""

import functools
from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from jenny.accounts import access
from jenny.chat.models import Conversation


def conversation(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """Return the conversation of that id in the account's own workspaces.

    :raises Http404: it does not exist or belongs to somebody else; the answer does not say which.
    """
    account = access.account(request)
    own = Conversation.objects.filter(workspace__owner=account, workspace__deleted_at=None)
    found = own.select_related("workspace").filter(pk=conversation_id).first()
    if found is None:
        raise Http404
    found.workspace.owner = account
    return found


def conversation_in_trash(request: HttpRequest, conversation_id: UUID) -> Conversation | None:
    """Return the conversation of that id if it is in the trash of the workspace that is shown."""
    rows = Conversation.all_objects.filter(workspace=access.workspace(request))
    return rows.filter(pk=conversation_id, deleted_at__isnull=False).first()


def deleted_is_not_found[**P](view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Let *view* answer 404 when another tab deletes the conversation meanwhile."""

    @functools.wraps(view)
    def answer(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Conversation.DoesNotExist as error:
            raise Http404 from error

    return answer
