"""Which conversation a request may see: the first line of every view here."""

import functools
from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse

from jenny.accounts import access
from jenny.accounts.models.prepared import Prepared, number_slot, uuid_slot
from jenny.chat.models import Conversation


def conversation(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """A conversation of the account's own workspaces.

    :raises Http404: there is none, or it is somebody else's; which of the two is not said.
    """
    found = _OWN.first(conversation=conversation_id, account=access.account(request).pk)
    if found is None:
        raise Http404
    return found


_OWN = Prepared(
    lambda: Conversation.objects.select_related("workspace__owner").filter(
        pk=uuid_slot("conversation"),
        workspace__owner=number_slot("account"),
        workspace__deleted_at=None,
    )
)


def deleted_is_not_found[**P](view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Let *view* answer 404 when another tab deleted the conversation under its hands."""

    @functools.wraps(view)
    def answer(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Conversation.DoesNotExist as error:
            raise Http404 from error

    return answer
