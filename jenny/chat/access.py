"""Which conversation a request may see: the first line of every view here."""

from uuid import UUID

from django.http import Http404, HttpRequest

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
