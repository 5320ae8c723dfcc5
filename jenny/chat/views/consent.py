"""A change that the assistant asked for: looked at, allowed or declined."""

from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from jenny.accounts import access as accounts
from jenny.chat import access
from jenny.chat.models import ConsentRequest
from jenny.chat.tasks import consent
from jenny.chat.views import pages
from jenny.markdown.render import render as markdown
from jenny.workspace import diffs
from memory import consents

# Characters of the difference that are shown.
_SHOWN = 20_000
_ANSWERS = ("allow", "always", "no")


@require_http_methods(["GET", "HEAD", "POST"])
@access.deleted_is_not_found
def asked(request: HttpRequest, conversation_id: UUID, request_id: int) -> HttpResponse:
    """The change; by POST with ``answer`` (``allow``, ``always``, ``no``) it is decided."""
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
    done = consent.decide(row, answer, accounts.account(request).pk)  # type: ignore[arg-type]  # one of its two words, as asked above
    if request.headers.get("HX-Request") == "true":
        if done.ok:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused = HttpResponse(status=HTTPStatus.NO_CONTENT)
        refused["HX-Redirect"] = request.path
        messages.error(request, done.sentence)
        return refused
    if not done.ok:
        return _page(request, row, done.sentence)
    messages.success(request, done.sentence)
    return HttpResponseRedirect(request.path)


def _page(request: HttpRequest, row: ConsentRequest, problem: str = "") -> HttpResponse:
    chat = row.turn.conversation
    before, after = consent.before_of(row), consent.after_of(row)
    text = diffs.bounded(diffs.unified(row.path, before, after), _SHOWN)
    context = {
        "conversation": chat,
        "row": row,
        "html": markdown(diffs.fenced(text)),
        "counts": diffs.counts(before, after),
        "problem": problem,
        "is_given": row.path in consents.given(chat.workspace.root),
        "answer": row.block.message if row.block else None,
        "groups": pages.groups_of(accounts.account(request), chat.workspace),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "chat/consent.html", context, status=status)
