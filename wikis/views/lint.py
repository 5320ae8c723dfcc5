"""Show the problems of a wiki, and people's feedback on its pages."""

from datetime import UTC, datetime
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.workspace.errors import WorkspaceError
from wikis import feedback, lint, names, pages
from wikis import render as rendering
from wikis.forms import FeedbackForm, ResolveForm
from wikis.lint import Finding
from wikis.views import base_context
from wikis.views.base_context import Opened, WikiContext, workspace_error_page

MOST_FINDINGS = 200


@require_safe
@workspace_error_page
def wiki_health(request: HttpRequest, name: str) -> HttpResponseBase:
    """List the problems of a wiki."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    report = lint.lint(ctx.index, here.known)
    groups = [
        (
            kind,
            label,
            [_finding(here, row) for row in rows[:MOST_FINDINGS]],
            max(0, len(rows) - MOST_FINDINGS),
        )
        for kind, label, rows in report.by_kind()
    ]
    context = base_context.base_context(ctx, here) | {"report": report, "groups": groups}
    return render(request, "wikis/health.html", context)


def _finding(here: Opened, row: Finding) -> dict[str, object]:
    """Return a finding with the addresses of its pages and of its cure."""
    new = names.action_url(here.name, "new", page=row.target) if row.kind == "wanted" else ""
    if row.path == pages.GUIDE:
        href = names.action_url(here.name, "scope")
    elif row.path == pages.INDEX and row.kind == "scope":
        href = names.action_url(here.name, "new", page="index")
    else:
        href = names.page_url(here.name, row.path) if row.path else ""
    return {
        "row": row,
        "short": pages.without_ending(row.path.removeprefix(f"{pages.PAGES}/")),
        "href": href,
        "new": new,
        "pages": [
            (
                pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
                names.page_url(here.name, path),
            )
            for path in row.pages[:10]
        ],
    }


@require_safe
@workspace_error_page
def feedback_list(request: HttpRequest, name: str) -> HttpResponseBase:
    """List all feedback of a wiki, open first."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    return _heard(request, ctx, here)


def _heard(request: HttpRequest, ctx: WikiContext, here: Opened) -> HttpResponse:
    kept = feedback.kept(ctx.files, here.wiki)
    context = base_context.base_context(ctx, here) | {
        "open": [
            (one, names.page_url(here.name, one.page), _title(here, one)) for one in kept.open
        ],
        "resolved": [
            (one, names.page_url(here.name, one.page), _title(here, one)) for one in kept.resolved
        ],
        "skipped": kept.skipped,
    }
    return render(request, "wikis/feedback.html", context)


def _title(here: Opened, one: feedback.Feedback) -> str:
    entry = here.known.entries.get(one.page)
    return entry.title if entry else one.page


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def comment(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Comment on a passage of a page."""
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    page = pages.read_page(here.wiki, path)
    context = base_context.base_context(ctx, here, page.path) | {
        "title": page.title,
        "page_href": names.page_url(name, page.path),
    }
    if request.method != "POST":
        return render(request, "wikis/comment.html", context | {"form": FeedbackForm()})
    form = FeedbackForm(request.POST)
    if form.is_valid():
        try:
            _said(ctx, here, page, form)
        except WorkspaceError as error:
            form.add_error("passage", error.message)
        else:
            messages.success(request, "Kept with the wiki, under audit/.")
            return redirect(f"{names.page_url(name, page.path)}#feedback")
    return base_context.refused(request, "wikis/comment.html", context | {"form": form})


def _said(ctx: WikiContext, here: Opened, page: pages.Page, form: FeedbackForm) -> None:
    """Save the form's comment.

    Raises:
        WorkspaceError: the passage is not on the page, or it could not be written.
    """
    html, _ = rendering.rendered(ctx.index, here.known, page)
    data = form.cleaned_data
    anchor = feedback.anchor(feedback.words_of(html.html), data["passage"], data["before"])
    if anchor is None:
        message = "These words do not stand on the page like that. Nothing was kept yet."
        raise WorkspaceError(message)
    now = datetime.now(UTC)
    feedback.add(
        ctx.files,
        here.wiki,
        feedback.Feedback(
            feedback.new_id(now),
            page.path,
            data["severity"],
            anchor,
            data["comment"],
            f"{now:%Y-%m-%dT%H:%M:%SZ}",
            ctx.account.username,
        ),
    )


@require_POST
@workspace_error_page
def resolve(request: HttpRequest, name: str, item_id: str) -> HttpResponseBase:
    ctx = base_context.get_wiki_context(request)
    here = base_context.open_wiki_page(ctx, name)
    form = ResolveForm(request.POST)
    if form.is_valid():
        done = feedback.resolve(ctx.files, here.wiki, item_id, form.cleaned_data["answer"])
        messages.success(request, "Resolved. It is kept under audit/resolved/.")
        return redirect(f"{names.page_url(name, done.page)}#feedback")
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return workspace_error_page.render(request, "That is too long to be kept.", status)
