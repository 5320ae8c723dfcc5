"""Minding a wiki: what is wrong with it, and what people have to say of its pages."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jenny.workspace.errors import WorkspaceError
from wikis import addresses, feedback, lint, pages
from wikis import render as rendering
from wikis.forms import FeedbackForm, ResolveForm
from wikis.lint import Finding
from wikis.views import frame
from wikis.views.frame import Desk, Opened, told

MOST_FINDINGS = 200


@require_safe
@told
def health(request: HttpRequest, name: str) -> HttpResponseBase:
    """Everything that is wrong with a wiki."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    report = lint.lint(desk.index, here.known)
    groups = [
        (
            kind,
            label,
            [_finding(here, row) for row in rows[:MOST_FINDINGS]],
            max(0, len(rows) - MOST_FINDINGS),
        )
        for kind, label, rows in report.by_kind()
    ]
    context = frame.frame(desk, here) | {"report": report, "groups": groups}
    return render(request, "wikis/health.html", context)


def _finding(here: Opened, row: Finding) -> dict[str, object]:
    """A finding with the addresses of what it is about, and of its cure."""
    new = addresses.act(here.name, "new", page=row.target) if row.kind == "wanted" else ""
    if row.path == pages.GUIDE:
        href = addresses.act(here.name, "scope")
    elif row.path == pages.INDEX and row.kind == "scope":
        href = addresses.act(here.name, "new", page="index")
    else:
        href = addresses.page(here.name, row.path) if row.path else ""
    return {
        "row": row,
        "short": pages.without_ending(row.path.removeprefix(f"{pages.PAGES}/")),
        "href": href,
        "new": new,
        "pages": [
            (
                pages.without_ending(path.removeprefix(f"{pages.PAGES}/")),
                addresses.page(here.name, path),
            )
            for path in row.pages[:10]
        ],
    }


@require_safe
@told
def heard(request: HttpRequest, name: str) -> HttpResponseBase:
    """All feedback of a wiki, open first."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    return _heard(request, desk, here)


def _heard(request: HttpRequest, desk: Desk, here: Opened) -> HttpResponse:
    kept = feedback.kept(desk.files, here.wiki)
    context = frame.frame(desk, here) | {
        "open": [
            (one, addresses.page(here.name, one.page), _title(here, one)) for one in kept.open
        ],
        "resolved": [
            (one, addresses.page(here.name, one.page), _title(here, one)) for one in kept.resolved
        ],
        "skipped": kept.skipped,
    }
    return render(request, "wikis/feedback.html", context)


def _title(here: Opened, one: feedback.Feedback) -> str:
    entry = here.known.entries.get(one.page)
    return entry.title if entry else one.page


@require_http_methods(["GET", "HEAD", "POST"])
@told
def comment(request: HttpRequest, name: str, path: str) -> HttpResponseBase:
    """Say something of a passage of a page."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    page = pages.read(here.wiki, path)
    context = frame.frame(desk, here, page.path) | {
        "title": page.title,
        "page_href": addresses.page(name, page.path),
    }
    if request.method != "POST":
        return render(request, "wikis/comment.html", context | {"form": FeedbackForm()})
    form = FeedbackForm(request.POST)
    if form.is_valid():
        try:
            _said(desk, here, page, form)
        except WorkspaceError as error:
            form.add_error("passage", error.sentence)
        else:
            messages.success(request, "Kept with the wiki, under audit/.")
            return redirect(f"{addresses.page(name, page.path)}#feedback")
    return frame.refused(request, "wikis/comment.html", context | {"form": form})


def _said(desk: Desk, here: Opened, page: pages.Page, form: FeedbackForm) -> None:
    """Keep what the form says.

    Raises:
        WorkspaceError: the passage is not on the page, or it could not be written.
    """
    html, _ = rendering.rendered(desk.index, here.known, page)
    data = form.cleaned_data
    anchor = feedback.anchor(feedback.words_of(html.html), data["passage"], data["before"])
    if anchor is None:
        message = "These words do not stand on the page like that. Nothing was kept yet."
        raise WorkspaceError(message)
    now = datetime.now(UTC)
    feedback.add(
        desk.files,
        here.wiki,
        feedback.Feedback(
            feedback.new_id(now),
            page.path,
            data["severity"],
            anchor,
            data["comment"],
            f"{now:%Y-%m-%dT%H:%M:%SZ}",
            desk.account.username,
        ),
    )


@require_POST
@told
def resolve(request: HttpRequest, name: str, item_id: str) -> HttpResponseBase:
    """Put feedback aside as done."""
    desk = frame.desk(request)
    here = frame.opened(desk, name)
    form = ResolveForm(request.POST)
    if form.is_valid():
        done = feedback.resolve(desk.files, here.wiki, item_id, form.cleaned_data["answer"])
        messages.success(request, "Resolved. It is kept under audit/resolved/.")
        return redirect(f"{addresses.page(name, done.page)}#feedback")
    return frame.refused(
        request, "wikis/problem.html", {"sentence": "That is too long to be kept."}
    )
