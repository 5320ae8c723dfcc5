"""Forms about lines of the memory files: edit, forget, pin, move, add, and their undo.

Each is a form that works without script; htmx shows the answer in place. A refused one says why
and keeps what was typed.
"""

from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods, require_POST

from jenny.chat.services import memory_links
from jenny.workspace.diffs import difference
from jenny.workspace.errors import WorkspaceError
from jenny.workspace.versions import commits
from memory import files as memory_files
from memory import line_edits, pins, suppression, undo_turn
from memory.errors import LineRefused
from memory.facts import Fact
from memory.line_edits import LineRef, line_ref, parse_line_ref
from memory.provenance import PAGE
from memory.services import approvals, origins
from settings_ui.views.memory.base_context import (
    WorkspaceContext,
    address,
    base_context,
    get_workspace_context,
    is_fragment,
    number_in,
    workspace_error_page,
)
from settings_ui.views.memory.lines import places

# Lines that one form may name.
MOST_LINES = 200
MOST_CHOSEN = 1_000


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def act(request: HttpRequest) -> HttpResponseBase:
    """Do what the pressed button says, to its own line or to the ticked ones; what cannot be done
    at once is asked here."""
    mine = get_workspace_context(request)
    for name in ("forget", "pin", "unpin", "move"):
        if named := request.POST.get(name):
            texts = request.POST.getlist("line") if named == "ticked" else [named]
            return _act(request, mine, name, texts)
    # Whoever loads the question's address again is led back.
    if request.method == "POST":
        messages.info(request, "Nothing was changed: the form did not say what to do.")
    return redirect(_back(request))


def _act(
    request: HttpRequest, mine: WorkspaceContext, name: str, texts: Sequence[str]
) -> HttpResponseBase:
    try:
        refs = _refs(texts)
        if name in {"pin", "unpin"}:
            return _pin(request, mine, refs, is_on=name == "pin")
        if is_fragment(request):
            texts = _asked(mine, refs)
            found = suppression.lines_to_forget(mine.files.root, texts) if name == "forget" else ()
            if len(found) == 1 and found[0].is_whole:
                return _forget(request, mine, texts, [found[0].id])
            query = urlencode([*(("line", str(ref)) for ref in refs), ("back", _named(request))])
            return HttpResponse(headers={"HX-Redirect": f"{reverse(f'memory_{name}')}?{query}"})
        # Without script, or with many lines: asked at once, since an address would be too long.
        return (_ask_forget if name == "forget" else _ask_move)(request, mine, refs)
    except WorkspaceError as error:
        messages.error(request, error.message)
        return redirect(_back(request))


def _refs(texts: Sequence[str]) -> list[LineRef]:
    """Parse the lines that a form names.

    Raises:
        NoSuchLine: one is none.
        LineRefused: they are none, or too many.
    """
    if not texts:
        raise LineRefused("Nothing was changed: tick the lines first.")
    if len(texts) > MOST_LINES:
        message = (
            f"Nothing was changed: {len(texts)} lines are ticked, and at most {MOST_LINES} can be "
            "dealt with at once. Tick fewer."
        )
        raise LineRefused(message)
    return [parse_line_ref(text) for text in texts]


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def forget(request: HttpRequest) -> HttpResponseBase:
    """List every line that would be forgotten or lose a part, with ticks; a POST forgets the
    ticked ones. They are asked for by ``line``, or by the ``words`` of a chat."""
    mine = get_workspace_context(request)
    sent = request.POST if request.method == "POST" else request.GET
    words = sent.get("words", "")
    try:
        refs = [] if words else _refs(sent.getlist("line"))
    except LineRefused as error:
        messages.info(request, error.message)
        return redirect(_back(request))
    if request.method == "POST":
        if chosen := request.POST.getlist("chosen")[:MOST_CHOSEN]:
            try:
                return _forget(request, mine, words or _asked(mine, refs), chosen)
            except WorkspaceError as error:
                messages.error(request, error.message)
        else:
            messages.info(request, "Nothing was forgotten: no line was ticked.")
        return redirect(_back(request))
    return _ask_forget(request, mine, refs, words)


@require_POST
@workspace_error_page
def forget_noted(request: HttpRequest) -> HttpResponseBase:
    """Forget what a note says that no update has read; what lines say too is asked first."""
    mine = get_workspace_context(request)
    text = request.POST.get("text", "")
    try:
        if suppression.lines_to_forget(mine.files.root, text):
            return redirect(suppression.choice_page(text, _named(request)))
        done = suppression.forget(mine.files.root, text, mine.files.actor)
    except WorkspaceError as error:
        messages.error(request, error.message)
    else:
        undo = reverse("memory_lift", args=[done.ids[0]]) if done.ids else ""
        told = "Forgotten. Jenny does not learn this again by herself."
        messages.success(request, told, extra_tags=undo)
    return redirect(_back(request))


def _ask_forget(
    request: HttpRequest, mine: WorkspaceContext, refs: Sequence[LineRef], words: str = ""
) -> HttpResponseBase:
    found = suppression.lines_to_forget(mine.files.root, words or _asked(mine, refs))
    going = {(row.path, row.line) for row in found}
    # A line that says the same elsewhere, with others below it: those would stand below nothing.
    same = [
        line_ref(row.path, Fact(row.old, row.heading, row.line, row.line, "bullet"))
        for row in found
        if row.is_whole
    ]
    parents = {
        (block.path, block.fact.first)
        for block in line_edits.find_blocks(mine.files, same)
        if any(
            (block.path, fact.first) not in going for fact in block.below if fact.kind != "comment"
        )
    }
    ticked = [(row.path, row.line) not in parents for row in found]
    context = {
        "refs": refs,
        "words": words,
        "found": list(zip(found, ticked, strict=True)),
        "ticked": sum(ticked),
        "back": _named(request),
        "back_href": _back(request),
    }
    return render(request, "memory/forget.html", base_context(mine, "knows") | context)


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def edit(request: HttpRequest) -> HttpResponseBase:
    mine = get_workspace_context(request)
    sent = request.POST if request.method == "POST" else request.GET
    ref = parse_line_ref(sent.get("line", ""))
    context = {"ref": ref, "back": _named(request), "back_href": _back(request)}
    if request.method != "POST":
        fact = line_edits.find_line(mine.files, ref)
        context |= {"text": fact.text, "rows": min(fact.text.count("\n") + 2, 12)}
        return _form(request, mine, "memory/line_edit.html", context)
    text = request.POST.get("text", "")
    try:
        is_written = line_edits.edit_line(mine.files, ref, text)
    except WorkspaceError as error:
        context |= {"text": text, "rows": 3, "problem": error.message}
        return _form(request, mine, "memory/line_edit.html", context)
    if not is_written:
        messages.info(request, "The line says this already. Nothing was changed.")
        return redirect(_back(request))
    return _done(request, mine, "The line is changed. Jenny reads it from the next message on.")


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def move(request: HttpRequest) -> HttpResponseBase:
    """Ask where the lines go; a POST with the place (``to``) moves them."""
    mine = get_workspace_context(request)
    sent = request.POST if request.method == "POST" else request.GET
    try:
        refs = _refs(sent.getlist("line"))
    except LineRefused as error:
        messages.info(request, error.message)
        return redirect(_back(request))
    path, mark, heading = request.POST.get("to", "").partition("#")
    if mark:
        try:
            count = line_edits.move_lines(mine.files, refs, path, heading)
        except WorkspaceError as error:
            messages.error(request, error.message)
            return redirect(_back(request))
        what = "The line stands" if count == 1 else f"{count} lines stand"
        where = f"“{heading}” in {path}" if heading else path
        return _done(request, mine, f"{what} under {where} now.")
    return _ask_move(request, mine, refs)


def _ask_move(
    request: HttpRequest, mine: WorkspaceContext, refs: Sequence[LineRef]
) -> HttpResponseBase:
    context = {"asked": line_edits.find_blocks(mine.files, refs), "places": places(mine)}
    context |= {"back": _named(request), "back_href": _back(request)}
    return _form(request, mine, "memory/line_move.html", context)


@require_POST
@workspace_error_page
def add(request: HttpRequest) -> HttpResponseBase:
    mine = get_workspace_context(request)
    path, _, heading = request.POST.get("to", "").partition("#")
    text = request.POST.get("text", "")
    try:
        stands = line_edits.add_line(mine.files, path, heading, text)
    except WorkspaceError as error:
        context = {"problem": error.message, "text": text, "to": request.POST.get("to", "")}
        return _form(request, mine, "memory/line_add.html", context | {"places": places(mine)})
    if stands:
        messages.info(request, f"This stands in {path} already, in line {stands}.")
        return redirect(_back(request))
    return _done(request, mine, f"Added to {path}. Jenny knows it from the next message on.")


def _pin(
    request: HttpRequest, mine: WorkspaceContext, refs: Sequence[LineRef], *, is_on: bool
) -> HttpResponseBase:
    count = line_edits.pin_lines(mine.files, refs, is_on=is_on)
    what, them = ("The line is", "it") if count == 1 else (f"{count} lines are", "them")
    whole = {row.path for row in pins.pins(mine.files.root) if row.is_whole}
    held = ", ".join(sorted(whole & {ref.path for ref in refs}))
    if is_on:
        as_is = " word for word as it is" if count == 1 else ""
        messages.success(request, f"{what} pinned: Dream leaves {them}{as_is}.")
    elif held:
        message = f"{what} not pinned alone any more, but {held} is pinned whole: Dream leaves it."
        messages.success(request, message)
    else:
        messages.success(request, f"{what} pinned no more: Dream may change {them}.")
    return redirect(_back(request))


def _forget(
    request: HttpRequest, mine: WorkspaceContext, texts: str | Sequence[str], chosen: Sequence[str]
) -> HttpResponseBase:
    before = {row.id: row.after for row in approvals.waiting(mine.row)}
    done = suppression.forget_lines(mine.files.root, texts, chosen, mine.files.actor)
    after = {row.id: row.after for row in approvals.waiting(mine.row)}
    count = sum(after.get(one) != text for one, text in before.items())
    what = "1 change that waited" if count == 1 else f"{count} changes that waited"
    more = f" {what} for your review went with it." if count else ""
    message = f"Forgotten: {done.what}. Jenny does not learn this again by herself.{more}"
    return _done(request, mine, message)


def _asked(mine: WorkspaceContext, refs: Sequence[LineRef]) -> list[str]:
    """Return the texts of the lines and of those below them."""
    blocks = line_edits.find_blocks(mine.files, refs)
    return [fact.text for block in blocks for fact in (block.fact, *block.below)]


def _form(
    request: HttpRequest, mine: WorkspaceContext, template: str, context: dict[str, object]
) -> HttpResponse:
    # On a page of its own the form has no lines to show the answer in.
    context["in_place"] = is_fragment(request)
    problem = "problem" in context
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    answer = render(request, template, base_context(mine, "knows") | context, status=status)
    if problem and is_fragment(request):
        # The form shows the reason in its own place and keeps what was typed.
        answer["HX-Retarget"], answer["HX-Reswap"] = "this", "outerHTML"
        answer["HX-Reselect"] = ".line-form"
    return answer


def _done(request: HttpRequest, mine: WorkspaceContext, message: str) -> HttpResponseBase:
    """Make a version of what was written, and go back with a notice that has an Undo button."""
    # Without a version now, the next one has it.
    with suppress(WorkspaceError):
        commits.commit_pending(mine.files.root)
    undo = reverse("memory_change", args=[mine.run.removeprefix("page:")])
    messages.success(request, message, extra_tags=undo)
    return redirect(_back(request))


def _named(request: HttpRequest) -> str:
    """Return the page that the form came from: a file's path with its part (``?from=101``),
    ``q`` and the words searched, or ``chat`` and the id of a conversation."""
    return (request.POST.get("back") or request.GET.get("back") or "")[:400]


def _back(request: HttpRequest) -> str:
    named = _named(request)
    path, _, start = named.rpartition("?from=") if "?from=" in named else (named, "", "")
    if path in memory_files.BY_PATH or memory_files.skill_of(path):
        return f"{address(path)}?from={start}" if number_in(start) else address(path)
    if named.startswith("chat "):
        with suppress(NoReverseMatch):
            return reverse("chat:conversation", args=[named.removeprefix("chat ")])
    page = reverse("memory")
    words = named.removeprefix("q ")
    return f"{page}?{urlencode({'q': words})}" if words != named and words else page


# What a form of the Memory pages changed, and its undo.


@require_http_methods(["GET", "HEAD", "POST"])
@workspace_error_page
def change_page(request: HttpRequest, number: str) -> HttpResponseBase:
    """Show what a form changed; a POST undoes it. Where somebody wrote since, the page says so
    first, and a second press (``confirm=yes``) undoes what can be undone."""
    mine = get_workspace_context(request)
    run = f"{PAGE}{number}"
    rows = origins.changes_of(mine.row, run)
    if not rows:
        raise Http404
    values = memory_links.values(rows)
    steps = undo_turn.plan(mine.files.root, run, values)
    problem, is_done = "", all(row.undone_at is not None for row in rows)
    asks = any(step.label in {"moved on", "conflict"} or step.left_out for step in steps)
    if request.method == "POST" and not is_done and (not asks or "confirm" in request.POST):
        try:
            steps = undo_turn.undo_turn(mine.files.root, run, values, account=mine.account.pk)
        except WorkspaceError as error:
            problem = error.message
        else:
            if message := undo_turn.undo_message(steps):
                done = {step.path for step in steps if step.label != "conflict"}
                origins.mark_undone(row for row in rows if row.path in done)
                messages.success(request, message)
                return redirect("memory")
    context = base_context(mine, "knows") | {
        "files": [
            {
                "step": step,
                "difference": difference(row.before, row.after),
                "left_out": step.left_out,
            }
            for row, step in zip(values, steps, strict=True)
        ],
        "at": rows[0].at,
        "is_done": is_done,
        "asks": asks,
        "can_undo": any(step.label in {"clean", "moved on"} for step in steps),
        "problem": problem,
    }
    status = HTTPStatus.CONFLICT if problem else HTTPStatus.OK
    return render(request, "memory/change.html", context, status=status)
