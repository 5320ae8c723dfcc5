"""Files of messages: takes them in before they are sent, removes them, and shows small pictures."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.csp import CSP
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_POST, require_safe

from jenny.accounts import access as accounts
from jenny.accounts.services.workspace_context import WorkspaceErrorPage
from jenny.chat import access
from jenny.chat.models import Attachment
from jenny.chat.services import attachment_pictures, attachments
from jenny.workspace.errors import WorkspaceError

_STATUSES = WorkspaceErrorPage("Files", "files")
# A picture is shown in a page; opened by itself, it can do nothing.
_ISOLATED: dict[str, Any] = {
    "default-src": [CSP.NONE],
    "sandbox": True,
    "frame-ancestors": [CSP.NONE],
}


@require_POST
@access.deleted_is_not_found
def attach(request: HttpRequest, conversation_id: UUID | None = None) -> HttpResponse:
    """Take one part of a file: ``id`` (32 hex digits, chosen by the sender), ``name``, ``at``
    (offset in bytes), ``size`` (of the whole file), ``piece``.

    Returns JSON with the size received; with the last part, the file's number and its row.
    """
    account = accounts.account(request)
    chat = access.conversation(request, conversation_id) if conversation_id else None
    workspace = chat.workspace if chat else accounts.workspace(request)
    sent = request.FILES.get("piece")
    try:
        found = attachments.receive_part(
            account, workspace, chat, request.POST, sent.read() if sent is not None else None
        )
    except WorkspaceError as error:
        return JsonResponse({"message": error.message}, status=_STATUSES.status_of(error))
    if isinstance(found, int):
        return JsonResponse({"there": found})
    html = render_to_string("chat/attachment.html#waiting", {"file": found}, request)
    return JsonResponse(
        {"there": found.size, "attachment": found.pk, "html": html, "problem": found.problem}
    )


@require_POST
def cancel(request: HttpRequest) -> HttpResponse:
    """Cancel the account's upload of that ``id``."""
    attachments.cancel_upload(accounts.account(request), request.POST.get("id", ""))
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def remove(request: HttpRequest, attachment_id: int) -> HttpResponse:
    """Remove a file that was not sent. One that was sent, or is gone already, stays as it is."""
    accounts.account(request)
    row = _own(request, attachment_id)
    attachments.remove(row)
    if accounts.is_script(request) or request.headers.get("HX-Request") == "true":
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if row.conversation_id is None:
        return HttpResponseRedirect(reverse("chat:start"))
    return HttpResponseRedirect(reverse("chat:conversation", args=[row.conversation_id]))


@require_safe
@csp_override(_ISOLATED)
def thumbnail(request: HttpRequest, attachment_id: int) -> HttpResponse:
    """Send the small picture that was made of a file; no browser keeps it."""
    accounts.account(request)
    data = attachment_pictures.thumbnail_of(_own(request, attachment_id))
    if data is None:
        raise Http404
    answer = HttpResponse(data, content_type="image/webp")
    answer["Content-Disposition"] = "inline"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, no-store"
    answer["Cross-Origin-Resource-Policy"] = "same-origin"
    return answer


def _own(request: HttpRequest, attachment_id: int) -> Attachment:
    """Return the file of that number in the account's own workspaces.

    :raises Http404: it does not exist, or belongs to somebody else.
    """
    rows = Attachment.objects.filter(
        attachments.may_see(),
        workspace__owner=accounts.account(request),
        workspace__deleted_at=None,
    )
    found = rows.select_related("workspace").filter(pk=attachment_id).first()
    if found is None:
        raise Http404
    return found
