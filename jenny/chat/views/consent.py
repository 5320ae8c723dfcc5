"""Shows a change that the assistant asked for; a person allows or declines it."""

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import ConsentRequest
from jenny.chat.services import consent_requests
from jenny.chat.views import conversation_list
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs
from memory import consents

# Characters of the diff that are shown.
_SHOWN = 20_000
_ANSWERS = ("allow", "always", "no")


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def asked(request: HttpRequest, conversation_id: UUID, request_id: int) -> HttpResponse:
    """Show the change; on POST decide it with ``answer`` (``allow``, ``always``, ``no``)."""
    chat = access.conversation(request, conversation_id)
    rows = ConsentRequest.objects.select_related("turn__conversation__workspace", "block__message")
    row = rows.filter(pk=request_id, turn__conversation=chat).first()
    if row is None:
        raise Http404
    if request.method != "POST":
        return _page(request, row)
    answer = request.POST.get("answer", "")
    if answer not in _ANSWERS:
        return _page(request, row, "Say whether to allow it or not. Nothing was changed.")
    done = consent_requests.decide_consent(row, answer, accounts.account(request).pk)  # type: ignore[arg-type]  # one of its two words, as asked above
    if request.headers.get("HX-Request") == "true":
        if done.ok:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused = HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused["HX-Redirect"] = request.path
        messages.error(request, done.message)
        return refused
    if not done.ok:
        return _page(request, row, done.message)
    messages.success(request, done.message)
    return HttpResponseRedirect(request.path)


def _page(request: HttpRequest, row: ConsentRequest, problem: str = "") -> HttpResponse:
    chat = row.turn.conversation
    before, after = consent_requests.before_of(row), consent_requests.after_of(row)
    text = diffs.bounded(diffs.unified(row.path, before, after), _SHOWN)
    context = {
        "conversation": chat,
        "row": row,
        "html": markdown(diffs.fenced(text)),
        "counts": diffs.counts(before, after),
        "problem": problem,
        "is_for_prompts": consents.may_be_given(row.path),
        "is_given": row.path in consents.given(chat.workspace.root),
        "answer": row.block.message if row.block else None,
        "rail": conversation_list.rail_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "chat/consent.html", context, status=status)
