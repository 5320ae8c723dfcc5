"""Which conversation a request may see: the first line of every view here."""

import functools
from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from jenny.accounts import access
from jenny.chat.models import Conversation


def conversation(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """A conversation of the account's own workspaces.

    :raises Http404: there is none, or it is somebody else's; which of the two is not said.
    """
    account = access.account(request)
    try:
        return Conversation.objects.select_related("workspace__owner").get(
            pk=conversation_id, workspace__owner=account, workspace__deleted_at=None
        )
    except Conversation.DoesNotExist as error:
        raise Http404 from error


def deleted_is_not_found[**P](view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Let *view* answer 404 when another tab deleted the conversation under its hands."""

    @functools.wraps(view)
    def answer(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Conversation.DoesNotExist as error:
            raise Http404 from error

    return answer
